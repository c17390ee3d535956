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

// A Candidate is something that a word may become.
type Candidate struct {
	Text      string // what is written in place of the word, without its sign
	Detail    string // what the list says about it
	Directory bool   // there is more below it: taken, it is completed further
	Submit    bool   // taken by enter, the prompt is sent: a command without arguments
}

// A Completer returns the completions of word, the best first. Kind is the sign
// before it: '@' for files, '/' for commands and prompts. More says that
// asking again, soon, will find more. It is called on a goroutine of its own.
type Completer func(kind rune, word string) (found []Candidate, more bool)

// CompletedMsg brings the answer of the Completer. The parent hands it to
// Update and lays out anew, since a list may open, grow or close.
type CompletedMsg struct {
	menu       *menu
	request    int
	word       string
	candidates []Candidate
	more       bool
}

// A menu lists the completions of the word at the cursor. It opens when the sign of the
// word is typed, but not pasted, and closes when the cursor leaves the word.
type menu struct {
	kind  rune
	start int // index of the sign

	requests int    // questions so far; only the answer to the last one counts
	inFlight bool   // it is on its way
	wanted   string // what it asks

	answered   string // what found answers
	candidates []Candidate
	selected   int  // the one that is chosen
	moved      bool // by a user
	acceptNext bool // the selected candidate of the next answer is accepted at once
	height     int  // rows that the list has had; it does not shrink, so that nothing jumps
}

const (
	maxMenuRows   = 8                      // rows
	maxCandidates = 200                    // candidates that are kept
	maxWord       = 4096                   // bytes
	askAgain      = 100 * time.Millisecond // when there is more
	detailGap     = 2
	menuSign      = "› "
	menuIndent    = "  "
	maxShownBytes = 1000 // bytes of a candidate
)

// onTyped opens a list if the character that was just typed is a sign where one
// counts.
func (m *completion) onTyped(typed string) {
	if m.completer == nil || m.editor.cur == 0 {
		return
	}
	if i := m.editor.cur - 1; typed == m.editor.units[i].text && m.editor.signAt(i) != 0 {
		m.menu = &menu{kind: m.editor.signAt(i), start: i}
	}
}

// signAt returns the sign at index i: a slash in the first column, an @ that does not
// stand in a word, as it does in a mail address; 0 if there is none.
func (m *editor) signAt(i int) rune {
	switch m.units[i].text {
	case "/":
		if i == 0 {
			return '/'
		}
	case "@":
		if i == 0 || allowsSign(m.units[i-1]) {
			return '@'
		}
	}
	return 0
}

