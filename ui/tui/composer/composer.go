// Package composer is the input in which a prompt is written: many lines,
// readline's keys or vim's, history and reverse search, completion, a queue.
//
//	keys, pastes ──► buffer of units ──► layout in rows ──► View
//	                   │        ▲
//	       SubmitMsg ◄─┘        └── Completer, by way of CompletedMsg
//
// The unit is the grapheme cluster, so that an emoji of five runes is one step
// of the cursor. Pastes never submit, nor does what comes on their heels; large
// ones become a chip such as [pasted 42 lines], a single unit that Value expands
// and tab opens. A key costs what it changes, not what the prompt is long. The
// prompt sign is the parent's to draw, next to SignRow.
package composer

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// SubmitMsg reports that the prompt was sent. The composer is empty again, and the
// prompt in its history.
type SubmitMsg struct {
	Text  string
	Typed string // the same without what large pastes hold
	Shell bool   // it is a line for the shell: it was written behind a !, which is left out
	Plain bool   // it begins with a large paste, which is never a command
}

// A Model is the composer. It starts empty, focused, and one row high.
type Model struct {
	Now func() time.Time // time.Now, unless it is set

	buffer
	layout
	keys   map[string]action
	past   history
	stash  []draft   // set aside, the latest last
	search *search   // nil unless ctrl+r is on
	offer  *offer    // what the word may become; nil if nobody asked
	vim    *vim      // nil unless it is on
	last   action    // of the key before this one; kills in a row add up
	goal   int       // column that up and down try to keep; -1 for none
	pasted time.Time // when the last paste ended, with the keys on its heels

	completer Completer
	queue     []string // prompts that wait to be sent
	picked    int      // the one that is chosen; -1 for none

	theme                  *theme.Theme
	plain, special, marked pen
	width, height          int // outer width; the most rows
	top                    int // first visible row of text
	placeholder            string
	focused                bool
	view                   string // of the last View; "" if something changed
}

// New makes an empty composer with the default keys.
func New(th *theme.Theme) *Model {
	m := &Model{Now: time.Now, width: 80, height: 1, focused: true, goal: -1, picked: -1}
	m.SetTheme(th)
	m.SetKeys(DefaultKeys())
	return m
}

// SetSize gives the composer its width and the most rows it may grow to.
func (m *Model) SetSize(width, maxHeight int) {
	m.width, m.height = max(width, 1), max(maxHeight, 1)
	m.view = ""
}

// SetTheme changes the looks.
func (m *Model) SetTheme(th *theme.Theme) {
	m.theme, m.view = th, ""
	m.plain, m.special, m.marked = newPen(th.Text), newPen(th.Accent), newPen(th.Text.Reverse(true))
}

// SetPlaceholder sets what an empty composer shows.
func (m *Model) SetPlaceholder(s string) { m.placeholder, m.view = sanitize.Line(s), "" }

// Focus makes the composer take keys and show a cursor, or not.
func (m *Model) Focus(on bool) { m.focused, m.view = on, "" }

// Empty reports whether nothing is written.
func (m *Model) Empty() bool { return len(m.units) == 0 }

// Searching reports whether a reverse search is on, which esc ends.
func (m *Model) Searching() bool { return m.search != nil }

// Escapes reports whether esc means something to the composer at the moment: it
// leaves a search, a list, or one of vim's modes.
func (m *Model) Escapes() bool {
	return m.search != nil || m.offered() || m.picked >= 0 || m.vim != nil && m.vim.escapes()
}

// Shell reports whether what is written is a line for the shell. A space in
// front of the ! makes it a prompt.
func (m *Model) Shell() bool {
	return len(m.units) > 0 && m.units[0].kind == char && m.units[0].text == "!"
}

// Insert writes s at the cursor, as if it had been typed.
func (m *Model) Insert(s string) {
	m.stopSearch(true)
	m.insert(normal(s))
	m.start()
}

