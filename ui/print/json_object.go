package print

import (
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/cli/cmdutil"
)

// jsonWriter writes one JSON object at the end of the turn.
type jsonWriter struct {
	o         cmdutil.PrintOptions
	s         *session.Session
	text      []string // pieces of the answer
	breaks    llm.Breaks
	think     []string
	value     json.RawMessage             // the answer that matches the schema; nil if there is none
	lists     map[string][]cmdutil.Object // saved images, calls and results, notices, and sources of the last answer that has any
	lastModel string                      // model of the last answer; "" if there is none
}

// listOf returns the list for objects of a type, or "" for none.
func listOf(kind any) string {
	switch kind {
	case "image":
		return "images"
	case "tool_call", "tool_result":
		return "tools"
	case "notice", "retry", "fallback", "switch", "sandbox", "compacted":
		return "notices"
	}
	return ""
}

func newJSONWriter(o cmdutil.PrintOptions, s *session.Session) *jsonWriter {
	return &jsonWriter{o: o, s: s, lists: map[string][]cmdutil.Object{}}
}

func (w *jsonWriter) event(e session.Event, status int) error {
	for _, o := range objects(e, status) {
		switch name := listOf(o[1]); name {
		case "":
		case "notices":
			w.lists[name] = append(w.lists[name], o)
		default:
			w.lists[name] = append(w.lists[name], o[2:])
		}
	}
	switch e := e.(type) {
	case session.Step:
		if w.o.Schema { // each try is complete; two JSON values in a row would be invalid
			w.text, w.breaks = nil, llm.Breaks{}
		}
	case session.Response: // not deltas: its text is shared with the conversation, not copied
		w.lastModel = e.Message.Model
		if cites := sourceObjects(e.Message); cites != nil {
			w.lists["sources"] = cites
		}
		for _, p := range e.Message.Parts {
			if w.breaks.Next(&p) {
				w.text = append(w.text, "\n\n")
			}
			switch {
			case p.Kind == llm.Text && p.Text != "":
				w.text = append(w.text, p.Text)
			case p.Kind == llm.Thinking && p.Text != "":
				w.think = append(w.think, p.Text)
			}
		}
		w.breaks.Break()
	case session.StructuredOutput:
		w.value = e.JSON
	case session.Done:
		return w.done(e, status)
	}
	return nil
}

func (w *jsonWriter) done(d session.Done, status int) error {
	if w.o.Model == "" {
		w.o.Model = w.lastModel // a fallback may have answered
	}
	o := append(description(w.o, w.s),
		"text", strings.TrimRight(strings.Join(w.text, ""), "\n"), "thinking", strings.Join(w.think, ""))
	if w.value != nil {
		o = append(o, "structured", w.value)
	}
	for _, name := range []string{"images", "sources", "tools", "notices"} {
		if list := w.lists[name]; len(list) > 0 {
			o = append(o, name, list)
		}
	}
	if d.Usage != (llm.Usage{}) {
		o = append(o, "usage", usageObject(d.Usage)[2:])
	}
	if d.Err != nil {
		o = append(o, "error", w.o.ErrorObject(d.Err)[2:])
	}
	return append(o, "finish_reason", finishReason(d), "exit", status).Write(w.o.Out)
}