// allowsSign reports whether a mention may follow u. Some scripts put no spaces
// between words.
func allowsSign(u unit) bool {
	r, size := utf8.DecodeRuneInString(u.text)
	switch {
	case size == 0 || u.kind != kindChar:
		return true
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(`@/\_.-`, r)
}

// wordAfter returns what stands between the sign at start and the cursor, if it is one
// word that ends there. Spaces after @" and after a backslash belong to it.
func (m *editor) wordAfter(start int) (string, bool) {
	if start >= m.cur || m.signAt(start) == 0 {
		return "", false
	}
	if m.cur < len(m.units) && isField(m.units[m.cur]) {
		return "", false
	}
	units := m.units[start+1 : m.cur]
	quoted := m.units[start].text == "@" && len(units) > 0 && units[0].text == `"`
	if quoted {
		units = units[1:]
	}
	size, escaped := 0, false
	escapes := m.units[start].text == "@" && !quoted && filepath.Separator != '\\'
	for _, u := range units {
		ends := !quoted && !escaped && strings.ContainsFunc(u.text, unicode.IsSpace) || quoted && u.text == `"`
		escaped = escapes && !escaped && u.text == `\`
		if size += len(u.text); u.kind != kindChar || ends || size > maxWord {
			return "", false
		}
	}
	if word := text(units); !escapes {
		return word, true
	}
	return strings.NewReplacer(`\\`, `\`, `\`, "").Replace(text(units)), true
}

// complete takes what is offered; without an offer it opens the chip at the
// cursor, or asks what the word before the cursor may become.
func (m *completion) complete() tea.Cmd {
	if i := m.editor.chipAt(); i >= 0 {
		return m.editor.expandChip(i)
	}
	if m.completer == nil {
		return nil
	}
	for i := m.editor.cur - 1; i >= max(m.editor.cur-maxWord, 0) && m.editor.units[i].kind != kindNewline; i-- {
		if _, ok := m.editor.wordAfter(i); ok {
			m.menu = &menu{kind: m.editor.signAt(i), start: i}
			return nil // key asks
		}
	}
	return nil
}

// updateMenu asks what the word has become, and closes the list if it is none.
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
		return nil // its answer will be stale, and then it is asked anew
	}
	return m.completeCmd(0)
}

// completeCmd sends the question off, after a while.
func (m *completion) completeCmd(after time.Duration) tea.Cmd {
	o, complete := m.menu, m.completer
	o.requests++
	o.inFlight = after == 0 // nothing has to wait for one that is only repeated
	msg := CompletedMsg{menu: o, request: o.requests, word: o.wanted}
	kind := o.kind
	return func() tea.Msg {
		time.Sleep(after)
		msg.candidates, msg.more = complete(kind, msg.word)
		return msg
	}
}

// onCompleted takes an answer, unless the question is another one by now.
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
	m.editor.invalidate()
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

// validCandidates leaves out what a prompt cannot hold.
func validCandidates(found []Candidate) []Candidate {
	kept := make([]Candidate, 0, min(len(found), maxCandidates))
	for _, c := range found {
		if len(kept) < maxCandidates && c.Text != "" && normalize(c.Text) == c.Text && !strings.ContainsFunc(c.Text, unicode.IsControl) {
			kept = append(kept, c)
		}
	}
	return kept
}

// menuKey deals with a key while something is offered, and reports whether that
// is all it does. Nothing is taken of a list for an earlier form of the word. After a whole
// name, or a directory without more text, enter sends the prompt until something
// is chosen.
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

// acceptCandidate writes a candidate in place of the word. A directory is completed further.
func (m *completion) acceptCandidate(c Candidate) tea.Cmd {
	o := m.menu
	name := c.Text
	if c.Directory && o.kind == '@' && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if o.kind == '@' {
		name = quotePath(name, c.Directory)
	}
	if !c.Directory && (m.editor.cur == len(m.editor.units) || !isSpace(m.editor.units[m.editor.cur])) {
		name += " "
	}
	m.editor.splitUndo()
	m.editor.replace(o.start, m.editor.cur, split(string(o.kind)+name))
	m.editor.splitUndo()
	m.editor.invalidate()
	if !c.Directory {
		m.menu = nil
		return nil
	}
	o.candidates, o.selected, o.moved = nil, 0, false
	return m.updateMenu()
}

// quotePath returns path as a mention has it: in quotes if it has spaces, or begins with
// a quote. Those of a directory stay open.
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

// menuRows returns how many rows the list would like.
func (m *completion) menuRows() int {
	if !m.menuOpen() {
		return 0
	}
	return m.menu.height
}

// menuLines draws the list in rows lines, at the bottom of them, next to the
// text. The rows above what has become a shorter list are empty.
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
		detail := sanitize.Line(truncateBytes(c.Detail, maxShownBytes))
		if left := room - wide - detailGap; detail != "" && left >= 8 {
			line += strings.Repeat(" ", wide-ansi.StringWidth(names[i])+detailGap)
			line += m.editor.theme.Faint.Render(ansi.Truncate(detail, left, "…"))
		}
		lines[rows-len(shown)+i] = ansi.Truncate(line, m.editor.width, "")
	}
	return lines
}

// menuWindow returns the part of the candidates that is shown, the chosen one among
// them, and the index of its first.
func (m *completion) menuWindow(rows int) (first int, shown []Candidate) {
	o := m.menu
	n := min(rows, len(o.candidates))
	first = max(min(o.selected-n/2, len(o.candidates)-n), 0)
	return first, o.candidates[first : first+n]
}

// candidateName returns c in at most room cells. Of a path the end says the most.
func (m *completion) candidateName(c Candidate, room int) string {
	name := sanitize.Line(truncateBytes(c.Text, maxShownBytes))
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

// truncateBytes returns the beginning of s, n bytes at most.
func truncateBytes(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// chipAt returns the index of the chip at or before the cursor; -1 if there is none.
func (m *editor) chipAt() int {
	for _, i := range []int{m.cur, m.cur - 1} {
		if i >= 0 && i < len(m.units) && m.units[i].kind == kindChip {
			return i
		}
	}
	return -1
}

// TooLongMsg reports that a chip was to be opened that is so long that each key
// would become slow. An editor can take it.
type TooLongMsg struct{ Bytes int }

// expandChip writes out the chip of this index. Undo folds it again.
func (m *editor) expandChip(i int) tea.Cmd {
	held := m.units[i].text
	if len(held) > maxInlineBytes {
		return func() tea.Msg { return TooLongMsg{len(held)} }
	}
	m.splitUndo()
	m.replace(i, i+1, split(held))
	m.splitUndo()
	return nil
}
