// Package composer is the input for writing a prompt: many lines, readline's
// keys or vi's, history and reverse search, completion, a queue.
//
//	keys, pastes ──► buffer of units ──► layout in rows ──► View
//	                   │        ▲
//	 TakeSubmitted ◄─┘          └── Completer, by way of CompletedMsg
//
// The unit is the grapheme cluster, so that the cursor passes an emoji of five runes
// in one step. Pastes never submit, nor do keys right after them. A large paste
// becomes a chip such as [pasted 42 lines], a single unit that Value expands and tab
// opens. The parent draws a background from PromptRow on.
package composer

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// A Submission is a sent prompt. The composer is empty again, and the prompt is in its history.
type Submission struct {
	Text  string
	Typed string // Text without the content of large pastes
	Shell bool   // a shell line: it was written after a !, which is left out
	Plain bool   // the prompt begins with a large paste, so it is never a command
	Later bool   // send after the answer, not with the next tool results

	Requeued bool // the prompt was taken from the queue for editing, and returns to its place
}

// A Model is the composer. It starts empty, focused, and one row high. Its parts share an editor.
type Model struct {
	Now    func() time.Time // clock; New sets time.Now
	Recall *Recall
	Queue  *Queue

	editor     *editor
	completion *completion
	keys       map[string]action
	modal      Modal     // nil if there are no modes
	lastAction action    // of the previous key; consecutive kills add up
	goalColumn int       // column that up and down try to keep; -1 for none
	lastPaste  time.Time // when the last paste, including keys right after it, ended
	focused    bool
	submitted  []Submission
}

// An editor is text with a cursor, laid out in rows; the window shows some of them.
type editor struct {
	Buffer
	layout

	theme                            *theme.Theme
	textSGR, accentSGR, selectionSGR theme.SGR
	width, height                    int // outer width; maximum number of rows
	textRows                         int // maximum number of rows of text; 0 for any
	top                              int // first visible row of text
	placeholder                      string
}

// A Recall restores earlier text: history, search in it, and stash.
type Recall struct {
	editor  *editor
	history history
	search  *search     // nil if no reverse search is open
	stash   []savedText // drafts set aside, latest last
	swapped func()      // called when another draft replaced the text
}

// A completion offers completions of the word at the cursor.
type completion struct {
	editor    *editor
	completer Completer
	menu      *menu  // nil if closed
	submit    func() // sends the prompt
}

// A Queue shows the prompts waiting to be sent.
type Queue struct {
	editor       *editor
	queue        []string
	steerCount   int  // number of prompts, from the first, to be sent within the turn
	pickedPrompt int  // index of the selected prompt; -1 for none
	requeued     bool // the text was taken from the queue
}

// New returns an empty composer with the default keys.
func New(th *theme.Theme) *Model {
	e := &editor{width: 80, height: 1}
	m := &Model{Now: time.Now, editor: e, keys: keyActions(), focused: true, goalColumn: -1}
	m.Recall = &Recall{editor: e, swapped: m.resetTransient}
	m.completion = &completion{editor: e, submit: m.Send}
	m.Queue = &Queue{editor: e, pickedPrompt: -1}
	m.SetTheme(th)
	return m
}

// SetSize sets the width and the maximum number of rows.
func (m *Model) SetSize(width, maxHeight int) {
	e := m.editor
	e.width, e.height = max(width, 1), max(maxHeight, 1)
}

// SetTextRows sets the maximum number of rows of text; 0 is as many as SetSize leaves.
func (m *Model) SetTextRows(most int) {
	m.editor.textRows = most
}

// SetTheme sets the theme.
func (m *Model) SetTheme(th *theme.Theme) {
	e := m.editor
	e.theme = th
	e.textSGR, e.accentSGR, e.selectionSGR = theme.NewSGR(th.Text), theme.NewSGR(th.Accent), theme.NewSGR(th.Text.Reverse(true))
}

