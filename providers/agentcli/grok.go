package agentcli

import (
	"cmp"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// grokArgs returns the arguments of Grok Build 1.0 for one plain answer: nothing is allowed up front,
// so everything is denied, and its sandbox restricts it to the empty directory. It does not read
// stdin: the prompt comes in a file.
func grokArgs(r *run) []string {
	args := []string{
		"--prompt-file=" + r.promptFile, "--output-format=streaming-json", "--permission-mode=dontAsk", "--sandbox=read-only",
		"--no-subagents", "--no-auto-update",
	}
	if r.model != "" {
		args = append(args, "--model="+r.model)
	}
	if r.system != "" {
		args = append(args, "--system-prompt-override="+r.system)
	}
	return args
}

// A grokLine is a line of grok --output-format streaming-json. The format is not documented; the
// fields are those that users have reported.
type grokLine struct {
	Type    string    `json:"type"`
	Data    wire.Text `json:"data"` // text, thought
	Stop    string    `json:"stopReason"`
	Session string    `json:"sessionId"`
	Message wire.Text `json:"message"` // error
	Usage   struct {
		tokenCounts
	} `json:"usage"`
}

// tokenCounts accepts token counts under the names that undocumented programs use.
type tokenCounts struct {
	Input       tokenCount `json:"input_tokens"`
	Output      tokenCount `json:"output_tokens"`
	InputCamel  tokenCount `json:"inputTokens"`
	OutputCamel tokenCount `json:"outputTokens"`
}

// A tokenCount is a number of tokens; implausible numbers decode as 0.
type tokenCount int

// UnmarshalJSON implements json.Unmarshaler.
func (n *tokenCount) UnmarshalJSON(data []byte) error {
	var number float64
	decodeLenient(data, &number)
	*n = tokenCount(adapter.TokenCount(number))
	return nil
}

// report sends the usage, if there is any.
func (a *answer) report(t tokenCounts) {
	if u := (llm.Usage{Input: int(cmp.Or(t.Input, t.InputCamel)), Output: int(cmp.Or(t.Output, t.OutputCamel))}); u.Input+u.Output > 0 {
		a.out.Send(u)
	}
}

// grok decodes the output of Grok Build.
type grok struct {
	*answer
	n    int // number of the current block
	kind llm.Kind
}

func newGrok(a *answer) decoder { return &grok{answer: a} }

func (g *grok) line(data []byte) {
	var l grokLine
	decodeLenient(data, &l)
	switch l.Type {
	case "text":
		if l.Data != "" {
			g.sendText(llm.Text, string(l.Data))
			return
		}
		g.skip(data)
	case "thought":
		if l.Data != "" {
			g.sendText(llm.Thinking, string(l.Data))
		}
	case "error":
		g.done, g.fault = true, g.toError("", 0, cmp.Or(string(l.Message), string(l.Data), "it did not say why it failed"))
	case "end":
		g.report(l.Usage.tokenCounts)
		g.complete(llm.Finish{Reason: grokReason(l.Stop), Raw: l.Stop, ID: l.Session, Model: g.run.model})
	default:
		g.skip(data)
	}
}

// sendText sends text, in a new block if its kind has changed.
func (g *grok) sendText(kind llm.Kind, text string) {
	if kind != g.kind {
		g.n, g.kind = g.n+1, kind
	}
	g.delta(strconv.Itoa(g.n), llm.Part{Kind: kind, Text: text})
}

// grokReason maps a stop reason in any spelling.
func grokReason(stop string) llm.Reason {
	switch strings.ToLower(strings.ReplaceAll(stop, "_", "")) {
	case "", "endturn", "stop", "completed":
		return llm.Stop
	case "maxtokens", "length":
		return llm.Length
	case "refusal":
		return llm.Refused
	}
	return llm.Other
}
