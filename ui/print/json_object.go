package print

import (
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/session"
)

// jsonWriter writes one JSON object when the turn is over.
type jsonWriter struct {
	o         Options
	s         *session.Session
	text      []string // pieces of the answer
	breaks    llm.Breaks
	images    []json.RawMessage // that were saved
	think     []string
	value     json.RawMessage   // the answer that fits the schema; nil if there is none
	tools     []json.RawMessage // calls and results, in order
	sources   []json.RawMessage // sources of the last answer that has any
	notes     []json.RawMessage // notices, in order
	lastModel string            // model of the last answer; "" if there is none
}

func (w *jsonWriter) start(s *session.Session) { w.s = s }

func (w *jsonWriter) event(e session.Event, status int) error {
	w.note(e)
	switch e := e.(type) {
	case session.Step:
		if w.o.Schema { // each try is complete: two JSON values in a row would be invalid
			w.text, w.breaks = nil, llm.Breaks{}
		}
	case savedMedia:
		w.images = append(w.images, encode(mediaObject(e)))
	case session.Response: // not deltas: its text is shared with the conversation, not copied
		w.lastModel = e.Message.Model
		if n := answerNotice(e); n.Text != "" {
			w.note(n)
		}
		if cites := sourceObjects(e.Message); cites != nil {
			w.sources = cites
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
	case session.Call:
		w.tools = append(w.tools, encode(callObject(e.Part)[1:]))
	case session.Result:
		o := object{{"id", e.Part.ID}, {"name", e.Part.Name}, {"output", e.Part.Text}, {"is_error", e.Part.Failed}}
		w.tools = append(w.tools, encode(o))
	case session.Done:
		return w.done(e, status)
	}
	return nil
}

// note collects notices.
func (w *jsonWriter) note(e session.Event) {
	if o := noticeObject(e); o != nil {
		w.notes = append(w.notes, encode(o))
	}
}

func (w *jsonWriter) done(d session.Done, status int) error {
	if w.o.Model == "" {
		w.o.Model = w.lastModel // a fallback may have answered
	}
	o := append(w.o.description(w.s),
		field{"text", strings.TrimRight(strings.Join(w.text, ""), "\n")}, field{"thinking", strings.Join(w.think, "")})
	if w.value != nil {
		o = append(o, field{"structured", w.value})
	}
	if len(w.images) > 0 {
		o = append(o, field{"images", w.images})
	}
	if len(w.sources) > 0 {
		o = append(o, field{"sources", w.sources})
	}
	if len(w.tools) > 0 {
		o = append(o, field{"tools", w.tools})
	}
	if len(w.notes) > 0 {
		o = append(o, field{"notices", w.notes})
	}
	if d.Usage != (llm.Usage{}) {
		o = append(o, field{"usage", json.RawMessage(encode(usageObject(d.Usage)[1:]))})
	}
	if d.Err != nil {
		o = append(o, field{"error", json.RawMessage(encode(errorObject(d.Err)[1:]))})
	}
	return write(w.o.Out, append(o, field{"finish_reason", finishReason(d)}, field{"exit", status}))
}
