package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/tui/transcript"
)

// replay shows a conversation that was held before as it looked when it was.
func (m *Model) replay(path []session.Node) {
	m.shown = len(path) > 0
	r := replayed{left: map[int]bool{}}
	r.branch(m, path)
	r.end(m)
	m.transcript.Tag(0)
	if n := len(path); n > 0 { // what has no whole answer can be answered
		last := path[n-1]
		m.failed = last.Interrupted || last.Role != llm.RoleAssistant && !last.Summary || last.Role == llm.RoleAssistant && last.Message.Empty()
	}
}

// summaryText is a summary without the words that introduce it to the model.
func summaryText(n session.Node) string {
	_, text, ok := strings.Cut(n.Text(), "\n\n")
	if !ok {
		return n.Text()
	}
	return text
}

// replayed is what is known of the turn that is being shown.
type replayed struct {
	model  string // that wrote the last answer of all, or that was switched to
	tally  tally
	calls  map[string]shownCall
	broken bool // the turn did not come to its end

	cut  *session.Node // the last answer, while nothing was shown of why it broke off; else nil
	left map[int]bool  // answers of other branches that were shown, by Seq
}

// branch shows messages and what stands between them.
func (r *replayed) branch(m *Model, path []session.Node) {
	along := m.app.Session.Annotations(path)
	for i, n := range path {
		m.transcript.Tag(n.Seq)
		if n.Role == llm.RoleAssistant {
			r.answer(m, n, along[i])
			continue
		}
		r.annotations(m, along[i])
		switch {
		case n.Summary:
			r.end(m)
			m.transcript.Summary(m.transcript.NewID(), summaryText(n), i)
		case n.Role == llm.RoleUser:
			r.end(m)
			text, attached := attach.SplitMessage(n.Message)
			m.transcript.User(text, labels(attached)...)
			if cmd := m.picture(attached); cmd != nil {
				m.loading = append(m.loading, cmd)
			}
		default:
			r.results(m, n)
		}
	}
	r.annotations(m, along[len(path)])
}

// annotations shows what stood between the messages as it looked when the turn was
// over: a retry had gone then.
func (r *replayed) annotations(m *Model, list []session.Annotation) {
	for _, a := range list {
		if a.Idle {
			r.end(m)
		}
		e := session.DecodeAnnotation(a)
		switch e := e.(type) {
		case session.Abandoned:
			if n, err := m.app.Session.At(e.Seq); err == nil && n.Interrupted && n.Parent == a.After && !r.left[e.Seq] {
				r.left[e.Seq] = true
				r.branch(m, []session.Node{n})
				r.cut = nil
			}
			continue
		case session.Fallback:
			r.model = e.To
		case session.ModelSwitched:
			r.model = e.To
		case session.ShellCommand:
			if i := slices.IndexFunc(m.shellsRun, func(r *shellRun) bool { return r.session == m.app.Session && r.n == a.N }); i >= 0 {
				m.shellsRun[i].show(m)
				continue
			}
		}
		m.show(e)
		if _, ok := e.(session.Done); ok {
			r.cut, r.broken = nil, true
			r.end(m)
		}
	}
}

// A shownCall is a call that waits for its result.
type shownCall struct {
	id   string
	tool transcript.Tool
}

// answer shows an answer, and between its parts what came while it did.
func (r *replayed) answer(m *Model, n session.Node, list []session.Annotation) {
	seen := 0
	before := func() {
		for len(list) > 0 && list[0].Part <= seen {
			r.annotations(m, list[:1])
			if list[0].Kind == "dropped" {
				seen++
			}
			list = list[1:]
		}
	}
	before()
	if r.model != "" && n.Model != r.model {
		m.transcript.Marker(transcript.Switch, fmt.Sprintf("model: %s → %s", r.model, n.Model))
	}
	r.calls = map[string]shownCall{}
	thought := n.ThinkingDurations
	for _, p := range n.Parts {
		before()
		if p.Visible() {
			seen++
		}
		var took time.Duration
		if p.Kind == llm.Thinking && len(thought) > 0 {
			took, thought = thought[0], thought[1:]
		}
		r.part(m, n, p, took)
	}
	r.annotations(m, list)
	if r.cut = nil; n.Interrupted {
		r.cut = &n
	}
	var usage llm.Usage
	if n.Usage != nil {
		usage = *n.Usage
	}
	r.tally.add(n.Message, usage, n.Reason, n.TTFT, n.Duration)
	r.model = n.Model
	r.tally.span(n.At, n.Duration)
}

