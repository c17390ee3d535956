package composer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// An action is the effect of a key.
type action int

const (
	none action = iota
	submit
	newLine
	left
	right
	up
	down
	wordLeft
	wordRight
	home
	end
	textStart
	textEnd
	deleteLeft
	deleteRight
	killStart
	killEnd
	killWord
	killWordLeft
	killField
	yank
	undo
	searchBack
	cancel
	redo
	yankPop
	upper
	lower
	capital
	complete
)

// bindings returns the keys of each action in help order, with Bubble Tea's names:
// readline's keys, except those used elsewhere in parley. A binding without help belongs
// to the help row of the one above it. Unbound keys insert their text.
func bindings() []binding {
	return []binding{
		bind(submit, "send (while busy: with the next tool results)", "enter"),
		bind(newLine, "new line", "ctrl+j", "alt+enter", "shift+enter", `\ enter`), // two keys, which Send handles as a new line
		bind(up, "line up and down; at the edge, input history", "up"), bind(down, "", "down", "ctrl+n"),
		bind(searchBack, "search input history", "ctrl+r"),
		bind(complete, "complete a file or a command; open a paste", "tab"), // accepts a completion, else opens the chip at the cursor, else completes
		bind(cancel, "close a search or a completion", "esc", "ctrl+g"),
		bind(left, "move by character", "left", "ctrl+b"), bind(right, "", "right", "ctrl+f"),
		bind(wordLeft, "move by word", "alt+b", "ctrl+left", "alt+left"), bind(wordRight, "", "alt+f", "ctrl+right", "alt+right"),
		bind(home, "start and end of the line", "home", "ctrl+a"), bind(end, "", "end", "ctrl+e"),
		bind(textStart, "start and end of the text", "alt+<"), bind(textEnd, "", "alt+>"),
		bind(deleteLeft, "delete character left and right", "backspace", "shift+backspace", "ctrl+h"), bind(deleteRight, "", "delete", "ctrl+d"),
		bind(killWordLeft, "delete word left, to space, right", "alt+backspace", "ctrl+backspace"), // stops at punctuation; killField stops at spaces
		bind(killField, "", "ctrl+w"), bind(killWord, "", "alt+d", "alt+delete", "ctrl+delete"),
		bind(killStart, "delete to start and end of the line", "ctrl+u"), bind(killEnd, "", "ctrl+k"),
		bind(yank, "paste deleted text; earlier deletions", "ctrl+y"), bind(yankPop, "", "alt+y"),
		bind(undo, "undo (also ctrl+c); redo", "ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-"), bind(redo, "", "alt+/"),
		bind(upper, "uppercase, lowercase, capitalize", "alt+u"), bind(lower, "", "alt+l"), bind(capital, "", "alt+c"),
	}
}

// A binding holds the keys of an action, with their help row.
type binding struct {
	key.Binding
	do action
}

func bind(do action, help string, keys ...string) binding {
	return binding{key.NewBinding(key.WithKeys(keys...), key.WithHelp(strings.Join(keys, ", "), help)), do}
}

// Bindings lists the keys of the composer with their help: parley's own keys, and readline's.
func Bindings() (basic, readline [][2]string) {
	for _, b := range bindings() {
		rows := &readline
		if b.do <= newLine || b.do == complete {
			rows = &basic
		}
		switch h := b.Help(); h.Desc {
		case "":
			(*rows)[len(*rows)-1][0] += " / " + h.Key
		default:
			*rows = append(*rows, [2]string{h.Key, h.Desc})
		}
	}
	return basic, readline
}

// Keys returns the bound keys with their help.
func Keys() map[string]string {
	keys, help := map[string]string{}, ""
	for _, b := range bindings() {
		help = cmp.Or(b.Help().Desc, help)
		for _, name := range b.Keys() {
			keys[name] = help
		}
	}
	return keys
}

// keyActions maps each bound key to its action.
func keyActions() map[string]action {
	keys := map[string]action{}
	for _, b := range bindings() {
		for _, name := range b.Keys() {
			keys[name] = b.do
		}
	}
	return keys
}

