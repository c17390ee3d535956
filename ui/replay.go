package ui

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/transcript"
)

// replay shows a conversation that was held before as it looked when it was.
func (m *Model) replay(path []session.Node) {
	m.shown = len(path) > 0
	var r replayed
	for i, n := range path {
		m.transcript.Tag(n.Seq)
		switch {
		case n.Summary:
			r.end(m)
			m.transcript.Summary(m.transcript.NewID(), summaryText(n), i)
		case n.Role == llm.RoleUser:
			r.end(m)
			text, attached := attach.Own(n.Message)
			m.transcript.User(text, labels(attached)...)
			if cmd := m.picture(attached); cmd != nil {
				m.loading = append(m.loading, cmd)
			}
		case n.Role == llm.RoleAssistant:
			r.answer(m, n)
		default:
			r.results(m, n)
		}
	}
	r.end(m)
	m.transcript.Tag(0)
	if n := len(path); n > 0 { // what has no whole answer can be answered
		last := path[n-1]
		m.failed = last.Cut || last.Role != llm.RoleAssistant && !last.Summary || last.Role == llm.RoleAssistant && last.Message.Empty()
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
	model  string // that wrote the last answer of all
	tally  tally
	calls  map[string]shownCall
	broken bool // the last answer is not whole

	stopped bool // the user stopped a call, and no answer followed
}

// A shownCall is a call that waits for its result.
type shownCall struct {
	id   string
	tool transcript.Tool
}

func (r *replayed) answer(m *Model, n session.Node) {
	if r.model != "" && n.Model != r.model {
		m.transcript.Marker(transcript.Switch, fmt.Sprintf("model: %s → %s", r.model, n.Model))
	}
	r.calls, r.stopped = map[string]shownCall{}, false
	thought := n.Thought
	for _, p := range n.Parts {
		id := m.transcript.NewID()
		switch p.Kind {
		case llm.Text:
			m.transcript.Answer(id, p.Text)
			m.transcript.AnswerDone(id)
		case llm.Thinking:
			var took time.Duration
			if len(thought) > 0 {
				took, thought = thought[0], thought[1:]
			}
			if p.Text != "" {
				m.transcript.Think(id, p.Text)
			}
			if p.Text != "" || n.Thought != nil { // some models say only that they thought
				m.transcript.ThoughtFor(id, took)
			}
		case llm.Call:
			c := shownCall{id, transcript.Tool{Name: p.Name, Input: p.Input, Status: transcript.Lost, Output: llm.NoResult}}
			if p.Remote {
				c.tool.Status, c.tool.Output = transcript.Done, ""
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
	switch {
	case n.Cut && n.Broke != "":
		m.transcript.Fail(n.Broke, "")
	case n.Cut:
		m.transcript.Marker(transcript.Info, stopped)
	}
	var usage llm.Usage
	if n.Usage != nil {
		usage = *n.Usage
	}
	r.tally.add(n.Message, usage, n.Reason, n.First, n.Took)
	r.model, r.broken = n.Model, n.Cut
	r.tally.span(n.At, n.Took)
}

func (r *replayed) results(m *Model, n session.Node) {
	for _, p := range n.Parts {
		r.stopped = r.stopped || n.Results[p.ID].Stopped
		r.result(m, p, n.Results[p.ID])
	}
}

func (r *replayed) result(m *Model, p llm.Part, o session.Outcome) {
	c, ok := r.calls[p.ID]
	if !ok {
		return
	}
	c.tool.Output, c.tool.Diff, c.tool.Took, c.tool.Status = p.Text, o.Diff, o.Took, transcript.Done
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
	if r.stopped {
		m.transcript.Marker(transcript.Info, stopped)
	}
	r.tally.show(m, r.broken || r.stopped)
	*r = replayed{model: r.model}
}
