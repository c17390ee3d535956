package acp

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"parley/tools/sanitize"
)

// planTool is the tool with which a model keeps a list of what it is going to do.
const planTool = "plan"

// step matches a step of a plan: its mark and its text.
var step = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*[-*+] *\[([ xX>])\](.*)$`) })

// planOf returns the steps of the plan in the arguments of a call of planTool.
func planOf(input string) (entries []sdk.PlanEntry) {
	var args struct{ Text string }
	if json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	for _, m := range step().FindAllStringSubmatch(args.Text, -1) {
		e := sdk.PlanEntry{Content: sanitize.Line(strings.TrimSpace(m[2])), Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusCompleted}
		switch m[1] {
		case " ":
			e.Status = sdk.PlanEntryStatusPending
		case ">":
			e.Status = sdk.PlanEntryStatusInProgress
		}
		entries = append(entries, e)
	}
	return entries
}

// encoded returns data in base64, as the protocol has it.
func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
