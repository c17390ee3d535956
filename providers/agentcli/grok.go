package agentcli

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// grokTools lists the tools of Grok Build 1.0 to switch off. Its --tools flag would leave most of
// them on.
const grokTools = "run_terminal_command,run_terminal_cmd,read_file,search_replace,write,list_dir,grep,todo_write,monitor,workflow," +
	"kill_command_or_subagent,get_command_or_subagent_output,spawn_subagent,Agent,scheduler_create,scheduler_delete,scheduler_list," +
	"search_tool,use_tool,enter_plan_mode,exit_plan_mode,ask_user_question,send_feedback,web_search,web_fetch," +
	"image_gen,image_edit,image_to_video,reference_to_video"

// grokArgs returns the arguments of Grok Build 1.0 for one plain answer. Its known tools are switched
// off, all others are denied since nothing is allowed up front, and its sandbox restricts it to the
// empty directory. It does not read stdin: the prompt comes in a file.
func grokArgs(r *run) []string {
	args := []string{
		"--prompt-file=" + r.promptFile, "--output-format=streaming-json", "--permission-mode=dontAsk", "--sandbox=read-only",
		"--disallowed-tools=" + grokTools, "--no-subagents", "--no-auto-update",
	}
	return appendFlags(args, "--model=", r.model, "--system-prompt-override=", r.system)
}

// A grokLine is a line of grok --output-format streaming-json, as documented in the manual of
// version 1.0.41 and reported by users of earlier versions.
type grokLine struct {
	Type    string    `json:"type"`
	Data    wire.Text `json:"data"` // text, thought
	Stop    string    `json:"stopReason"`
	Session string    `json:"sessionId"`
	Message wire.Text `json:"message"` // error
	Usage   grokUsage `json:"usage"`   // end, error
	Cost    *float64  `json:"total_cost_usd"`

	Call   string          `json:"toolCallId"` // tool_call, tool_call_update
	Tool   string          `json:"toolName"`
	Title  wire.Text       `json:"title"`
	Status string          `json:"status"`
	Input  json.RawMessage `json:"rawInput"`
	Output json.RawMessage `json:"rawOutput"`
	Pieces []struct {
		Content struct {
			Text wire.Text `json:"text"`
		} `json:"content"`
	} `json:"content"`
}

// grokUsage holds the token counts of a run.
type grokUsage struct {
	tokenCounts            // the input excludes cached tokens
	Read        tokenCount `json:"cache_read_input_tokens"`
	Write       tokenCount `json:"cache_creation_input_tokens"`
	Thinking    tokenCount `json:"reasoning_tokens"`
}

// tokenCounts decodes token counts under the names used by undocumented programs.
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

// usage returns the counts as an llm.Usage.
func (t tokenCounts) usage() llm.Usage {
	return llm.Usage{Input: int(cmp.Or(t.Input, t.InputCamel)), Output: int(cmp.Or(t.Output, t.OutputCamel))}
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
	case "tool_call", "tool_call_update":
		g.tool(&l)
	case "usage", "plan", "available_commands", "max_turns_reached": // nothing to show
	case "error":
		g.report(&l)
		if g.shown && strings.Contains(string(l.Message), "max_tokens_truncation") { // a truncated answer, not an error
			g.complete(llm.Finish{Reason: llm.Length, Raw: "max_tokens"})
			return
		}
		g.done, g.fault = true, g.toError("", 0, cmp.Or(string(l.Message), string(l.Data), "it did not say why it failed"))
	case "end":
		g.report(&l)
		g.complete(llm.Finish{Reason: adapter.FinishReason(l.Stop, false), Raw: l.Stop, ID: l.Session})
	default:
		if !strings.HasPrefix(l.Type, "auto_compact_") {
			g.skip(data)
		}
	}
}

// report sends the usage, if any. It omits an incomplete cost.
func (g *grok) report(l *grokLine) {
	u := l.Usage.usage()
	u.CacheRead, u.CacheWrite, u.Thinking = int(l.Usage.Read), int(l.Usage.Write), int(l.Usage.Thinking)
	u.Input += u.CacheRead + u.CacheWrite
	if l.Cost != nil {
		u.Cost, u.Priced = *l.Cost, true
	}
	if u = u.Clamped(); u.Input+u.Output > 0 {
		g.out.Send(u)
	}
}

// tool sends a call once, and its result once it has ended. The content after it starts a new
// block.
func (g *grok) tool(l *grokLine) {
	g.kind = ""
	g.call(l.Call, cmp.Or(l.Tool, string(l.Title), "tool"), inputOf(l.Input))
	if l.Status != "completed" && l.Status != "failed" {
		return
	}
	var texts []string
	for _, piece := range l.Pieces {
		texts = append(texts, string(piece.Content.Text))
	}
	var words wire.Text
	decodeLenient(l.Output, &words)
	g.result(l.Call, cmp.Or(join(texts), string(words), strings.TrimPrefix(string(l.Output), "null")), l.Status == "failed")
}

// sendText sends text, in a new block if its kind has changed.
func (g *grok) sendText(kind llm.Kind, text string) {
	if kind != g.kind {
		g.n, g.kind = g.n+1, kind
	}
	g.delta(strconv.Itoa(g.n), llm.Part{Kind: kind, Text: text})
}