// Reset empties the composer and forgets its undos.
func (m *Model) Reset() {
	m.stopSearch(false)
	m.load(nil, 0)
	m.forget()
	m.past.leave()
	m.start()
	if m.vim != nil {
		m.vim.enter(m)
	}
}

// Clear empties the composer. The draft goes to the history, and undo brings
// it back as it was.
func (m *Model) Clear() {
	m.stopSearch(false)
	m.settle()
	if !m.Empty() {
		m.set(nil)
	}
	m.start()
}

// start forgets what keys and lists were about, as the text is another one.
func (m *Model) start() {
	m.last, m.goal, m.picked, m.offer = none, -1, -1, nil
	m.changed()
}

// Update takes keys and pastes, if the composer has the focus, and answers of
// the Completer.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(CompletedMsg); ok {
		return m.completed(msg)
	}
	if !m.focused {
		return nil
	}
	switch msg := msg.(type) {
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return nil
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	do := m.bound(msg.String())
	hurried := m.hurried()
	if hurried && do == submit {
		do = newLine
	}
	if m.search != nil && !m.searchKey(do, msg) {
		m.last = none
		return nil
	}
	if do != up && do != down && (m.vim == nil || !m.vim.steps(msg.Text)) {
		m.goal = -1
	}
	cmd, done := m.modal(do, msg)
	if !done {
		if do == none && msg.Text == "" {
			return nil
		}
		if do == none {
			m.insert(normal(msg.Text))
		}
		cmd = m.act(do)
		switch {
		case do == none && m.offer == nil && !hurried:
			m.noticed(msg.Text)
		case !offers[do]:
			m.offer = nil
		}
	}
	m.last = do
	m.changed()
	return tea.Batch(cmd, m.follow())
}

// modal lets the lists and vim have a key first, and reports whether it was
// theirs.
func (m *Model) modal(do action, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	if m.offer != nil {
		cmd, done = m.offerKey(do)
	}
	if !done && m.picked >= 0 {
		cmd, done = m.queueKey(do)
	}
	if !done && m.vim != nil {
		if cmd, done = m.vim.key(m, do, msg); done && do != complete {
			m.offer = nil
		}
	}
	return cmd, done
}

// offers lists the actions that leave the list of completions open.
var offers = map[action]bool{none: true, deleteLeft: true, killWordLeft: true, killField: true, complete: true}

// heels sets how soon behind a paste a key cannot come from a user: a paste that
// holds the sequence which ends pastes would send itself.
const heels = 50 * time.Millisecond

// hurried reports whether a key that comes now is on the heels of a paste, or of
// another key that was.
func (m *Model) hurried() bool {
	now := m.Now()
	if m.pasted.IsZero() || now.Sub(m.pasted) >= heels {
		return false
	}
	m.pasted = now
	return true
}

func (m *Model) paste(content string) {
	m.pasted = m.Now()
	if content == "" {
		return
	}
	m.stopSearch(true)
	content = normal(content)
	m.part()
	if isLarge(content) {
		m.replace(m.cur, m.cur, []unit{newChip(content)})
	} else {
		m.insert(content)
	}
	m.part()
	m.start()
}

// submit sends the prompt; a backslash before the cursor makes it a new line
// instead. There is nothing to send in a prompt of white space.
func (m *Model) submit() tea.Cmd {
	if m.cur > 0 && m.units[m.cur-1].text == `\` {
		m.replace(m.cur-1, m.cur, split("\n"))
		return nil
	}
	msg := SubmitMsg{Text: whole(m.units), Typed: typed(m.units), Shell: m.Shell(), Plain: begun(m.units)}
	if msg.Shell {
		msg.Text, msg.Typed = msg.Text[1:], msg.Typed[1:]
	}
	if strings.TrimSpace(msg.Text) == "" {
		return nil
	}
	m.settle()
	m.Reset()
	return func() tea.Msg { return msg }
}

// changed drops the view that was kept.
func (m *Model) changed() { m.view = "" }
