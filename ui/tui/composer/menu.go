package composer

import (
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// A Candidate is a completion of a word.
type Candidate struct {
	Text      string // replaces the word; excludes its sign
	Detail    string // shown beside the text in the list
	Directory bool   // a directory: after it is accepted, completion continues below it
	Submit    bool   // enter on it sends the prompt: a command without arguments
}

// A Completer returns the completions of word, best first. kind is the sign
// before the word: '@' for files, '/' for commands and prompts. more reports that
// a request shortly after will find more. It is called on its own goroutine.
type Completer func(kind rune, word string) (found []Candidate, more bool)

// CompletedMsg delivers the answer of the Completer. The parent passes it to
// Update and then lays out again, because a list may open, grow or close.
type CompletedMsg struct {
	menu       *menu
	request    int
	word       string
	candidates []Candidate
	more       bool
}

// A menu lists the completions of the word at the cursor. It opens when the sign of the
// word is typed, not when it is pasted, and closes when the cursor leaves the word.
type menu struct {
	kind  rune
	start int // index of the sign

	requests int    // number of requests; only the answer to the last one is used
	inFlight bool   // the last request is running
	wanted   string // word of the last request

	answered   string // word that candidates complete
	candidates []Candidate
	selected   int  // index of the selected candidate
	moved      bool // the user moved the selection
	acceptNext bool // accept the selected candidate of the next answer at once
	height     int  // maximum number of rows so far; the list does not shrink, so that the screen does not jump
}

const (
	maxMenuRows   = 8                      // rows of the list
	maxCandidates = 200                    // number of candidates kept
	maxWord       = 4096                   // bytes of a word
	askAgain      = 100 * time.Millisecond // wait before another request if there are more candidates
	detailGap     = 2
	menuSign      = "› "
	menuIndent    = "  "
	maxShownBytes = 1000 // displayed bytes of a candidate
)

// onTyped opens a list if the character just typed is a sign that begins a word.
func (m *completion) onTyped(typed string) {
	if m.completer == nil || m.editor.Cursor == 0 {
		return
	}
	if i := m.editor.Cursor - 1; typed == m.editor.Units[i].Text && m.editor.signAt(i) != 0 {
		m.menu = &menu{kind: m.editor.signAt(i), start: i}
	}
}

// signAt returns the sign at index i: a slash in the first column, or an @ outside of
// a word, unlike in a mail address; 0 for none.
func (m *editor) signAt(i int) rune {
	switch m.Units[i].Text {
	case "/":
		if i == 0 {
			return '/'
		}
	case "@":
		if i == 0 || allowsSign(m.Units[i-1]) {
			return '@'
		}
	}
	return 0
}

// allowsSign reports whether a mention may follow u. Some scripts have no
// spaces between words.
func allowsSign(u Unit) bool {
	r, size := utf8.DecodeRuneInString(u.Text)
	switch {
	case size == 0 || u.Kind != kindChar:
		return true
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(`@/\_.-`, r)
}

// wordAfter returns the text between the sign at start and the cursor, if it is one
// word that ends there. Spaces after @" and after a backslash are part of it.
func (m *editor) wordAfter(start int) (string, bool) {
	if start >= m.Cursor || m.signAt(start) == 0 {
		return "", false
	}
	if m.Cursor < len(m.Units) && isField(m.Units[m.Cursor]) {
		return "", false
	}
	units := m.Units[start+1 : m.Cursor]
	quoted := m.Units[start].Text == "@" && len(units) > 0 && units[0].Text == `"`
	if quoted {
		units = units[1:]
	}
	size, escaped := 0, false
	escapes := m.Units[start].Text == "@" && !quoted && filepath.Separator != '\\'
	for _, u := range units {
		ends := !quoted && !escaped && strings.ContainsFunc(u.Text, unicode.IsSpace) || quoted && u.Text == `"`
		escaped = escapes && !escaped && u.Text == `\`
		if size += len(u.Text); u.Kind != kindChar || ends || size > maxWord {
			return "", false
		}
	}
	if word := text(units); !escapes {
		return word, true
	}
	return strings.NewReplacer(`\\`, `\`, `\`, "").Replace(text(units)), true
}

// complete accepts the selected candidate. If none is listed, it opens the chip
// at the cursor, or requests completions of the word before it.
func (m *completion) complete() tea.Cmd {
	if i := m.editor.chipAt(); i >= 0 {
		return m.editor.expandChip(i)
	}
	if m.completer == nil {
		return nil
	}
	for i := m.editor.Cursor - 1; i >= max(m.editor.Cursor-maxWord, 0) && m.editor.Units[i].Kind != KindNewline; i-- {
		if _, ok := m.editor.wordAfter(i); ok {
			m.menu = &menu{kind: m.editor.signAt(i), start: i}
			return nil // the request follows in key
		}
	}
	return nil
}

// updateMenu requests completions of the changed word, and closes the list if the cursor is not in
// a word.
func (m *completion) updateMenu() tea.Cmd {
	o := m.menu
	if o == nil {
		return nil
	}
	word, ok := m.editor.wordAfter(o.start)
	if !ok || o.kind != m.editor.signAt(o.start) {
		m.menu = nil
		return nil
	}
	if o.requests > 0 && o.wanted == word {
		return nil
	}
	o.wanted, o.acceptNext = word, false
	if o.inFlight {
		return nil // its answer will be stale and trigger a new request
	}
	return m.completeCmd(0)
}

// completeCmd sends the request after a delay.
func (m *completion) completeCmd(after time.Duration) tea.Cmd {
	o, complete := m.menu, m.completer
	o.requests++
	o.inFlight = after == 0 // a repeated request blocks nothing
	msg := CompletedMsg{menu: o, request: o.requests, word: o.wanted}
	kind := o.kind
	return func() tea.Msg {
		time.Sleep(after)
		msg.candidates, msg.more = complete(kind, msg.word)
		return msg
	}
}

// onCompleted handles an answer. It ignores answers to earlier requests.
func (m *completion) onCompleted(msg CompletedMsg) tea.Cmd {
	o := m.menu
	if o == nil || o != msg.menu || o.requests != msg.request || m.completer == nil {
		return nil
	}
	o.inFlight = false
	if msg.word != o.wanted {
		return m.completeCmd(0)
	}
	was := ""
	if o.answered == msg.word && o.moved {
		was = o.candidates[o.selected].Text
	}
	o.answered, o.candidates, o.selected, o.moved = msg.word, validCandidates(msg.candidates), 0, false
	for i, c := range o.candidates {
		if c.Text == was {
			o.selected, o.moved = i, true
		}
	}
	o.height = max(o.height, min(len(o.candidates), maxMenuRows))
	var cmds []tea.Cmd
	if msg.more {
		cmds = append(cmds, m.completeCmd(askAgain))
	}
	if o.acceptNext && len(o.candidates) > 0 {
		o.acceptNext = false
		cmds = append(cmds, m.acceptCandidate(o.candidates[o.selected]))
	}
	return tea.Batch(cmds...)
}

// validCandidates removes candidates with text that a prompt cannot contain.
func validCandidates(found []Candidate) []Candidate {
	kept := make([]Candidate, 0, min(len(found), maxCandidates))
	for _, c := range found {
		if len(kept) < maxCandidates && c.Text != "" && normalize(c.Text) == c.Text && !strings.ContainsFunc(c.Text, unicode.IsControl) {
			kept = append(kept, c)
		}
	}
	return kept
}

// menuKey handles a key while candidates are listed, and reports whether it has no other
// effect. Candidates for an earlier form of the word cannot be accepted. After a complete name,
// or a directory with no further text, enter sends the prompt until a candidate is selected.
func (m *completion) menuKey(do action) (cmd tea.Cmd, done bool) {
	o := m.menu
	current := m.menuOpen() && o.answered == o.wanted
	switch {
	case do == complete && !current:
		o.acceptNext = true
		return nil, true
	case do == complete:
		return m.acceptCandidate(o.candidates[o.selected]), true
	case do == submit && current && !o.isUndecided() && (o.moved || o.candidates[o.selected].Text != o.answered):
		c := o.candidates[o.selected]
		cmd := m.acceptCandidate(c)
		if c.Submit && !c.Directory {
			m.submit()
			return nil, true
		}
		return cmd, true
	case do == cancel && m.menuOpen():
		m.menu = nil
		return nil, true
	case do == up && m.menuOpen():
		o.selected, o.moved = (o.selected+len(o.candidates)-1)%len(o.candidates), true
		return nil, true
	case do == down && m.menuOpen():
		if !o.isUndecided() {
			o.selected = (o.selected + 1) % len(o.candidates)
		}
		o.moved = true
		return nil, true
	}
	return nil, false
}

// acceptCandidate replaces the word with a candidate. After a directory, completion continues.
func (m *completion) acceptCandidate(c Candidate) tea.Cmd {
	o := m.menu
	name := c.Text
	if c.Directory && o.kind == '@' && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if o.kind == '@' {
		name = quotePath(name, c.Directory)
	}
	if !c.Directory && (m.editor.Cursor == len(m.editor.Units) || !IsSpace(m.editor.Units[m.editor.Cursor])) {
		name += " "
	}
	m.editor.splitUndo()
	m.editor.Replace(o.start, m.editor.Cursor, Split(string(o.kind)+name))
	m.editor.splitUndo()
	if !c.Directory {
		m.menu = nil
		return nil
	}
	o.candidates, o.selected, o.moved = nil, 0, false
	return m.updateMenu()
}

// quotePath returns path as in a mention: quoted if it contains spaces or begins with a
// quote. If open is set, as for a directory, the closing quote is missing.
func quotePath(path string, open bool) string {
	if !strings.ContainsFunc(path, unicode.IsSpace) && path[0] != '"' && path[0] != '\'' {
		return path
	}
	quote := `"`
	if strings.Contains(path, quote) {
		quote = "'"
	}
	if open {
		return quote + path
	}
	return quote + path + quote
}

// menuRows returns the preferred number of rows for the list.
func (m *completion) menuRows() int {
	if !m.menuOpen() {
		return 0
	}
	return m.menu.height
}

// menuLines returns the list in rows lines, aligned to the bottom, next to the
// text. If the list became shorter, the rows above it are empty.
func (m *completion) menuLines(rows int) []string {
	if rows == 0 {
		return nil
	}
	first, shown := m.menuWindow(rows)
	lines := make([]string, rows)
	names := make([]string, len(shown))
	wide := 0
	room := max(m.editor.width-len(menuIndent), 0)
	for i, c := range shown {
		names[i] = m.candidateName(c, room)
		wide = max(wide, ansi.StringWidth(names[i]))
	}
	for i, c := range shown {
		sign, look := menuIndent, m.editor.theme.Text
		if first+i == m.menu.selected && !m.menu.isUndecided() {
			sign, look = m.editor.theme.Accent.Render(menuSign), m.editor.theme.Strong
		}
		line := sign + look.Render(names[i])
		detail := sanitize.Line(sanitize.TruncateBytes(c.Detail, maxShownBytes))
		if left := room - wide - detailGap; detail != "" && left >= 8 {
			line += strings.Repeat(" ", wide-ansi.StringWidth(names[i])+detailGap)
			line += m.editor.theme.Faint.Render(ansi.Truncate(detail, left, "…"))
		}
		lines[rows-len(shown)+i] = ansi.Truncate(line, m.editor.width, "")
	}
	return lines
}

// menuWindow returns the visible candidates, including the selected one, and the
// index of the first.
func (m *completion) menuWindow(rows int) (first int, shown []Candidate) {
	o := m.menu
	n := min(rows, len(o.candidates))
	first = max(min(o.selected-n/2, len(o.candidates)-n), 0)
	return first, o.candidates[first : first+n]
}

// candidateName returns the name of c in at most room cells. A path is truncated at its beginning,
// because the end is more informative.
func (m *completion) candidateName(c Candidate, room int) string {
	name := sanitize.Line(sanitize.TruncateBytes(c.Text, maxShownBytes))
	if m.menu.kind == '/' {
		return ansi.Truncate("/"+name, room, "…")
	}
	if c.Directory && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if over := ansi.StringWidth(name) - room; over > 0 {
		name = ansi.TruncateLeft(name, over+1, "…")
	}
	return ansi.Truncate(name, room, "")
}

// chipAt returns the index of the chip at or before the cursor; -1 for none.
func (m *editor) chipAt() int {
	for _, i := range []int{m.Cursor, m.Cursor - 1} {
		if i >= 0 && i < len(m.Units) && m.Units[i].Kind == KindChip {
			return i
		}
	}
	return -1
}

// TooLongMsg reports an attempt to open a chip that is so long that each key
// would become slow. An external editor can open it.
type TooLongMsg struct{ Bytes int }

// expandChip replaces the chip at index i by its text. Undo restores the chip.
func (m *editor) expandChip(i int) tea.Cmd {
	held := m.Units[i].Text
	if len(held) > maxInlineBytes {
		return func() tea.Msg { return TooLongMsg{len(held)} }
	}
	m.splitUndo()
	m.Replace(i, i+1, Split(held))
	m.splitUndo()
	return nil
}
