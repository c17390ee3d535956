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
// prompt is sent on stdin, as an event. Requests of its tools are denied, since nobody can approve
// them. Without --print-timeout it ends each answer after five minutes, and may report an incomplete
// one as a success. The model name "antigravity-auto" lets it choose.
func antigravityArgs(r *run) []string {
	args := []string{"--input-format=stream-json", "--output-format=stream-json", "--sandbox", "--print-timeout=24h"}
	if r.model != "antigravity-auto" {
		args = appendFlags(args, "--model=", r.model)
	}
	return args
}

// An antigravityLine is a line of agy --output-format stream-json. The payload is in a member named
// after the event, or beside the event.
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
	State string          `json:"state"`     // ACTIVE, DONE, ERROR
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
	Usage    antigravityUsage  `json:"usage"`
}

// antigravityUsage holds the token counts of an answer.
type antigravityUsage struct {
	tokenCounts            // the input excludes cached tokens, the output includes thinking
	Thinking    tokenCount `json:"thinking_tokens"`
	Read        tokenCount `json:"cache_read_tokens"`
}

// antigravity decodes the output of Antigravity CLI.
type antigravity struct {
	*answer
	conversation string
	n            int               // number of the current block
	steps        map[string]string // ids of the sent calls, by step
	text         bool              // text was sent
}

func newAntigravity(a *answer) decoder {
	return &antigravity{answer: a, steps: map[string]string{}}
}

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
		if validSessionID.MatchString(l.Conversation) {
			g.conversation = l.Conversation
		}
	case "step_update":
		var s antigravityStep
		decodeLenient(payload(l.Step), &s)
		g.step(&s, data)
	case "error":
		var r antigravityResult
		decodeLenient(payload(l.Error), &r)
		g.lastError = cmp.Or(string(r.Message), r.Error.words, r.Error.code, g.lastError)
	case "result":
		var r antigravityResult
		decodeLenient(payload(l.Result), &r)
		g.end(&r)
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
	case s.Think == "" && !antigravitySteps[s.Type]:
		g.skip(data)
	}
}

// antigravitySteps holds the types of steps that may have nothing to show.
var antigravitySteps = set("agent_response", "tool", "checkpoint", "finish", "system_message", "unknown")

// antigravityTool is the tool data of a step. In older versions it consists of the arguments only.
type antigravityTool struct {
	Parameters json.RawMessage `json:"parameters"`
	Output     wire.Text       `json:"output"` // of some tools, once finished
	Error      claudeError     `json:"error"`  // also of a denied call
}

// tool sends a call once, even if its step is updated repeatedly, and its result once it has ended.
func (g *antigravity) tool(s *antigravityStep) {
	var info antigravityTool
	decodeLenient(s.Info, &info)
	step := cmp.Or(string(s.Index), s.Tool+string(info.Parameters))
	id := g.steps[step]
	if id == "" {
		g.n++
		id = strings.TrimPrefix(g.conversation+"-tool-", "-") + strconv.Itoa(g.n)
		g.steps[step] = id
		g.call(id, s.Tool, inputOf(info.Parameters, s.Info))
	}
	failed := s.State == "ERROR" || info.Error.code+info.Error.words != ""
	if s.State == "ACTIVE" && !failed {
		return
	}
	output := cmp.Or(info.Error.words, info.Error.code, string(info.Output), "Run by agy, which does not tell its output.")
	if failed && info.Error.code+info.Error.words == "" {
		output = cmp.Or(string(info.Output), "It failed; agy does not tell why.")
	}
	g.result(id, output, failed)
}

// end handles the last line. Its status can be SUCCESS although actions of the model were denied.
func (g *antigravity) end(r *antigravityResult) {
	if u := r.Usage.usage(); u.Input+u.Output+int(r.Usage.Read) > 0 {
		u.Input, u.CacheRead, u.Thinking = u.Input+int(r.Usage.Read), int(r.Usage.Read), int(r.Usage.Thinking)
		g.out.Send(u)
	}
	if !g.text && r.Response != "" {
		g.text = true
		g.n++
		g.delta("text "+strconv.Itoa(g.n), llm.Part{Kind: llm.Text, Text: string(r.Response)})
	}
	denied := g.denied(r.Denied)
	switch {
	case r.Status != "" && !strings.EqualFold(r.Status, "success"):
		words := cmp.Or(r.Error.words, r.Error.code, string(r.Message), g.lastError, denied, "it ended with "+r.Status)
		g.done, g.fault = true, g.toError("", 0, words)
	case denied != "" && !g.text:
		g.done, g.fault = true, &llm.Error{Fault: llm.Permission, Message: "no answer, for agy denied its model: " + denied}
	case !g.text && g.unknown == "": // also if it denied a tool, which older versions report only on stderr
		g.done, g.silent = true, true
		g.fault = &llm.Error{Fault: llm.Unknown, Message: "agy ended without an answer"}
	default:
		if denied != "" {
			g.notice("denied its model: %s", denied)
		}
		g.complete(llm.Finish{Reason: llm.Stop, Raw: r.Status, ID: g.conversation})
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
