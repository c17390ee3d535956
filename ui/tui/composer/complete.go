package composer

import (
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
	Text   string // what is written in place of the word, without its sign
	Detail string // what the list says about it
	Folder bool   // there is more below it: taken, it is completed further
	Send   bool   // taken by enter, the prompt is sent: a command without arguments
}

// A Completer returns what word may become, the best first. Kind is the sign in
// front of it: '@' for files, '/' for commands and prompts. More says that
// asking again, soon, will find more. It is called on a goroutine of its own.
type Completer func(kind rune, word string) (found []Candidate, more bool)

// CompletedMsg brings the answer of the Completer. The parent hands it to
// Update and lays out anew, since a list may open, grow or close.
type CompletedMsg struct {
	of    *offer
	ask   int
	word  string
	found []Candidate
	more  bool
}

// SetCompleter sets the function that completes words; nil turns completion off.
func (m *Model) SetCompleter(c Completer) { m.completer, m.offer = c, nil }

// An offer is the list of what the word at the cursor may become. It opens when
// its sign is typed, by a user and not in a paste, and lives until the cursor
// leaves the word.
type offer struct {
	kind  rune
	start int // index of the sign

	asks   int    // questions so far; only the answer to the last one counts
	asking bool   // it is on its way
	want   string // what it asks

	word  string // what found answers
	found []Candidate
	at    int  // the one that is chosen
	moved bool // by a user
	eager bool // it is to be taken as soon as it is known
	tall  int  // rows that the list has had; it does not shrink, so that nothing jumps
}

const (
	maxOffered   = 8                      // rows
	maxFound     = 200                    // candidates that are kept
	maxWord      = 4096                   // bytes
	askAgain     = 100 * time.Millisecond // when there is more
	detailGap    = 2
	offerSign    = "› "
	offerIndent  = "  "
	longestShown = 1000 // bytes of a candidate
)

// noticed opens a list if the character that was just typed is a sign where one
// counts.
func (m *Model) noticed(typed string) {
	if m.completer == nil || m.cur == 0 {
		return
	}
	if i := m.cur - 1; typed == m.units[i].text && m.signAt(i) != 0 {
		m.offer = &offer{kind: m.signAt(i), start: i}
	}
}

// signAt returns the sign at index i: a slash in the first column, an @ that does not
// stand in a word, as it does in a mail address; 0 if there is none.
func (m *Model) signAt(i int) rune {
	switch m.units[i].text {
	case "/":
		if i == 0 {
			return '/'
		}
	case "@":
		if i == 0 || opens(m.units[i-1]) {
			return '@'
		}
	}
	return 0
}

