package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
)

// news shows what happened since the last frame.
func (m *Model) news(msg newsMsg) tea.Cmd {
	if msg.from != m.chat.pump {
		return nil // of a turn that is over
	}
	began := time.Now()
	var cmds []tea.Cmd
	for _, e := range msg.from.take() {
		cmds = append(cmds, m.event(e))
	}
	msg.from.took(time.Since(began), m.frame())
	return tea.Batch(cmds...)
}

// event shows an event of the turn, and does what else follows from it.
func (m *Model) event(e session.Event) tea.Cmd {
	if m.chat.turn == nil {
		return nil
	}
	switch e := e.(type) {
	case session.Prompt:
		m.composer.SetQueue(m.queuedTexts())
		m.layout()
	case session.Done:
		return m.done(e)
	}
	m.chat.apply(e, m.now(), nil)
	switch e := e.(type) {
	case session.ApprovalRequest:
		m.chat.asks = append(m.chat.asks, e)
		return tea.Batch(m.askNext(), m.notify("may it run? "+e.Action.Title))
	case session.CandidateEvent:
		if c, ok := m.dialog.(*comparison); ok {
			c.take(e, m.now())
		}
	}
	return nil
}

// waitOn gives a silent model as much time again as it had.
func (m *Model) waitOn(string) tea.Cmd {
	m.chat.wait(m.now())
	return m.say("Waiting")
}

// askNext opens the approval of the next call that waits for one.
func (m *Model) askNext() tea.Cmd {
	if m.dialog != nil || len(m.chat.asks) == 0 {
		return nil // what is open first is answered first
	}
	ask := m.chat.asks[0]
	m.chat.asking = m.chat.transcript.NewID() // of the question: calls may share an id
	approval := dialog.Approve(m.chat.asking, ask.Action, m.now(), m.theme)
	approval.Now, approval.Workspace, approval.Editor = m.now, m.app.Workspace, composer.New(m.theme)
	return m.open(approval)
}

// paintSoon tells an approval, once the frame with it has reached the terminal,
// that it was seen: what is typed before does not allow anything.
func (m *Model) paintSoon() tea.Cmd {
	if _, ok := m.dialog.(painter); !ok {
		return nil
	}
	const twoFrames = 20 * time.Millisecond
	return m.later(twoFrames, paintedMsg{})
}

func (m *Model) painted() tea.Cmd {
	if a, ok := m.dialog.(painter); ok {
		return a.Drawn(m.now())
	}
	return nil
}

// A painter is a dialog that counts only what was seen.
type painter interface {
	Drawn(now time.Time) tea.Cmd
}

var (
	_ painter = (*dialog.Approval)(nil)
	_ painter = (*dialog.Confirmation)(nil)
)

// done ends the turn on the screen.
func (m *Model) done(d session.Done) (cmd tea.Cmd) {
	c, compares := m.dialog.(*comparison)
	if compares {
		c.end()
		if c.wanted >= 0 {
			defer func() { cmd = tea.Batch(cmd, m.compared(comparedMsg{c.wanted})) }()
		}
	}
	m.chat.failed = false
	m.chat.apply(d, m.now(), func(b app.Change) bool { // those that are compared have it each in its column
		return b.Kind == app.EventBlock && compares && c.told()
	})
	m.chat.turn, m.chat.asks, m.chat.failed = nil, nil, m.chat.failed || d.Err != nil
	if _, ok := m.dialog.(*dialog.Approval); ok {
		m.dialog = nil
	}
	if d.Err != nil { // what waited goes back to where it can be changed
		m.unqueue("")
	}
	m.layout()
	m.composer.SetQueue(m.queuedTexts())
	again := m.compacting
	m.compacting = false
	switch {
	case again && d.Err == nil:
		return m.run()
	case !again && llm.FaultOf(d.Err) == llm.ContextOverflow && m.dialog == nil:
		return m.offerSummary()
	}
	if m.app.Session.QueueLen() > 0 { // queued after the turn's last look
		return m.next()
	}
	if d.Err == nil {
		return tea.Batch(m.name(), m.notify("answered: "+m.app.Session.Title()))
	}
	return m.notify("stopped: " + d.Err.Error())
}

// name has the conversation named, where a model for that is configured.
func (m *Model) name() tea.Cmd {
	s := m.app.Session
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.GenerateTitle(ctx); err != nil {
			return effectMsg{Err: err}
		}
		return nil
	}
}

// next sends the first of the messages that wait.
func (m *Model) next() tea.Cmd {
	waiting := m.app.Session.Unqueue()
	for _, later := range waiting[1:] {
		m.app.Session.Queue(later.Parts...)
	}
	return m.run(waiting[0].Parts...)
}

// note shows a line of parley's own, and keeps it with the conversation.
func (m *Model) note(text string) { m.annotate(llm.Notice{Text: text}) }

// annotate shows an event of this front end, and keeps it with the conversation.
func (m *Model) annotate(e session.Event) {
	m.app.Session.Annotate(0, e)
	m.chat.show(e)
}
