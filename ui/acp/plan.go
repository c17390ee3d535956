package acp

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"parley/tools/sanitize"
)

// planTool is the tool with which a model keeps a list of what it is going to do.
const planTool = "plan"

// marks are the boxes of a task list, and what they say.
var marks = map[string]sdk.PlanEntryStatus{
	"[ ]": sdk.PlanEntryStatusPending, "[>]": sdk.PlanEntryStatusInProgress, "[x]": sdk.PlanEntryStatusCompleted, "[X]": sdk.PlanEntryStatusCompleted,
}

// planOf returns the entries of the task list that is in the arguments of a call of planTool.
func planOf(input string) (entries []sdk.PlanEntry) {
	var args map[string]any
	if json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	var names []string
	for name := range args {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text, _ := args[name].(string)
		for line := range strings.Lines(text) {
			rest, item := strings.CutPrefix(strings.TrimSpace(line), "- ")
			if !item || len(rest) < len("[ ]") {
				continue
			}
			if status, ok := marks[rest[:3]]; ok {
				entries = append(entries, sdk.PlanEntry{Content: sanitize.Line(strings.TrimSpace(rest[3:])), Priority: sdk.PlanEntryPriorityMedium, Status: status})
			}
		}
	}
	return entries
}

// encoded returns data in base64, as the protocol has it.
func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
