package agentcli

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// geminiArgs returns the arguments of Gemini CLI. Without a terminal it denies everything that
// needs approval, so the default mode changes nothing; tools that only read find an empty
// directory. The prompt is sent on stdin, before the text of --prompt.
func geminiArgs(r *run) []string {
	args := []string{
		"--prompt=", "--output-format=stream-json", "--approval-mode=default",
		"--extensions=none", "--allowed-mcp-server-names=none",
	}
	return appendFlags(args, "--model=", r.model, "--resume=", r.resume.Session)
}

// geminiEnv sets the system prompt, for which there is no flag, and trusts the directory if parley
// created it, since it then contains nothing to run.
func geminiEnv(r *run) []string {
	var env []string
	if r.file != "" {
		env = append(env, "GEMINI_SYSTEM_MD="+r.file)
	}
	if r.ownDir {
		env = append(env, "GEMINI_CLI_TRUST_WORKSPACE=true")
	}
	return env
}

// A geminiLine is a line of Gemini CLI's stream-json.
type geminiLine struct {
	Type    string `json:"type"`
	Session string `json:"session_id"` // init
	Model   string `json:"model"`

	Role    string    `json:"role"` // message
	Content wire.Text `json:"content"`

	Tool   string          `json:"tool_name"` // tool_use, tool_result
	ID     string          `json:"tool_id"`
	Input  json.RawMessage `json:"parameters"`
	Output wire.Text       `json:"output"`

	Severity string `json:"severity"` // error
	Message  string `json:"message"`

	Status string `json:"status"` // tool_result, result
	Error  struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats *struct {
		geminiUsage
		Models map[string]geminiUsage `json:"models"`
	} `json:"stats"`
}

type geminiUsage struct {
	Total  tokenCount `json:"total_tokens"`
	Input  tokenCount `json:"input_tokens"`
	Output tokenCount `json:"output_tokens"`
	Cached tokenCount `json:"cached"`
}

// gemini decodes the output of Gemini CLI, which does not include thinking.
type gemini struct {
	*answer
	n              int    // number of the current text block
	requestedModel string // model that the program announces
	model          string // model that answered
}

func newGemini(a *answer) decoder { return &gemini{answer: a} }

func (g *gemini) line(data []byte) {
	var l geminiLine
	decodeLenient(data, &l)
	if l.Type != "result" || l.Status != "error" {
		g.noticePending()
	}
	switch l.Type {
	case "init":
		g.requestedModel = l.Model
		if validSessionID.MatchString(l.Session) {
			g.next = state{Session: l.Session}
		}
	case "message":
		if l.Role == "assistant" && l.Content != "" { // the prompt is echoed too
			g.delta("text "+strconv.Itoa(g.n), llm.Part{Kind: llm.Text, Text: string(l.Content)})
		}
	case "tool_use":
		if g.call(l.ID, l.Tool, string(l.Input)) {
			g.n++
		}
	case "tool_result":
		g.result(l.ID, cmp.Or(string(l.Output), l.Error.Message), l.Status == "error")
	case "error":
		g.lastError, g.pendingError = l.Message, l.Message
	case "result":
		g.end(&l)
	}
}

// end handles the last line.
func (g *gemini) end(l *geminiLine) {
	g.done = true
	g.report(l)
	if l.Status == "error" {
		g.fault = g.toError(l.Error.Type, 0, cmp.Or(l.Error.Message, g.lastError, "it did not say why it failed"))
		return
	}
	g.model = cmp.Or(g.model, g.requestedModel)
	if g.model != g.requestedModel && strings.HasPrefix(g.requestedModel, "gemini-") {
		g.notice("%s answered instead of %s", g.model, g.requestedModel)
	}
	g.finish = llm.Finish{Reason: llm.Stop, Raw: l.Status, ID: g.next.Session, Model: g.model}
}

// report sends the usage and finds the model that answered: if an allowance is used up, the program
// switches to a smaller model on its own.
func (g *gemini) report(l *geminiLine) {
	if l.Stats == nil {
		return
	}
	s := l.Stats
	// Only the total includes the thinking.
	thinking := max(0, s.Total-s.Input-s.Output)
	if s.Total > 0 { // otherwise no request was made
		g.out.Send(llm.Usage{Input: int(s.Input), CacheRead: int(s.Cached), Output: int(s.Output + thinking), Thinking: int(thinking)})
	}
	most := tokenCount(0)
	for model, u := range s.Models {
		if u.Output > most || u.Output == most && most > 0 && model < g.model {
			g.model, most = model, u.Output
		}
	}
}
