package print

import (
	"cmp"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
)

// jsonlWriter writes one JSON object per event.
type jsonlWriter struct {
	o       cmdutil.PrintOptions
	sources []cmdutil.Object     // sources of the last answer that has any
	blocks  map[string]blockSize // blocks of the running response
	texts   int                  // bytes of text written so far
	breaks  llm.Breaks           // breaks between texts
}

// A blockSize counts the bytes written of a block.
type blockSize struct{ text, thinking int }

// newJSONLWriter writes the start object.
func newJSONLWriter(o cmdutil.PrintOptions, s *session.Session) *jsonlWriter {
	_ = append(cmdutil.Object{"type", "start"}, description(o, s)...).Write(o.Out) // the next write returns the error
	return &jsonlWriter{o: o}
}

// description returns the fields that identify the session and the model.
func description(o cmdutil.PrintOptions, s *session.Session) cmdutil.Object {
	model := cmp.Or(o.Model, s.Model().Name)
	about := cmdutil.Object{"session", cmp.Or(o.Session, s.ID()), "model", model}
	if o.Answer > 0 {
		about = append(about, "answer", o.Answer, "answers", o.Answers)
	}
	if o.Demo != nil && o.Demo(model) {
		about = append(about, "demo", true)
	}
	return about
}

func (l *jsonlWriter) event(e session.Event, status int) error {
	var discards cmdutil.Object
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
		if o[1] == "done" && l.sources != nil {
			o = append(o, "sources", l.sources)
		}
		if err := o.Write(l.o.Out); err != nil {
			return err
		}
	}
	return nil
}

// count adds the bytes of d, and returns d with an empty line before a separate text.
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
		if size.text > 0 { // it turned out to be thinking
			l.breaks.Break()
		}
	}
	l.blocks[d.Block] = size
	return d
}

// discard returns, as fields, how many bytes of text and thinking the reader must discard; none
// for zero bytes.
func (l *jsonlWriter) discard(blocks []string) (o cmdutil.Object) {
	var all blockSize
	for _, name := range blocks {
		all.text += l.blocks[name].text
		all.thinking += l.blocks[name].thinking
		delete(l.blocks, name)
	}
	l.texts -= all.text
	l.breaks.Break()
	if all.text > 0 {
		o = append(o, "discards_text", all.text)
	}
	if all.thinking > 0 {
		o = append(o, "discards_thinking", all.thinking)
	}
	return o
}

// objects returns the JSON objects of an event. Readers must ignore unknown types and fields.
func objects(e session.Event, status int) []cmdutil.Object {
	if o := noticeObject(e); o != nil {
		return []cmdutil.Object{o}
	}
	switch e := e.(type) {
	case savedMedia:
		return []cmdutil.Object{append(cmdutil.Object{"type", "image"}, mediaObject(e)...)}
	case llm.Delta:
		kind := map[llm.Kind]string{llm.Text: "text", llm.Thinking: "thinking"}[e.Kind]
		if kind == "" || e.Text == "" {
			return nil
		}
		return []cmdutil.Object{{"type", kind, "text", e.Text}}
	case session.Response:
		var list []cmdutil.Object
		if n := answerNotice(e); n.Text != "" {
			list = append(list, noticeObject(n))
		}
		if e.UsageKnown {
			list = append(list, usageObject(e.Usage))
		}
		return list
	case session.StructuredOutput:
		return []cmdutil.Object{{"type", "structured", "value", e.JSON}}
	case session.Call:
		return []cmdutil.Object{callObject(e.Part)}
	case session.Decision:
		return []cmdutil.Object{{"type", "permission", "id", e.ID, "decision", e.Verdict}}
	case session.Result:
		return []cmdutil.Object{{"type", "tool_result", "id", e.Part.ID, "name", e.Part.Name, "output", e.Part.Text, "is_error", e.Part.Failed}}
	case session.Done:
		done := cmdutil.Object{"type", "done", "finish_reason", finishReason(e), "exit", status}
		if e.Err != nil {
			return []cmdutil.Object{cmdutil.ErrorObject(e.Err), done}
		}
		return []cmdutil.Object{done}
	}
	return nil
}

// noticeObject returns an object for an event that text mode writes to standard error, with the
// same words and with fields for programs; nil for other events.
func noticeObject(e session.Event) cmdutil.Object {
	switch e := e.(type) {
	case llm.Notice:
		return cmdutil.Object{"type", "notice", "text", e.Text}
	case llm.Retry:
		return cmdutil.Object{"type", "retry", "attempt", e.Attempt, "delay_ms", e.Wait.Milliseconds(), "category", e.Fault, "text", wording.Retry(e, e.Wait)}
	case session.Fallback:
		return cmdutil.Object{"type", "fallback", "from", e.From, "to", e.To, "category", e.Fault, "text", wording.Event(e)}
	case session.ModelSwitched:
		changes := make([]string, len(e.Changes))
		for i, c := range e.Changes {
			changes[i] = c.String()
		}
		return cmdutil.Object{"type", "switch", "from", e.From, "to", e.To, "changes", changes, "text", wording.Event(e)}
	case session.Sandbox:
		return cmdutil.Object{"type", "sandbox", "text", e.Text}
	case session.Compacted:
		return cmdutil.Object{"type", "compacted", "messages", e.Messages, "before_tokens", e.Before, "after_tokens", e.After, "text", wording.Event(e)}
	}
	return nil
}

// answerNotice returns a notice why a response is empty or incomplete. It has no text if the
// response is complete or was interrupted.
func answerNotice(e session.Response) llm.Notice {
	return llm.Notice{Text: strings.TrimSuffix(blocks.IncompleteText(e), blocks.TypeContinue)}
}

func usageObject(u llm.Usage) cmdutil.Object {
	o := cmdutil.Object{
		"type", "usage", "input_tokens", u.Input, "cached_input_tokens", u.CacheRead,
		"output_tokens", u.Output, "reasoning_tokens", u.Thinking,
	}
	if u.Priced {
		o = append(o, "cost_usd", u.Cost)
	}
	if u.Estimated {
		o = append(o, "estimated", true)
	}
	return o
}

// sourceObjects returns the sources cited in an answer, ordered by number.
func sourceObjects(m llm.Message) (list []cmdutil.Object) {
	for n, p := range blocks.Sources(m) {
		list = append(list, cmdutil.Object{"number", n + 1, "title", p.Title(), "url", p.URL})
	}
	return list
}

// callObject returns a tool call. Arguments that are not a JSON object go into "raw".
func callObject(p llm.Part) cmdutil.Object {
	o := cmdutil.Object{"type", "tool_call", "id", p.ID, "name", p.Name}
	if args, ok := llm.Arguments(p.Input); ok {
		return append(o, "arguments", args)
	}
	return append(o, "arguments", struct{}{}, "raw", p.Input)
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