// opens reports whether a mention may follow u. Some scripts put no spaces
// between words.
func opens(u unit) bool {
	r, size := utf8.DecodeRuneInString(u.text)
	switch {
	case size == 0 || u.kind != char:
		return true
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(`@/\_.-`, r)
}

// word returns what stands between the sign at start and the cursor, if it is one
// word that ends there. Behind @" spaces belong to it.
func (m *Model) word(start int) (string, bool) {
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
	size := 0
	for _, u := range units {
		ends := !quoted && strings.ContainsFunc(u.text, unicode.IsSpace) || quoted && u.text == `"`
		if size += len(u.text); u.kind != char || ends || size > maxWord {
			return "", false
		}
	}
	return text(units), true
}

// complete takes what is offered; without an offer it opens the chip at the
// cursor, or asks what the word before the cursor may become.
func (m *Model) complete() tea.Cmd {
	if i := m.chipAt(); i >= 0 {
		return m.open(i)
	}
	if m.completer == nil {
		return nil
	}
	for i := m.cur - 1; i >= max(m.cur-maxWord, 0) && m.units[i].kind != newline; i-- {
		if _, ok := m.word(i); ok {
			m.offer = &offer{kind: m.signAt(i), start: i}
			return nil // key asks
		}
	}
	return nil
}

// follow asks what the word has become, and closes the list if it is none.
func (m *Model) follow() tea.Cmd {
	o := m.offer
	if o == nil {
		return nil
	}
	word, ok := m.word(o.start)
	if !ok || o.kind != m.signAt(o.start) {
		m.offer = nil
		return nil
	}
	if o.asks > 0 && o.want == word {
		return nil
	}
	o.want, o.eager = word, false
	if o.asking {
		return nil // its answer will be stale, and then it is asked anew
	}
	return m.ask(0)
}

// ask sends the question off, after a while.
func (m *Model) ask(after time.Duration) tea.Cmd {
	o, complete := m.offer, m.completer
	o.asks++
	o.asking = after == 0 // nothing has to wait for one that is only repeated
	msg := CompletedMsg{of: o, ask: o.asks, word: o.want}
	kind := o.kind
	return func() tea.Msg {
		time.Sleep(after)
		msg.found, msg.more = complete(kind, msg.word)
		return msg
	}
}

// completed takes an answer, unless the question is another one by now.
func (m *Model) completed(msg CompletedMsg) tea.Cmd {
	o := m.offer
	if o == nil || o != msg.of || o.asks != msg.ask || m.completer == nil {
		return nil
	}
	o.asking = false
	if msg.word != o.want {
		return m.ask(0)
	}
	was := ""
	if o.word == msg.word && o.moved {
		was = o.found[o.at].Text
	}
	o.word, o.found, o.at, o.moved = msg.word, writable(msg.found), 0, false
	for i, c := range o.found {
		if c.Text == was {
			o.at, o.moved = i, true
		}
	}
	o.tall = max(o.tall, min(len(o.found), maxOffered))
	m.changed()
	var cmds []tea.Cmd
	if msg.more {
		cmds = append(cmds, m.ask(askAgain))
	}
	if o.eager && len(o.found) > 0 {
		o.eager = false
		cmds = append(cmds, m.take(o.found[o.at]))
	}
	return tea.Batch(cmds...)
}

// writable leaves out what a prompt cannot hold.
func writable(found []Candidate) []Candidate {
	kept := make([]Candidate, 0, min(len(found), maxFound))
	for _, c := range found {
		if len(kept) < maxFound && c.Text != "" && normal(c.Text) == c.Text && !strings.ContainsFunc(c.Text, unicode.IsControl) {
			kept = append(kept, c)
		}
	}
	return kept
}

// offered reports whether a list is shown.
func (m *Model) offered() bool { return m.offer != nil && len(m.offer.found) > 0 }

// offerKey deals with a key while something is offered, and reports whether that
// is all it does. A list of what the word was before is shown, but nothing of it
// is taken.
func (m *Model) offerKey(do action) (cmd tea.Cmd, done bool) {
	o := m.offer
	current := m.offered() && o.word == o.want
	switch {
	case do == complete && !current:
		o.eager = true
		return nil, true
	case do == complete:
		return m.take(o.found[o.at]), true
	case do == submit && current && (o.moved || o.found[o.at].Text != o.word):
		c := o.found[o.at]
		cmd := m.take(c)
		if c.Send && !c.Folder {
			return m.submit(), true
		}
		return cmd, true
	case do == cancel && m.offered():
		m.offer = nil
		return nil, m.vim == nil // in vim, esc means more than that
	case do == up && m.offered():
		o.at, o.moved = (o.at+len(o.found)-1)%len(o.found), true
		return nil, true
	case do == down && m.offered():
		o.at, o.moved = (o.at+1)%len(o.found), true
		return nil, true
	}
	return nil, false
}

// take writes a candidate in place of the word. A directory is completed further.
func (m *Model) take(c Candidate) tea.Cmd {
	o := m.offer
	name := c.Text
	if c.Folder && o.kind == '@' && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if o.kind == '@' {
		name = quoted(name, c.Folder)
	}
	if !c.Folder && (m.cur == len(m.units) || !isSpace(m.units[m.cur])) {
		name += " "
	}
	m.part()
	m.replace(o.start, m.cur, split(string(o.kind)+name))
	m.part()
	m.changed()
	if !c.Folder {
		m.offer = nil
		return nil
	}
	o.found, o.at, o.moved = nil, 0, false
	return m.follow()
}

// quoted returns path as a mention has it: in quotes if it has spaces, or begins with
// a quote. Those of a directory stay open.
func quoted(path string, open bool) string {
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

// offerRows returns how many rows the list would like.
func (m *Model) offerRows() int {
	if !m.offered() {
		return 0
	}
	return m.offer.tall
}

// offerLines draws the list in rows lines, at the bottom of them, next to the
// text. The rows above what has become a shorter list are empty.
func (m *Model) offerLines(rows int) []string {
	if rows == 0 {
		return nil
	}
	first, shown := m.offerWindow(rows)
	lines := make([]string, rows)
	names := make([]string, len(shown))
	wide := 0
	room := max(m.width-len(offerIndent), 0)
	for i, c := range shown {
		names[i] = m.offerName(c, room)
		wide = max(wide, ansi.StringWidth(names[i]))
	}
	for i, c := range shown {
		sign, look := offerIndent, m.theme.Text
		if first+i == m.offer.at {
			sign, look = m.theme.Accent.Render(offerSign), m.theme.Strong
		}
		line := sign + look.Render(names[i])
		detail := sanitize.Line(clipped(c.Detail, longestShown))
		if left := room - wide - detailGap; detail != "" && left >= 8 {
			line += strings.Repeat(" ", wide-ansi.StringWidth(names[i])+detailGap)
			line += m.theme.Faint.Render(ansi.Truncate(detail, left, "…"))
		}
		lines[rows-len(shown)+i] = ansi.Truncate(line, m.width, "")
	}
	return lines
}

// offerWindow returns the part of the candidates that is shown, the chosen one among
// them, and the index of its first.
func (m *Model) offerWindow(rows int) (first int, shown []Candidate) {
	o := m.offer
	n := min(rows, len(o.found))
	first = max(min(o.at-n/2, len(o.found)-n), 0)
	return first, o.found[first : first+n]
}

// offerName returns c in at most room cells. Of a path the end says the most.
func (m *Model) offerName(c Candidate, room int) string {
	name := sanitize.Line(clipped(c.Text, longestShown))
	if m.offer.kind == '/' {
		return ansi.Truncate("/"+name, room, "…")
	}
	if c.Folder && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if over := ansi.StringWidth(name) - room; over > 0 {
		name = ansi.TruncateLeft(name, over+1, "…")
	}
	return ansi.Truncate(name, room, "")
}

// clipped returns the beginning of s, n bytes at most.
func clipped(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// chipAt returns the index of the chip at or before the cursor; -1 if there is none.
func (m *Model) chipAt() int {
	for _, i := range []int{m.cur, m.cur - 1} {
		if i >= 0 && i < len(m.units) && m.units[i].kind == chip {
			return i
		}
	}
	return -1
}

// TooLongMsg reports that a chip was to be opened that is so long that each key
// would become slow. An editor can take it.
type TooLongMsg struct{ Bytes int }

// open writes out the chip of this index. Undo folds it again.
func (m *Model) open(i int) tea.Cmd {
	held := m.units[i].text
	if len(held) > inline {
		return func() tea.Msg { return TooLongMsg{len(held)} }
	}
	m.part()
	m.replace(i, i+1, split(held))
	m.part()
	return nil
}
