package print

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// jsonlWriter writes one JSON object per event.
type jsonlWriter struct {
	o       Options
	err     error                // of writing the start object; returned by the next event
	sources []json.RawMessage    // sources of the last answer that has any
	blocks  map[string]blockSize // of the running response
	texts   int                  // bytes of text that the reader has
	breaks  llm.Breaks           // between them
}

// An object is a JSON object with ordered fields.
type object []field

type field struct {
	name  string
	value any
}

// A blockSize counts the bytes of a block that were written.
type blockSize struct{ text, thinking int }

func (l *jsonlWriter) start(s *session.Session) {
	l.err = write(l.o.Out, append(object{{"type", "start"}}, l.o.description(s)...))
}

// description returns the fields that identify the session and the model.
func (o Options) description(s *session.Session) object {
	model := cmp.Or(o.Model, s.Model().Name)
	about := object{{"session", s.ID()}, {"model", model}}
	if o.Answer > 0 {
		about = append(about, field{"answer", o.Answer}, field{"answers", o.Answers})
	}
	if o.Demo != nil && o.Demo(model) {
		about = append(about, field{"demo", true})
	}
	return about
}

func (l *jsonlWriter) event(e session.Event, status int) error {
	if l.err != nil {
		return l.err
	}
	var discards object
	switch d := e.(type) {
	case llm.Delta:
		e = l.count(d)
	case llm.Retry:
		discards = l.discard(d.Discards)
	case session.Response:
		l.blocks = nil
		l.breaks.Break()
		if cites := sourceObjects(d.Message); cites != nil {
			l.sources = cites
		}
	}
	for _, o := range objects(e, status) {
		o = append(o, discards...)
		if o[0].value == "done" && l.sources != nil {
			o = append(o, field{"sources", l.sources})
		}
		if err := write(l.o.Out, o); err != nil {
			return err
		}
	}
	return nil
}

// count counts the bytes of d, and returns it with an empty line before a text that stands apart.
func (l *jsonlWriter) count(d llm.Delta) llm.Delta {
	if l.blocks == nil {
		l.blocks = map[string]blockSize{}
	}
	size := l.blocks[d.Block]
	if size.text == 0 && l.breaks.Next(&d.Part) && l.texts > 0 && !l.o.Schema {
		d.Text = "\n\n" + d.Text
	}
	switch d.Kind {
	case llm.Text:
		size.text += len(d.Text)
		l.texts += len(d.Text)
	case llm.Thinking:
		size.thinking += len(d.Text)
		if size.text > 0 { // it was thinking
			l.breaks.Break()
		}
	}
	l.blocks[d.Block] = size
	return d
}

// discard returns how many bytes of text and thinking the reader has to discard, as fields; none
// if there is nothing.
func (l *jsonlWriter) discard(blocks []string) (o object) {
	var all blockSize
	for _, name := range blocks {
		all.text += l.blocks[name].text
		all.thinking += l.blocks[name].thinking
		delete(l.blocks, name)
	}
	l.texts -= all.text
	l.breaks.Break()
	if all.text > 0 {
		o = append(o, field{"discards_text", all.text})
	}
	if all.thinking > 0 {
		o = append(o, field{"discards_thinking", all.thinking})
	}
	return o
}

// objects returns the JSON objects of an event. Readers must ignore unknown types and fields.
func objects(e session.Event, status int) []object {
	if o := noticeObject(e); o != nil {
		return []object{o}
	}
	switch e := e.(type) {
	case savedMedia:
		return []object{append(object{{"type", "image"}}, mediaObject(e)...)}
	case llm.Delta:
		kind := map[llm.Kind]string{llm.Text: "text", llm.Thinking: "thinking"}[e.Kind]
		if kind == "" || e.Text == "" {
			return nil
		}
		return []object{{{"type", kind}, {"text", e.Text}}}
	case session.Response:
		var list []object
		if n := answerNotice(e); n.Text != "" {
			list = append(list, noticeObject(n))
		}
		if e.UsageKnown {
			list = append(list, usageObject(e.Usage))
		}
		return list
	case session.StructuredOutput:
		return []object{{{"type", "structured"}, {"value", e.JSON}}}
	case session.Call:
		return []object{callObject(e.Part)}
	case session.Decision:
		return []object{{{"type", "permission"}, {"id", e.ID}, {"decision", e.Verdict}}}
	case session.Result:
		return []object{{{"type", "tool_result"}, {"id", e.Part.ID}, {"name", e.Part.Name}, {"output", e.Part.Text}, {"is_error", e.Part.Failed}}}
	case session.Done:
		done := object{{"type", "done"}, {"finish_reason", finishReason(e)}, {"exit", status}}
		if e.Err != nil {
			return []object{errorObject(e.Err), done}
		}
		return []object{done}
	}
	return nil
}

