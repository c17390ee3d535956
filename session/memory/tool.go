package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
)

// ToolName is the name of the tool.
const ToolName = "remember"

// Tool returns the tool with which a model proposes a line. The user is asked each time, and is shown the line and what
// the model read before it in the conversation of current. Imported is the program that the conversation was imported
// from; "" for none.
func (m *Memory) Tool(current func() *session.Session, imported string) tools.External {
	return tools.External{
		Name:        ToolName,
		Description: "Proposes a line to remember in every later conversation: a lasting fact or wish of the user's. The user decides.",
		Schema:      json.RawMessage(`{"type":"object","required":["text"],"additionalProperties":false,"properties":{"text":{"type":"string","description":"one sentence"},"here":{"type":"boolean","description":"only in this folder"}}}`),
		Plan: func(_ context.Context, input json.RawMessage) (*act.Action, error) {
			var args struct {
				Text string
				Here bool
			}
			if err := json.Unmarshal(input, &args); err != nil {
				return nil, err
			}
			line, err := m.Line(args.Text)
			if err != nil {
				return nil, err
			}
			// It reads in the sense of the modes: nothing in the workspace changes.
			a := &act.Action{Access: act.AccessRead, Ordered: true, AskEachTime: true, Question: "Remember this line?", Title: "remember: " + line, Caution: "Every new conversation"}
			if args.Here {
				a.Caution += " in this folder"
			}
			a.Caution += " would get this line"
			if read := origin(current(), imported); read != "" {
				a.Caution += ". " + read
			}
			a.Do = func(context.Context, func(string)) act.Outcome {
				if err := m.Add(line, args.Here); err != nil {
					return act.Outcome{Text: err.Error(), Failed: true}
				}
				return act.Outcome{Text: "Remembered for new conversations, in " + name(args.Here) + ": " + line}
			}
			return a, nil
		},
	}
}

// maxSources is how many sources an approval names.
const maxSources = 3

// origin names what the model read last in a conversation, which may have asked for the proposal; "" for nothing.
func origin(s *session.Session, imported string) string {
	if s == nil {
		return ""
	}
	var sources []string
	titles := map[string]string{}
	path := s.Path()
	for _, n := range path {
		for _, p := range n.Calls() {
			titles[p.ID] = strings.TrimSpace(act.DisplayName(p.Name) + " " + subject(p.Input))
		}
	}
	more := 0
	for i := len(path) - 1; i >= 0; i-- {
		n := &path[i]
		for j := len(n.Parts) - 1; j >= 0; j-- {
			p, source := &n.Parts[j], ""
			switch {
			case p.Kind == llm.Result && p.Name != ToolName && p.Name != act.PlanTool && p.Name != act.AskTool && act.FactsOf(p.Name).Kind != "edit":
				source = titles[p.ID]
			case p.Kind == llm.Text && n.Role == llm.RoleUser && p.Name != "", p.Kind == llm.Media && n.Role == llm.RoleUser:
				source = "attachment " + p.Name
			}
			source = sanitize.Truncate(sanitize.Line(source), 100)
			switch {
			case source == "" || slices.Contains(sources, source):
			case len(sources) == maxSources:
				more++
			default:
				sources = append(sources, source)
			}
		}
	}
	if imported != "" && !strings.HasPrefix(imported, "fork ") {
		sources = append(sources, "a conversation imported from "+sanitize.Line(imported))
	}
	if len(sources) == 0 {
		return ""
	}
	text := "The model had just read: " + strings.Join(sources, ", ")
	if more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// subject returns the argument that says what a call is about; "" if it is unknown.
func subject(input string) string {
	var args map[string]any
	if json.Unmarshal([]byte(input), &args) != nil {
		return ""
	}
	for _, name := range []string{"url", "path", "command", "query", "pattern", "name"} {
		if text, ok := args[name].(string); ok {
			return text
		}
	}
	return ""
}
