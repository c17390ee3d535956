package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/session"
	"parley/ui/tui/composer"
)

// keepAfter is how long after a key the draft is written: what is typed in
// between is all that a crash can cost. For each megabyte it is as long again.
const keepAfter = 400 * time.Millisecond

// historyShown is how many prompts of the past the composer knows.
const historyShown = 1000

type (
	keepMsg struct{}
	pastMsg struct{ prompts []session.SentPrompt }
)

// draftKey names the draft: that of a conversation, or of the folder in which
// none has begun.
func (m *Model) draftKey() string {
	if len(m.app.Session.Path()) > 0 {
		return "session:" + m.app.Session.ID()
	}
	return "folder:" + m.app.Folder
}

// written notes that the draft changed, and has it kept soon.
func (m *Model) written() tea.Cmd {
	if m.drafted {
		return nil
	}
	m.drafted = true
	long := time.Duration(m.composer.Len() >> 20)
	return m.later(keepAfter*(1+long), keepMsg{})
}

// keepDraft writes the draft.
func (m *Model) keepDraft() tea.Cmd {
	if !m.drafted {
		return nil
	}
	text := m.composer.Value()
	save, of, estimate := m.draftSaver(text), m.weighed, m.app.Estimate
	return tea.Batch(func() tea.Msg { return weighedMsg{of, estimate(text)} }, func() tea.Msg {
		if err := save(); err != nil {
			return effectMsg{Err: err}
		}
		return nil
	})
}

// weighedMsg says about how many tokens a draft has, which takes a while for a
// long one.
type weighedMsg struct{ of, tokens int }

func (m *Model) weigh(msg weighedMsg) tea.Cmd {
	if msg.of == m.weighed { // it was not sent meanwhile
		m.unsent = msg.tokens
	}
	return nil
}

// draftSaver takes the draft as it is now, to be written by the call.
func (m *Model) draftSaver(text string) func() error {
	m.drafted = false
	m.weighed++
	d := session.Draft{Text: text, Cursor: len(text), Parts: m.app.Attached, At: m.now()}
	o, key := m.app, m.draftKey()
	m.draftAt = key
	ended := m.takeEndedShells()
	return func() error {
		err := o.KeepDraft(key, d)
		if err == nil {
			ended()
		}
		return err
	}
}

// takeEndedShells returns what takes back the records of typed commands whose
// output is attached, to be called once that is kept.
func (m *Model) takeEndedShells() func() {
	ended := m.endedShells
	m.endedShells = nil
	return func() {
		for _, end := range ended {
			end()
		}
	}
}

// sent forgets the draft that was just sent, and remembers the prompt as one: what
// it begins with does not run when it comes back.
func (m *Model) sent(text string) tea.Cmd {
	m.drafted, m.unsent = false, 0
	m.weighed++
	lib, key, past := m.app.Library, m.draftAt, session.SentPrompt{Text: composer.Plain(text), Dir: m.app.Folder, At: m.now()}
	if key == "" {
		key = m.draftKey()
	}
	m.draftAt = ""
	stored, ended := lib.AddPromptAsync(past), m.takeEndedShells()
	return func() tea.Msg {
		ended()
		if err := stored(); err != nil {
			return nil // the conversation holds it, and has its own way to say that the disk is full
		}
		_ = lib.SaveDraft(key, session.Draft{})
		return nil
	}
}

// recall brings back the draft of the conversation on the screen.
func (m *Model) recall() {
	key := m.draftKey()
	d, ok := m.app.Draft(key)
	m.drafted = false
	if !ok {
		if m.draftAt != "" {
			m.composer.Reset()
		}
		m.draftAt = ""
		return
	}
	m.draftAt = key
	m.app.Attached = append(m.app.Attached, d.Parts...)
	if strings.TrimSpace(d.Text) != "" {
		m.composer.SetValue(d.Text)
	}
}

// prompts fetches what was sent in the past.
func (m *Model) prompts() tea.Cmd {
	lib := m.app.Library
	return func() tea.Msg {
		past, err := lib.Prompts(historyShown)
		if err != nil {
			return nil
		}
		return pastMsg{past}
	}
}

func (m *Model) past(msg pastMsg) tea.Cmd {
	for _, p := range msg.prompts {
		m.composer.Remember(p.Text)
	}
	return nil
}
