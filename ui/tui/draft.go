package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
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

// drafts is what is known of the draft beside its text.
type drafts struct {
	changed bool   // since it was stored
	key     string // under which it was; "" if it was not
	tokens  int    // about how many it has
	version int    // counts those whose tokens were to be counted, or that were sent
}

// draftKey names the draft: that of a conversation, or of the directory in which
// none has begun.
func (m *Model) draftKey() string {
	if len(m.app.Session.Path()) > 0 {
		return "session:" + m.app.Session.ID()
	}
	return "folder:" + m.app.Folder
}

// written notes that the draft changed, and has it kept soon.
func (m *Model) written() tea.Cmd {
	if m.drafts.changed {
		return nil
	}
	m.drafts.changed = true
	long := time.Duration(m.composer.Len() >> 20)
	return m.later(keepAfter*(1+long), keepMsg{})
}

// keepDraft writes the draft.
func (m *Model) keepDraft() tea.Cmd {
	if !m.drafts.changed {
		return nil
	}
	text := m.composer.Value()
	save, of, estimate := m.draftSaver(text), m.drafts.version, m.app.Estimate
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
	if msg.of == m.drafts.version { // it was not sent meanwhile
		m.drafts.tokens = msg.tokens
	}
	return nil
}

// draftSaver takes the draft as it is now, to be written by the call.
func (m *Model) draftSaver(text string) func() error {
	m.drafts.changed = false
	m.drafts.version++
	d := session.Draft{Text: text, Cursor: len(text), Parts: m.app.Attached, At: m.now()}
	o, key := m.app, m.draftKey()
	m.drafts.key = key
	ended := m.shells.takeEnded()
	return func() error {
		err := o.KeepDraft(key, d)
		if err == nil {
			ended()
		}
		return err
	}
}

// sent forgets the draft that was just sent, and remembers the prompt as one: what
// it begins with does not run when it comes back.
func (m *Model) sent(text string) tea.Cmd {
	m.drafts.changed, m.drafts.tokens = false, 0
	m.drafts.version++
	lib, key, past := m.app.Library, m.drafts.key, session.SentPrompt{Text: composer.Plain(text), Dir: m.app.Folder, At: m.now()}
	if key == "" {
		key = m.draftKey()
	}
	m.drafts.key = ""
	stored, ended := lib.AddPromptAsync(past), m.shells.takeEnded()
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
	m.drafts.changed = false
	if !ok {
		if m.drafts.key != "" {
			m.composer.Reset()
		}
		m.drafts.key = ""
		return
	}
	m.drafts.key = key
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

// What follows is about what is not sent yet: queued, put aside, taken back.

// unqueue puts what waits to be sent back into the composer.
func (m *Model) unqueue(string) tea.Cmd {
	waiting := m.app.Session.Unqueue()
	for i := range waiting {
		m.takeBack(waiting[len(waiting)-1-i])
	}
	m.composer.SetQueue(nil)
	m.layout()
	return nil
}

// unqueueAt takes one queued prompt back, to be edited or to be dropped.
func (m *Model) unqueueAt(msg composer.UnqueueMsg) tea.Cmd {
	for i, waiting := range m.app.Session.Queued() {
		text, _ := attach.SplitMessage(waiting)
		if i != msg.Index || text != msg.Text {
			continue
		}
		if taken, ok := m.app.Session.UnqueueAt(i, waiting.Text()); ok && msg.Edit {
			m.takeBack(taken)
		}
	}
	m.composer.SetQueue(m.queuedTexts())
	m.layout()
	return nil
}

// queuedTexts is what waits to be sent.
func (m *Model) queuedTexts() []string {
	var texts []string
	for _, waiting := range m.app.Session.Queued() {
		text, _ := attach.SplitMessage(waiting)
		texts = append(texts, text)
	}
	return texts
}

// stash puts the draft aside, or brings back what was.
func (m *Model) stash(string) tea.Cmd {
	defer m.layout()
	if m.composer.Empty() {
		if !m.composer.Unstash() {
			return m.say("nothing was put aside")
		}
		return m.written()
	}
	m.rememberDraft()
	m.composer.Stash()
	return tea.Batch(m.written(), m.say("put aside: "+m.keymap.keyOf("stash")+" on an empty line brings it back"))
}

// takeBack makes a message of the user's a draft again, attachments included.
func (m *Model) takeBack(msg llm.Message) {
	text, attached := attach.SplitMessage(msg)
	m.app.Attached = append(m.app.Attached, attached...)
	m.draft(text)
}