// part shows a part of an answer, which took so long to come if it is thinking.
func (r *replayed) part(m *Model, n session.Node, p llm.Part, took time.Duration) {
	id := m.transcript.NewID()
	switch p.Kind {
	case llm.Text:
		m.transcript.AppendAnswer(id, p.Text)
		m.transcript.FinishAnswer(id)
	case llm.Thinking:
		if p.Text != "" {
			m.transcript.AppendThinking(id, p.Text)
		}
		if p.Text != "" || n.ThinkingDurations != nil { // some models say only that they thought
			m.transcript.FinishThinking(id, took)
		}
	case llm.Call:
		c := shownCall{id, transcript.Tool{Name: p.Name, Input: p.Input, Status: transcript.Lost, Output: llm.NoResult}}
		if p.Remote {
			c.tool.Status, c.tool.Output = transcript.Done, ""
			if n.Interrupted {
				c.tool.Status = transcript.Canceled
			}
		}
		r.calls[p.ID] = c
		m.transcript.Tool(id, c.tool)
	case llm.Result: // of a tool that the provider ran
		r.result(m, p, session.Outcome{})
	case llm.Source:
		m.transcript.Replace(id, transcript.Info, strings.TrimSpace("source: "+p.Text+" "+p.URL))
	case llm.Media:
		m.transcript.Replace(id, transcript.Info, fmt.Sprintf("%s, %d bytes", p.MIME, len(p.Data)))
	}
}

func (r *replayed) results(m *Model, n session.Node) {
	for _, p := range n.Parts {
		r.result(m, p, n.Results[p.ID])
	}
}

func (r *replayed) result(m *Model, p llm.Part, o session.Outcome) {
	c, ok := r.calls[p.ID]
	if !ok {
		return
	}
	c.tool.Output, c.tool.Diff, c.tool.Duration, c.tool.Status = p.Text, o.Diff, o.Duration, transcript.Done
	switch {
	case o.Denied:
		c.tool.Status = transcript.Denied
	case o.Stopped:
		c.tool.Status = transcript.Canceled
	case o.Started:
		c.tool.Status = transcript.Lost
	case p.Failed:
		c.tool.Status = transcript.Failed
	}
	m.transcript.Tool(c.id, c.tool)
}

// end closes a turn with its footer.
func (r *replayed) end(m *Model) {
	switch { // a comparison tells of it elsewhere, and a program that was killed nowhere
	case r.cut != nil && r.cut.InterruptedBy != "":
		m.transcript.AddError(r.cut.InterruptedBy, "")
	case r.cut != nil:
		m.transcript.Marker(transcript.Info, stopped)
	}
	r.tally.show(m, r.broken || r.cut != nil)
	*r = replayed{model: r.model, left: r.left}
}

// note shows a line of parley's own, and keeps it with the conversation.
func (m *Model) note(text string) { m.annotate(llm.Notice{Text: text}) }

// annotate shows an event of this front end, and keeps it with the conversation.
func (m *Model) annotate(e session.Event) {
	m.app.Session.Annotate(0, e)
	m.show(e)
}

// show shows an event that stays between the messages, as it comes and when the
// conversation is shown again.
func (m *Model) show(e session.Event) {
	m.shown = true
	switch e := e.(type) {
	case llm.Notice:
		m.transcript.Note(e.Text)
	case session.Fallback:
		m.transcript.Marker(transcript.Switch, fmt.Sprintf("%s: %s, going on with %s", e.From, words(e.Fault), e.To))
	case session.ModelSwitched: // and what the other model cannot be told
		text := fmt.Sprintf("model: %s → %s", e.From, e.To)
		for i, c := range e.Changes {
			text += []string{" · ", ", "}[min(i, 1)] + c.String()
		}
		m.transcript.Marker(transcript.Switch, text)
	case session.Compacted:
		m.transcript.Note(fmt.Sprintf("what was said takes about %s tokens of a request now, in place of %s", count(e.After), count(e.Before)))
	case session.ShellCommand:
		m.transcript.Tool(m.transcript.NewID(), shellTool(e))
	case session.DroppedCall:
		m.transcript.Tool(m.transcript.NewID(), transcript.Tool{Name: e.Name, Input: e.Input, Status: transcript.Canceled})
	case session.Done:
		if llm.Canceled(e.Err) {
			m.transcript.Marker(transcript.Info, stopped)
			return
		}
		m.transcript.AddError(e.Err.Error(), strings.TrimPrefix(app.Hint(e.Err)+" · "+m.keyOf("retry")+" tries again", " · "))
	}
}

// stored takes over the times that are stored of the answer seq: events may have
// waited for the screen.
func (t *turn) stored(m *Model, seq int) {
	n, err := m.app.Session.At(seq)
	if err != nil {
		return
	}
	t.tally.span(n.At, n.Duration)
	var ids []string
	for _, b := range t.order {
		if b.kind == llm.Thinking {
			ids = append(ids, b.id)
		}
	}
	for i, took := range n.ThinkingDurations {
		if len(ids) == len(n.ThinkingDurations) { // otherwise some are not stored
			m.transcript.FinishThinking(ids[i], took)
		}
	}
}