// actionOf returns the action of a key. Two quick presses of esc arrive as alt+esc,
// because the bytes are the same; they count as esc.
func (m *Model) actionOf(key string) action {
	if do := m.keys[key]; do != none || key != "alt+esc" {
		return do
	}
	return m.keys["esc"]
}

// runAction executes an action.
func (m *Model) runAction(do action) tea.Cmd {
	switch do {
	case submit:
		m.Send()
	case newLine:
		m.editor.Insert("\n")
	case up:
		m.vertical(-1)
	case down:
		m.vertical(1)
	case yank:
		m.editor.yank()
	case yankPop:
		if m.lastAction == yank || m.lastAction == yankPop {
			m.editor.yankPop()
		}
	case undo:
		m.editor.Undo()
	case redo:
		m.editor.Redo()
	case upper, lower, capital:
		m.editor.changeCase(do)
	case complete:
		return m.completion.complete()
	case searchBack:
		m.Recall.startSearch()
	case deleteLeft, deleteRight:
		if i, j := m.editor.span(do); i < j {
			m.editor.Replace(i, j, nil)
		}
	case killStart, killEnd, killWord, killWordLeft, killField:
		i, j := m.editor.span(do)
		m.editor.kill(i, j, killStart <= m.lastAction && m.lastAction <= killField)
	default:
		m.editor.Cursor = m.editor.target(do)
	}
	return nil
}

// withCase returns word in the case that an action sets.
func withCase(word string, do action) string {
	switch do {
	case upper:
		return strings.ToUpper(word)
	case lower:
		return strings.ToLower(word)
	}
	_, n := utf8.DecodeRuneInString(word)
	return strings.ToUpper(word[:n]) + strings.ToLower(word[n:])
}

// changeCase changes the case of the word to the right.
func (m *editor) changeCase(do action) {
	end := m.wordRight(IsWord)
	start := m.Cursor
	for start < end && (!IsWord(m.Units[start]) || m.Units[start].Kind == KindChip) {
		start++
	}
	if slices.ContainsFunc(m.Units[start:end], func(u Unit) bool { return u.Kind == KindChip }) || start == end {
		m.Cursor = end
		return
	}
	m.Replace(start, end, Split(withCase(text(m.Units[start:end]), do)))
}

// target returns the target of a movement.
func (m *editor) target(do action) int {
	switch do {
	case left, deleteLeft:
		return m.left()
	case right, deleteRight:
		return m.right()
	case wordLeft, killWordLeft:
		return m.wordLeft(IsWord)
	case wordRight, killWord:
		return m.wordRight(IsWord)
	case home, killStart:
		return m.LineStart(m.Cursor)
	case end, killEnd:
		return m.LineEnd(m.Cursor)
	case killField:
		return m.wordLeft(isField)
	case textStart:
		return 0
	case textEnd:
		return len(m.Units)
	}
	return m.Cursor
}

// span returns the units that a deletion removes: from the cursor to the target of
// the corresponding movement. At the end of a line, killing to the end removes the
// line end.
func (m *editor) span(do action) (i, j int) {
	to := m.target(do)
	if do == killEnd && to == m.Cursor {
		to = m.right()
	}
	return min(m.Cursor, to), max(m.Cursor, to)
}

// vertical moves by screen rows, and past the first or last row through the history.
func (m *Model) vertical(by int) {
	if by < 0 && m.Empty() && len(m.Queue.queue) > 0 && m.Recall.history.steps == 0 {
		m.Queue.pickedPrompt = len(m.Queue.queue) - 1
		return
	}
	m.layOut()
	r := m.editor.rowOf(m.editor.Cursor) + by
	if r < 0 || r >= len(m.editor.rows) {
		m.Recall.stepHistory(by)
		return
	}
	if m.goalColumn < 0 {
		m.goalColumn = m.editor.column(m.editor.Units, m.editor.Cursor)
	}
	m.editor.Cursor = m.editor.index(m.editor.Units, r, m.goalColumn)
}
