package composer

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Keys binds what the composer can do to keys, by the names Bubble Tea gives
// them, such as "ctrl+a". Keys that are bound to nothing write their text.
type Keys struct {
	Submit, Newline                               []string
	Left, Right, Up, Down                         []string
	WordLeft, WordRight, Home, End, Start, Finish []string // Home and End of the line; Start and Fin of the text
	DeleteLeft, DeleteRight                       []string
	KillStart, KillEnd, KillWord, KillWordLeft    []string // KillWord to the right; KillWordLeft stops at punctuation, KillField at spaces
	KillField, Yank, Undo                         []string
	Search, Cancel                                []string // reverse search, and leaving it or a list
	Redo, YankPop                                 []string
	Upper, Lower, Capital                         []string // of the word to the right
	Complete                                      []string // takes a completion, else opens the chip at the cursor, else asks for completions
}

// DefaultKeys returns readline's, as far as the rest of parley leaves them alone.
func DefaultKeys() Keys {
	return Keys{
		Submit: []string{"enter"}, Newline: []string{"ctrl+j", "alt+enter", "shift+enter"},
		Left: []string{"left", "ctrl+b"}, Right: []string{"right", "ctrl+f"},
		Up: []string{"up"}, Down: []string{"down", "ctrl+n"},
		WordLeft: []string{"alt+b", "ctrl+left", "alt+left"}, WordRight: []string{"alt+f", "ctrl+right", "alt+right"},
		Home: []string{"home", "ctrl+a"}, End: []string{"end", "ctrl+e"},
		Start: []string{"alt+<"}, Finish: []string{"alt+>"},
		DeleteLeft: []string{"backspace", "shift+backspace", "ctrl+h"}, DeleteRight: []string{"delete", "ctrl+d"},
		KillStart: []string{"ctrl+u"}, KillEnd: []string{"ctrl+k"},
		KillWord: []string{"alt+d", "alt+delete", "ctrl+delete"}, KillWordLeft: []string{"alt+backspace", "ctrl+backspace"},
		KillField: []string{"ctrl+w"}, Yank: []string{"ctrl+y"},
		Undo:   []string{"ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-"},
		Search: []string{"ctrl+r"}, Cancel: []string{"esc", "ctrl+g"},
		Redo: []string{"alt+/"}, YankPop: []string{"alt+y"},
		Upper: []string{"alt+u"}, Lower: []string{"alt+l"}, Capital: []string{"alt+c"},
		Complete: []string{"tab"},
	}
}

// An action is what a key does. They stand in the order of the fields of Keys.
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
	start
	finish
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

// actionOf returns what a key does. Two quick presses of esc arrive as alt+esc, since
// that is the same two bytes; they mean esc.
func (m *Model) actionOf(key string) action {
	if do := m.keys[key]; do != none || key != "alt+esc" {
		return do
	}
	return m.keys["esc"]
}

// SetKeys binds anew. Of two actions on one key, the later field wins.
func (m *Model) SetKeys(k Keys) {
	m.keys = map[string]action{}
	fields := reflect.ValueOf(k)
	for i := range fields.NumField() {
		for _, name := range fields.Field(i).Interface().([]string) {
			m.keys[name] = submit + action(i)
		}
	}
}

// runAction carries an action out.
func (m *Model) runAction(do action) tea.Cmd {
	switch do {
	case submit:
		return m.send()
	case newLine:
		m.insert("\n")
	case up:
		m.vertical(-1)
	case down:
		m.vertical(1)
	case yank:
		m.yank()
	case yankPop:
		if m.lastAction == yank || m.lastAction == yankPop {
			m.yankPop()
		}
	case undo:
		m.undo()
	case redo:
		m.redo()
	case upper, lower, capital:
		m.changeCase(do)
	case complete:
		return m.complete()
	case searchBack:
		m.startSearch()
	case deleteLeft, deleteRight:
		if i, j := m.span(do); i < j {
			m.replace(i, j, nil)
		}
	case killStart, killEnd, killWord, killWordLeft, killField:
		i, j := m.span(do)
		m.kill(i, j, killStart <= m.lastAction && m.lastAction <= killField)
	default:
		m.cur = m.target(do)
	}
	return nil
}

// caseChanges lists the ways to write a word.
var caseChanges = map[action]func(string) string{
	upper: strings.ToUpper,
	lower: strings.ToLower,
	capital: func(word string) string {
		_, n := utf8.DecodeRuneInString(word)
		return strings.ToUpper(word[:n]) + strings.ToLower(word[n:])
	},
}

// changeCase writes the word to the right another way.
func (m *editor) changeCase(do action) {
	end := m.wordRight(isWord)
	start := m.cur
	for start < end && (!isWord(m.units[start]) || m.units[start].kind == kindChip) {
		start++
	}
	if slices.ContainsFunc(m.units[start:end], func(u unit) bool { return u.kind == kindChip }) || start == end {
		m.cur = end
		return
	}
	m.replace(start, end, split(caseChanges[do](text(m.units[start:end]))))
}

// target returns where a movement leads.
func (m *editor) target(do action) int {
	switch do {
	case left, deleteLeft:
		return m.left()
	case right, deleteRight:
		return m.right()
	case wordLeft, killWordLeft:
		return m.wordLeft(isWord)
	case wordRight, killWord:
		return m.wordRight(isWord)
	case home, killStart:
		return m.lineStart(m.cur)
	case end, killEnd:
		return m.lineEnd(m.cur)
	case killField:
		return m.wordLeft(isField)
	case start:
		return 0
	case finish:
		return len(m.units)
	}
	return m.cur
}

// span returns what a deletion takes: from the cursor to where the movement of the
// same name leads. At the end of a line, killing to the end takes the line end.
func (m *editor) span(do action) (i, j int) {
	to := m.target(do)
	if do == killEnd && to == m.cur {
		to = m.right()
	}
	return min(m.cur, to), max(m.cur, to)
}

// vertical moves by rows of the screen, and at the edge through the history.
func (m *Model) vertical(by int) {
	if by < 0 && m.Empty() && len(m.queue) > 0 && m.history.steps == 0 {
		m.pickedPrompt = len(m.queue) - 1
		return
	}
	m.layOut()
	r := m.rowOf(m.cur) + by
	if r < 0 || r >= len(m.rows) {
		m.walkHistory(by)
		return
	}
	if m.goalColumn < 0 {
		m.goalColumn = m.column(m.units, m.cur)
	}
	m.cur = m.index(m.units, r, m.goalColumn)
}