// SetPlaceholder sets the text shown while the composer is empty.
func (m *Model) SetPlaceholder(s string) { m.editor.placeholder = sanitize.Line(s) }

// SetCompleter sets the function that completes words; nil turns completion off.
func (m *Model) SetCompleter(c Completer) { m.completion.completer, m.completion.menu = c, nil }

// Empty reports whether the composer has no text.
func (m *Model) Empty() bool { return m.editor.isEmpty() }

// WritesPrompt reports whether the text begins as a prompt, not as a command or a shell line.
func (m *Model) WritesPrompt() bool {
	return !m.Empty() && !strings.HasPrefix(m.editor.Units[0].Text, "/") && !strings.HasPrefix(m.editor.Units[0].Text, "!")
}

// Value returns the prompt with chips expanded and without control characters.
// SetValue of the result has the same meaning: a chip that would begin a command gets
// a leading space.
func (m *Model) Value() string { return value(m.editor.Units) }

// Changes counts the changes of the text.
func (m *Model) Changes() int { return m.editor.changes }

// Shell reports whether the text is a shell line. A space before the ! makes it
// a prompt.
func (m *Model) Shell() bool {
	units := m.editor.Units
	return len(units) > 0 && units[0].Kind == kindChar && units[0].Text == "!"
}

// Focus sets whether the composer handles keys and shows a cursor.
func (m *Model) Focus(on bool) { m.focused = on }

// isEmpty reports whether there is no text.
func (m *editor) isEmpty() bool { return len(m.Units) == 0 }

// Searching reports whether a reverse search is open, which esc closes.
func (m *Recall) Searching() bool { return m.search != nil }

// HandlesEsc reports whether esc has an effect in the composer now: it closes a
// search, a list, or a mode.
func (m *Model) HandlesEsc() bool {
	return m.Recall.search != nil || m.completion.menuOpen() || m.Queue.pickedPrompt >= 0 || m.modal != nil && m.modal.HandlesEsc()
}

// Reset empties the composer and its undo list.
func (m *Model) Reset() {
	m.Recall.stopSearch(false)
	m.editor.load(nil, 0)
	m.editor.undos, m.editor.redos, m.editor.undoUnits = nil, nil, 0
	m.Recall.history.reset()
	m.resetTransient()
	if m.modal != nil {
		m.modal.Insert()
	}
}

// Clear empties the composer. The draft goes to the history. Undo restores it
// with its chips.
func (m *Model) Clear() {
	m.Recall.stopSearch(false)
	m.Recall.CommitHistory(m.Value())
	if !m.Empty() {
		m.editor.set(nil)
	}
	m.resetTransient()
}

// resetTransient resets the state of keys and lists after the text was replaced.
func (m *Model) resetTransient() {
	m.lastAction, m.goalColumn, m.Queue.pickedPrompt, m.completion.menu = none, -1, -1, nil
	m.Queue.requeued = m.Queue.requeued && !m.Empty()
}

// Update handles keys and pastes, if the composer has the focus, and answers of
// the Completer.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(CompletedMsg); ok {
		return m.completion.onCompleted(msg)
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
	do := m.actionOf(msg.String())
	afterPaste := m.afterPaste()
	if afterPaste && do == submit {
		do = newLine
	}
	if m.Recall.search != nil && !m.Recall.searchKey(do, msg) {
		m.lastAction = none
		return nil
	}
	if do != up && do != down && (m.modal == nil || !m.modal.KeepsColumn(msg.Text)) {
		m.goalColumn = -1
	}
	cmd, done := m.handleModal(do, msg)
	if !done {
		if do == none && msg.Text == "" {
			return nil
		}
		if do == none {
			m.editor.Insert(normalize(msg.Text))
		}
		cmd = m.runAction(do)
		switch {
		case do == none && m.completion.menu == nil && !afterPaste:
			m.completion.onTyped(msg.Text)
		case !slices.Contains(keepsMenu, do):
			m.completion.menu = nil
		}
	}
	m.lastAction = do
	m.Queue.requeued = m.Queue.requeued && !m.Empty()
	return tea.Batch(cmd, m.completion.updateMenu())
}

