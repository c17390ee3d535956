package archive

import (
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/tools/lazy"
)

type codexLine struct {
	Type    string          `json:"type"`
	Time    jsonTime        `json:"timestamp"`
	Payload json.RawMessage `json:"payload"`
	Record  string          `json:"record_type"`
}

// efforts translates the efforts of Codex and pi.
var efforts = map[string]llm.Effort{
	"none": llm.EffortOff, "minimal": llm.EffortMinimal, "low": llm.EffortLow, "medium": llm.EffortMedium,
	"high": llm.EffortHigh, "xhigh": llm.EffortMax,
}

type codexEvent struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Name    string `json:"thread_name"`
	Turns   int    `json:"num_turns"`
	Info    struct {
		Total json.RawMessage `json:"total_token_usage"` // of all responses: it grows with each
		Last  counts          `json:"last_token_usage"`  // the input with what the cache read, the output with the reasoning
	} `json:"info"`
}

type codexItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Role      string          `json:"role"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Content   jsonList        `json:"content"`
	Summary   jsonList        `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

// cwdText precedes the working directory in the environment that Codex tells the model. The first
// line of a rollout has it only since September 2025.
var cwdText = lazy.NewRegexp(`(?:<cwd>|Current working directory: )([^<\n]*)`)

// cwd returns the working directory in an environment.
func cwd(environment string) string {
	if m := cwdText.FindStringSubmatch(environment); m != nil {
		return directory(strings.TrimSpace(m[1]))
	}
	return ""
}

// commandOutput returns the output of a command and whether it failed: said may be JSON with
// both, or is the output.
func commandOutput(said string) (output string, failed bool) {
	var o struct {
		Output   *string `json:"output"`
		Metadata *struct {
			Exit int `json:"exit_code"`
		} `json:"metadata"`
	}
	if !strings.HasPrefix(said, "{") || json.Unmarshal([]byte(said), &o) != nil || o.Output == nil || o.Metadata == nil {
		return said, false
	}
	return *o.Output, o.Metadata.Exit != 0
}