// noticeObject returns an event that text mode writes to standard error, with the same words and
// with fields for programs; nil for other events.
func noticeObject(e session.Event) object {
	switch e := e.(type) {
	case llm.Notice:
		return object{{"type", "notice"}, {"text", e.Text}}
	case llm.Retry:
		return object{{"type", "retry"}, {"attempt", e.Attempt}, {"delay_ms", e.Wait.Milliseconds()}, {"category", e.Fault}, {"text", app.RetryText(e, e.Wait)}}
	case session.Fallback:
		return object{{"type", "fallback"}, {"from", e.From}, {"to", e.To}, {"category", e.Fault}, {"text", app.FallbackText(e)}}
	case session.ModelSwitched:
		changes := make([]string, len(e.Changes))
		for i, c := range e.Changes {
			changes[i] = c.String()
		}
		return object{{"type", "switch"}, {"from", e.From}, {"to", e.To}, {"changes", changes}, {"text", app.SwitchText(e)}}
	case session.Sandbox:
		return object{{"type", "sandbox"}, {"text", e.Text}}
	case session.Compacted:
		return object{{"type", "compacted"}, {"messages", e.Messages}, {"before_tokens", e.Before}, {"after_tokens", e.After}, {"text", app.CompactedText(e)}}
	}
	return nil
}

// answerNotice says why a response is empty or incomplete; it has no text if the response is
// complete, or was interrupted.
func answerNotice(e session.Response) llm.Notice {
	return llm.Notice{Text: strings.TrimSuffix(app.IncompleteText(e), app.TypeContinue)}
}

func usageObject(u llm.Usage) object {
	o := object{
		{"type", "usage"}, {"input_tokens", u.Input}, {"cached_input_tokens", u.CacheRead},
		{"output_tokens", u.Output}, {"reasoning_tokens", u.Thinking},
	}
	if u.Priced {
		o = append(o, field{"cost_usd", u.Cost})
	}
	if u.Estimated {
		o = append(o, field{"estimated", true})
	}
	return o
}

// sourceObjects returns the sources that an answer cites, in the order of their numbers.
func sourceObjects(m llm.Message) (list []json.RawMessage) {
	for n, p := range app.Sources(m) {
		list = append(list, encode(object{{"number", n + 1}, {"title", p.Title()}, {"url", p.URL}}))
	}
	return list
}

// callObject returns a tool call. Arguments that are not a JSON object go into "raw".
func callObject(p llm.Part) object {
	o := object{{"type", "tool_call"}, {"id", p.ID}, {"name", p.Name}}
	if args, ok := llm.Arguments(p.Input); ok {
		return append(o, field{"arguments", args})
	}
	return append(o, field{"arguments", struct{}{}}, field{"raw", p.Input})
}

func errorObject(err error) object {
	o := object{{"type", "error"}, {"category", category(err)}, {"message", format.ErrorText(err)}, {"hint", app.ShellHint(err)}}
	if wait := llm.WaitOf(err); wait > 0 {
		o = append(o, field{"retry_after_ms", (wait + time.Millisecond - 1).Milliseconds()})
	}
	return o
}

func finishReason(d session.Done) string {
	if d.Err != nil {
		return "error"
	}
	switch d.Reason {
	case llm.Calls:
		return "tool_calls"
	case llm.Refused:
		return "content_filter"
	}
	return string(d.Reason)
}

// write writes o as a line of JSON.
func write(w io.Writer, o object) error {
	_, err := w.Write(append(encode(o), '\n'))
	return err
}

// encode returns o as JSON with its fields in order, escaped by sanitize.JSON.
func encode(o object) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.name + `":`)
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(f.value); err != nil {
			fmt.Fprintf(&b, "%q", err.Error())
			continue
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
	}
	b.WriteByte('}')
	return sanitize.JSON(b.Bytes())
}
