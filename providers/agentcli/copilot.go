package agentcli

import (
	"cmp"
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// copilotArgs returns the arguments of GitHub Copilot CLI 1.0 for one plain answer: no instructions,
// servers or questions, and a nonexistent tool as its only one, since an empty list means all. The
// prompt is sent on stdin. There is no flag for a system prompt, and none to keep it from storing
// each session.
func copilotArgs(r *run) []string {
	args := []string{
		"--output-format=json", "--silent", "--available-tools=none", "--deny-tool=shell", "--deny-tool=write",
		"--no-custom-instructions", "--disable-builtin-mcps", "--no-ask-user", "--no-auto-update", "--no-remote-export",
	}
	args = appendFlags(args, "--model=", strings.TrimPrefix(r.model, "copilot-"), // copilot-auto is its model "auto"
		"--reasoning-effort=", effortName(r.effort, "max"))
	for _, path := range r.attached {
		args = append(args, "--attachment="+path)
	}
	return args
}

// A copilotLine is a line of copilot --output-format json.
type copilotLine struct {
	Type    string `json:"type"`
	Session string `json:"sessionId"` // result
	Exit    int    `json:"exitCode"`
	Data    struct {
		Message   string          `json:"messageId"` // assistant.message_delta, assistant.message
		Reasoning string          `json:"reasoningId"`
		Delta     wire.Text       `json:"deltaContent"`
		Content   wire.Text       `json:"content"`
		Model     string          `json:"model"`
		Parent    string          `json:"parentToolCallId"` // of a sub-agent's lines
		Call      string          `json:"toolCallId"`       // tool.execution_start, tool.execution_complete
		Tool      string          `json:"toolName"`
		Arguments json.RawMessage `json:"arguments"`
		Success   *bool           `json:"success"`
		Result    struct {
			Content wire.Text `json:"content"`
		} `json:"result"`
		Error struct {
			Message wire.Text `json:"message"`
		} `json:"error"`

		Input  tokenCount `json:"inputTokens"` // assistant.usage
		Output tokenCount `json:"outputTokens"`
		Read   tokenCount `json:"cacheReadTokens"`
		Write  tokenCount `json:"cacheWriteTokens"`

		Kind    string    `json:"errorType"` // session.error
		Words   wire.Text `json:"message"`   // session.error, session.warning
		Status  int       `json:"statusCode"`
		Failure wire.Text `json:"errorMessage"` // model.call_failure
	} `json:"data"`
}

// copilot decodes the output of GitHub Copilot CLI.
type copilot struct {
	*answer
	streamed map[string]bool // ids of messages and reasoning that came in pieces
	usage    llm.Usage       // of all requests
	failure  string          // last failure of a request
	status   int             // its HTTP status
}

func newCopilot(a *answer) decoder { return &copilot{answer: a, streamed: map[string]bool{}} }

func (c *copilot) line(data []byte) {
	var l copilotLine
	decodeLenient(data, &l)
	d := &l.Data
	if l.Type == "assistant.usage" { // for one request, possibly of a sub-agent
		c.usage = c.usage.Add(llm.Usage{Input: int(d.Input), CacheRead: int(d.Read), CacheWrite: int(d.Write), Output: int(d.Output)})
		c.out.Send(c.usage)
	}
	if d.Parent != "" {
		return
	}
	switch l.Type {
	case "assistant.message_delta":
		c.sendText(llm.Text, d.Message, string(d.Delta), false)
	case "assistant.message":
		c.finish.Model = cmp.Or(d.Model, c.finish.Model)
		c.sendText(llm.Text, d.Message, string(d.Content), true)
		c.settle()
	case "assistant.reasoning_delta":
		c.sendText(llm.Thinking, d.Reasoning, string(d.Delta), false)
	case "assistant.reasoning":
		c.sendText(llm.Thinking, d.Reasoning, string(d.Content), true)
	case "tool.execution_start":
		c.call(d.Call, d.Tool, string(d.Arguments))
	case "tool.execution_complete":
		c.result(d.Call, cmp.Or(string(d.Result.Content), string(d.Error.Message)), d.Success != nil && !*d.Success)
		c.settle()
	case "session.warning":
		c.noticeOnce(string(d.Words))
	default:
		c.onFailure(&l)
	}
}

// sendText sends a piece of text, or the whole text if no pieces came before.
func (c *copilot) sendText(kind llm.Kind, id, text string, whole bool) {
	if text == "" || whole && c.streamed[id] {
		return
	}
	begins := kind == llm.Text && !c.streamed[id]
	c.streamed[id] = true
	c.delta(string(kind)+" "+id, llm.Part{Kind: kind, Text: text, Begins: begins})
}

// onFailure handles failures and the last line.
func (c *copilot) onFailure(l *copilotLine) {
	d := &l.Data
	switch l.Type {
	case "model.call_failure":
		c.failure, c.status = cmp.Or(string(d.Failure), "the request failed"), d.Status
	case "assistant.turn_retry":
		c.restart(llm.Retry{}, c.toError("", 0, c.failure))
	case "session.error":
		c.fault = c.toError(d.Kind, d.Status, cmp.Or(string(d.Words), c.failure))
	case "result":
		c.done = true
		if l.Exit == 0 && (c.shown || c.fault == nil && c.failure == "") {
			c.fault = nil // the program recovered
		} else if c.fault == nil {
			c.fault = c.toError("", c.status, cmp.Or(c.failure, "it did not say why it failed"))
		}
		c.finish.Reason, c.finish.Raw, c.finish.ID = llm.Stop, l.Type, l.Session
	}
}