// handleModal passes a key to the menu, the queue and the modes, and reports whether one of them
// handled it.
func (m *Model) handleModal(do action, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	if m.completion.menu != nil {
		if cmd, done = m.completion.menuKey(do); do == cancel {
			done = done && m.modal == nil // esc also changes the mode
		}
	}
	if !done && m.Queue.pickedPrompt >= 0 {
		cmd, done = m.Queue.queueKey(do)
	}
	if !done && m.modal != nil {
		if cmd, done = m.modalKey(do, msg); done && do != complete {
			m.completion.menu = nil
		}
	}
	return cmd, done
}

// keepsMenu lists the actions that keep the list of completions open.
var keepsMenu = []action{none, deleteLeft, killWordLeft, killField, complete}

// pasteGuard is how soon after a paste a key cannot come from the user: a paste that contains
// the sequence that ends pastes would otherwise submit itself. On a busy machine or a slow line
// such keys arrive with pauses. A paste takes pasteTime per MB.
const (
	pasteGuard = 120 * time.Millisecond
	pasteTime  = 50 * time.Millisecond
)

// afterPaste reports whether a key comes within pasteGuard after a paste, or after another such key.
func (m *Model) afterPaste() bool {
	now := m.Now()
	if m.lastPaste.IsZero() || now.Sub(m.lastPaste) >= pasteGuard {
		return false
	}
	if now.After(m.lastPaste) {
		m.lastPaste = now
	}
	return true
}

// guardPaste sets the end of a paste of n bytes. A large paste ends later, because
// counting, saving and drawing it delays the keys after it.
func (m *Model) guardPaste(n int) { m.lastPaste = m.Now().Add(time.Duration(n>>20) * pasteTime) }

func (m *Model) paste(content string) {
	defer m.guardPaste(len(content))
	if content == "" {
		return
	}
	m.Recall.stopSearch(true)
	content = normalize(content)
	m.editor.splitUndo()
	if isLargePaste(content) {
		m.editor.Replace(m.editor.Cursor, m.editor.Cursor, []Unit{newChip(content)})
	} else {
		units := Split(content)
		for i := range units {
			units[i].pasted = true
		}
		m.editor.Replace(m.editor.Cursor, m.editor.Cursor, units)
	}
	m.editor.splitUndo()
	m.resetTransient()
}

// TakeSubmitted returns the prompts sent since the last call, oldest first. The parent
// calls it after each Update. A message instead would arrive after the keys that follow
// enter, which may be for a dialog that the prompt opens, and two messages might arrive
// in the wrong order.
func (m *Model) TakeSubmitted() []Submission {
	sent := m.submitted
	m.submitted = nil
	return sent
}

// Send sends the prompt. If a backslash precedes the cursor, it is replaced by
// a new line instead. A prompt of white space is not sent.
func (m *Model) Send() { m.sendWith(false) }

// SendLater sends the prompt, to follow the current answer.
func (m *Model) SendLater() { m.sendWith(true) }

func (m *Model) sendWith(later bool) {
	if m.editor.Cursor > 0 && m.editor.Units[m.editor.Cursor-1].Text == `\` {
		m.editor.Replace(m.editor.Cursor-1, m.editor.Cursor, Split("\n"))
		return
	}
	msg := Submission{Text: promptText(m.editor.Units), Typed: textWithoutChips(m.editor.Units), Shell: m.Shell(), Plain: startsWithChip(m.editor.Units), Later: later, Requeued: m.Queue.requeued}
	if msg.Shell {
		msg.Text, msg.Typed = msg.Text[1:], msg.Typed[1:]
	}
	if strings.TrimSpace(msg.Text) == "" {
		return
	}
	m.Recall.CommitHistory(m.Value())
	m.Reset()
	m.submitted = append(m.submitted, msg)
}
