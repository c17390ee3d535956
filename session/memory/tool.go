package memory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
)

// Tool returns the tool with which a model proposes a line. The user is asked each time, and is shown the line and what
// the model read before it in the conversation of current. Imported is the program that the conversation was imported
// from; "" for none.
func (m *Memory) Tool(current func() *session.Session, imported string) tools.External {
	return tools.External{
		Name:        act.RememberTool,
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

// origin names all that the model read in a conversation, which may have asked for the proposal: first from outside of
// the workspace, then its files, each with the last one first; "" for nothing.
func origin(s *session.Session, imported string) string {
	if s == nil {
		return ""
	}
	titles := map[string]string{}
	path := s.Path()
	for _, n := range path {
		for _, p := range n.Parts {
			if p.Kind == llm.Call {
				titles[p.ID] = strings.TrimSpace(act.DisplayName(p.Name) + " " + subject(p.Input))
			}
		}
	}
	var sources, files []string
	named := map[string]bool{"": true}
	add := func(to *[]string, source string) {
		if source = sanitize.Truncate(sanitize.Line(source), 100); !named[source] {
			named[source] = true
			*to = append(*to, source)
		}
	}
	if imported != "" {
		add(&sources, "a conversation imported from "+imported)
	}
	for _, n := range slices.Backward(path) {
		for _, p := range slices.Backward(n.Parts) {
			facts := act.FactsOf(p.Name)
			switch {
			case p.Kind == llm.Result && facts.Reads:
				add(&files, titles[p.ID])
			case p.Kind == llm.Result && p.Name != act.RememberTool && p.Name != act.PlanTool && p.Name != act.AskTool && facts.Kind != "edit":
				add(&sources, titles[p.ID])
			case p.Kind == llm.Text && n.Role == llm.RoleUser && p.Name != "", p.Kind == llm.Media && n.Role == llm.RoleUser:
				add(&sources, "attachment "+p.Name)
			}
		}
	}
	if sources = append(sources, files...); len(sources) == 0 {
		return ""
	}
	return "The model had just read: " + strings.Join(sources, ", ")
}

// subject returns the argument that says what a call is about; "" if it is unknown.
func subject(input string) string {
	var args map[string]any
	if json.Unmarshal([]byte(input), &args) != nil {
		return ""
	}
	for _, name := range []string{"url", "path", "command", "query", "pattern", "task", "question", "name"} {
		if text, ok := args[name].(string); ok {
			return text
		}
	}
	return ""
}
