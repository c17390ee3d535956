package prompted

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/filter"
	"parley/providers/llm"
	"parley/tools/lazy"
)

// historyAsText returns history with calls and results as text: calls in the form that the model
// should use, results in user messages.
func historyAsText(history []llm.Message, guided bool) []llm.Message {
	var out []llm.Message
	for _, m := range llm.Repair(history) {
		switch {
		case m.Role == llm.RoleTool:
			m = llm.Message{Role: llm.RoleUser, Parts: resultsAsText(m.Parts)}
		case m.Role == llm.RoleAssistant && guided:
			m.Parts = messageAsActions(m.Parts)
		case m.Role == llm.RoleAssistant:
			m.Parts = callsAsText(m.Parts)
		}
		out = append(out, m)
	}
	return llm.Repair(out) // merges a result with the user message after it
}

// resultsAsText converts results to text. Their media stay.
func resultsAsText(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for _, p := range parts {
		if p.Kind != llm.Result {
			out = append(out, p)
			continue
		}
		failed := ""
		if p.Failed {
			failed = ` error="true"`
		}
		out = append(out, llm.Part{Kind: llm.Text, Text: `<tool_result name="` + attribute(p.Name) + `" id="` + attribute(p.ID) + `"` +
			failed + ">\n" + escapeMarks(p.Text) + "\n</tool_result>"})
	}
	return out
}

// attribute escapes s for an attribute value in a tag.
func attribute(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ").Replace(s)
}

var marks = lazy.NewRegexp(`(?i)<(\s*/?\s*tool_(?:call|result))`)

// escapeMarks escapes the marks in s: a file read by a tool may contain them, to end its result and
// continue as the user.
func escapeMarks(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return marks.ReplaceAllString(s, "&lt;$1")
}

// callsAsText converts calls to text between <tool_call> and </tool_call>. Unreadable calls keep
// their original text.
func callsAsText(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for _, p := range parts {
		switch {
		case p.Kind != llm.Call || p.Remote:
		case p.Failed:
			p = llm.Part{Kind: llm.Text, Text: p.Input}
		default:
			p = llm.Part{Kind: llm.Text, Text: "<tool_call>\n" + string(filter.JSON(struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			}{p.Name, arguments(p.Input)})) + "\n</tool_call>"}
		}
		out = append(out, p)
	}
	return out
}

// arguments returns a call's input as JSON, even if the model wrote none.
func arguments(input string) json.RawMessage {
	if args, ok := llm.Arguments(input); ok {
		return args
	}
	return filter.JSON(input)
}

// An actionJSON is one action; its members are in the order in which they are written.
type actionJSON struct {
	Thought string          `json:"thought,omitempty"`
	Name    string          `json:"tool_name,omitempty"`
	Args    json.RawMessage `json:"tool_args,omitempty"`
	Answer  *string         `json:"answer,omitempty"`
}

// messageAsActions converts the thought, text and calls of a message to actions. Text beside a call
// becomes a thought; unreadable calls keep their original text.
func messageAsActions(parts []llm.Part) []llm.Part {
	var kept []llm.Part
	var thoughts, texts, unreadable []string
	var acts []actionJSON
	for _, p := range parts {
		switch {
		case p.Kind == llm.Thinking && p.Name == filter.Thought: // other thinking belongs to the model and the adapter
			thoughts = append(thoughts, p.Text)
		case p.Kind == llm.Text:
			texts = append(texts, p.Text)
		case p.Kind == llm.Call && p.Failed:
			unreadable = append(unreadable, p.Input)
		case p.Kind == llm.Call && !p.Remote:
			acts = append(acts, actionJSON{Name: p.Name, Args: arguments(p.Input)})
		default:
			kept = append(kept, p)
		}
	}
	text := strings.Join(texts, "\n\n")
	switch {
	case unreadable != nil && acts == nil:
		said := slices.Concat(thoughts, texts, unreadable)
		return append(kept, llm.Part{Kind: llm.Text, Text: strings.Join(said, "\n\n")})
	case acts == nil && text == "":
		return parts
	case acts == nil:
		acts = []actionJSON{{Answer: &text}}
	case text != "":
		thoughts = append(thoughts, text)
	}
	acts[0].Thought = strings.Join(thoughts, "\n\n")
	var lines []string
	for _, a := range acts {
		lines = append(lines, string(filter.JSON(a)))
	}
	lines = append(lines, unreadable...)
	return append(kept, llm.Part{Kind: llm.Text, Text: strings.Join(lines, "\n")})
}
