package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/providers/llm"
)

type claudeLine struct {
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	Parent    string          `json:"parentUuid"`
	Logical   string          `json:"logicalParentUuid"` // across a compaction
	Session   string          `json:"sessionId"`
	Time      jsonTime        `json:"timestamp"`
	Dir       string          `json:"cwd"`
	Sidechain bool            `json:"isSidechain"`
	Meta      bool            `json:"isMeta"`
	Compact   bool            `json:"isCompactSummary"`
	Failed    bool            `json:"isApiErrorMessage"`
	Message   claudeMessage   `json:"message"`
	Outcome   json.RawMessage `json:"toolUseResult"`

	Summary string `json:"summary"`
	Leaf    string `json:"leafUuid"`
	AITitle string `json:"aiTitle"`
	Custom  string `json:"customTitle"`
}

type claudeMessage struct {
	ID      string   `json:"id"`
	Model   string   `json:"model"`
	Content jsonList `json:"content"`
	Reason  string   `json:"stop_reason"`
	Usage   counts   `json:"usage"`
}

// reasons translates the reasons of all programs: those of Claude Code, Claude and crush are mostly the API's stop_reason.
var reasons = map[string]llm.Reason{
	"end_turn": llm.Stop, "stop_sequence": llm.Stop, "stop": llm.Stop,
	"max_tokens": llm.Length, "model_context_window_exceeded": llm.Length, "length": llm.Length,
	"tool_use": llm.Calls, "tool-calls": llm.Calls, "toolUse": llm.Calls,
	"refusal": llm.Refused, "content_filter": llm.Refused, "content-filter": llm.Refused,
	"pause_turn": llm.Other, "other": llm.Other,
}

// patch returns the unified diff of a toolUseResult, which has it as a list of hunks; "" if it
// has none.
func patch(raw json.RawMessage) string {
	var o struct {
		Path  string `json:"filePath"`
		Hunks []struct {
			OldStart int      `json:"oldStart"`
			OldLines int      `json:"oldLines"`
			NewStart int      `json:"newStart"`
			NewLines int      `json:"newLines"`
			Lines    []string `json:"lines"`
		} `json:"structuredPatch"`
	}
	if len(raw) == 0 || decode(raw, &o) != nil || len(o.Hunks) == 0 {
		return ""
	}
	var b strings.Builder
	path := truncateLine(o.Path)
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", path, path)
	for _, h := range o.Hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range h.Lines {
			b.WriteString(strings.ReplaceAll(line, "\n", " ") + "\n")
		}
	}
	return b.String()
}
