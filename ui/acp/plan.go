package acp

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"parley/tools/act"
	"parley/tools/sanitize"
)

// planOf returns the steps of a plan; input holds the arguments of a call of [act.PlanTool].
func planOf(input string) (entries []sdk.PlanEntry) {
	var args struct{ Text string }
	if json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	for line := range strings.Lines(args.Text) {
		mark, _, text := act.PlanStep(line)
		e := sdk.PlanEntry{Content: sanitize.Line(text), Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusCompleted}
		switch mark {
		case 0:
			continue
		case ' ':
			e.Status = sdk.PlanEntryStatusPending
		case '>':
			e.Status = sdk.PlanEntryStatusInProgress
		}
		entries = append(entries, e)
	}
	return entries
}

// encoded returns data in base64, as the protocol requires.
func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
