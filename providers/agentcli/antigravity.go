package agentcli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// antigravityArgs returns the arguments of Antigravity CLI (1.1.15 and later) for one answer. The
// prompt comes on stdin, as an event. There is nobody to approve what its tools ask for, so it is
// denied. The model name "antigravity-auto" lets it choose.
func antigravityArgs(r *run) []string {
	args := []string{"--input-format=stream-json", "--output-format=stream-json", "--sandbox"}
	if r.model != "" && r.model != "antigravity-auto" {
		args = append(args, "--model="+r.model)
	}
	return args
}

// An antigravityLine is a line of agy --output-format stream-json. The payload is under the name of
// the event, or beside it.
type antigravityLine struct {
	Event        string          `json:"event"`
	Conversation string          `json:"conversation_id"` // init
	Step         json.RawMessage `json:"step_update"`
	Result       json.RawMessage `json:"result"`
	Error        json.RawMessage `json:"error"`
}

// antigravityStep is a piece of an answer.
type antigravityStep struct {
	Type  string          `json:"step_type"` // agent_response, tool, user_input
	Index json.RawMessage `json:"step_index"`
	Delta wire.Text       `json:"text_delta"`
	Think wire.Text       `json:"thinking_delta"`
	Tool  string          `json:"tool_name"`
	Info  json.RawMessage `json:"tool_info"`
}

// antigravityResult is the last line.
type antigravityResult struct {
	Status   string            `json:"status"`
	Response wire.Text         `json:"response"`
	Denied   []json.RawMessage `json:"denied_actions"`
	Message  wire.Text         `json:"message"`
	Error    claudeError       `json:"error"` // a word, or an object with a message
	Usage    tokenCounts       `json:"usage"`
}

// antigravity decodes the output of Antigravity CLI.
type antigravity struct {
	*answer
	conversation string
	n            int               // number of the current block
	calls        map[string]string // ids of the calls that were sent, by step
	text         bool              // text was sent
	last         string            // last error message
}

func newAntigravity(a *answer) decoder { return &antigravity{answer: a, calls: map[string]string{}} }

func (g *antigravity) line(data []byte) {
	var l antigravityLine
	decodeLenient(data, &l)
	payload := func(nested json.RawMessage) []byte {
		if bytes.HasPrefix(nested, []byte("{")) {
			return nested
		}
		return data
	}
	switch l.Event {
	case "init":
		if validSessionID().MatchString(l.Conversation) {
			g.conversation = l.Conversation
		}
	case "step_update":
		var s antigravityStep
		decodeLenient(payload(l.Step), &s)
		g.step(&s, data)
	case "error":
		var r antigravityResult
		decodeLenient(payload(l.Error), &r)
		g.last = cmp.Or(string(r.Message), r.Error.words, r.Error.code, g.last)
	case "result":
		var r antigravityResult
		decodeLenient(payload(l.Result), &r)
		g.result(&r)
	default:
		g.skip(data)
	}
}

func (g *antigravity) step(s *antigravityStep, data []byte) {
	if s.Type == "user_input" {
		return
	}
	if s.Think != "" {
		g.delta("thinking "+strconv.Itoa(g.n), llm.Part{Kind: llm.Thinking, Text: string(s.Think)})
	}
	switch {
	case s.Type == "tool" && s.Tool != "":
		g.tool(s)
	case s.Delta != "":
		g.text = true
		g.delta("text "+strconv.Itoa(g.n), llm.Part{Kind: llm.Text, Text: string(s.Delta)})
	case s.Think == "" && s.Type != "agent_response" && s.Type != "tool":
		g.skip(data)
	}
}

// tool sends a call once, however often its step is updated. The program does not report results.
func (g *antigravity) tool(s *antigravityStep) {
	step := cmp.Or(string(s.Index), s.Tool+string(s.Info))
	if g.calls[step] != "" {
		return
	}
	g.n++
	id := strings.TrimPrefix(g.conversation+"-tool-", "-") + strconv.Itoa(g.n)
	g.calls[step] = id
	input := "{}"
	if bytes.HasPrefix(s.Info, []byte("{")) {
		input = string(s.Info)
	}
	g.delta(id, llm.Part{Kind: llm.Call, ID: id, Name: s.Tool, Input: input, Remote: true})
	g.delta("result of "+id, llm.Part{Kind: llm.Result, ID: id, Name: s.Tool, Text: "Run by agy, which does not tell its output.", Remote: true})
}

// result handles the last line. Its status can be SUCCESS although actions of the model were denied.
func (g *antigravity) result(r *antigravityResult) {
	g.report(r.Usage)
	if !g.text && r.Response != "" {
		g.text = true
		g.n++
		g.delta("text "+strconv.Itoa(g.n), llm.Part{Kind: llm.Text, Text: string(r.Response)})
	}
	denied := g.denied(r.Denied)
	switch {
	case r.Status != "" && !strings.EqualFold(r.Status, "success"):
		words := cmp.Or(r.Error.words, r.Error.code, string(r.Message), g.last, denied, "it ended with "+r.Status)
		g.done, g.fault = true, g.toError("", 0, words)
	case denied != "" && !g.text:
		g.done, g.fault = true, &llm.Error{Fault: llm.Permission, Message: "no answer, for agy denied its model: " + denied}
	default:
		if denied != "" {
			g.notice("denied its model: %s", denied)
		}
		g.complete(llm.Finish{Reason: llm.Stop, Raw: r.Status, ID: g.conversation, Model: g.run.model})
	}
}

// denied returns the denied actions as a phrase; "" if there are none.
func (g *antigravity) denied(actions []json.RawMessage) string {
	var list []string
	for _, raw := range actions {
		var word wire.Text
		decodeLenient(raw, &word)
		list = append(list, cmp.Or(string(word), string(raw)))
	}
	return oneLineHead(g.masked(strings.Join(list, ", ")))
}
