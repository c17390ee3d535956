package transcript

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// A search goes through the texts of the blocks, laid out or not. How often
// each has the word is counted once per word, and again when the block changes;
// which rows it stands in is found for the blocks in sight alone.
type search struct {
	on, typing bool
	typed      string
	word       word
	last       string // the word of the search before
	from       int    // item where the cursor was when the search began
	top        pos    // and the row at the top
	total      int
	hit        int     // which one of those in the block under the cursor; -1 for none
	changed    []*item // whose text changed since it was counted
	texts      []string

	peeked *item // unfolded to show what it hides
	was    fold
}

// Typing reports whether what is typed is searched for: every key belongs here.
func (m *Model) Typing() bool {
	if m.details != nil {
		return m.details.Typing()
	}
	return m.search.typing
}

// Cursor returns where the cursor stands in the line that is typed.
func (m *Model) Cursor() (x, y int, ok bool) {
	if m.details != nil {
		return m.details.Cursor()
	}
	if !m.search.typing || m.window() == m.height || m.width == 0 {
		return 0, 0, false
	}
	return min(cells(m.searchLine()), m.width-1), m.height - 1, true
}

// beginSearch opens the line in which the word is typed.
func (m *Model) beginSearch() {
	m.peek(nil)
	m.endSearch()
	s := &m.search
	s.on, s.typing = true, true
	m.freeze()
	if !m.browsing {
		m.cursor = m.top.item
	}
	s.from, s.top = m.cursor, m.top
	m.seek(word{})
	m.rewindow()
}

// endSearch closes it, and keeps the place and the word.
func (m *Model) endSearch() {
	s := &m.search
	for _, it := range s.changed {
		it.uncounted = false
	}
	last := s.last
	if len(s.word.runes) > 0 {
		last = string(s.word.runes)
	}
	*s = search{last: last, hit: -1}
	m.rewindow()
}

// rewindow makes the best of a window that grew or shrank by a row.
func (m *Model) rewindow() {
	m.dirty = true
	if m.freeze() {
		m.arrive()
	}
}

// typeWord edits what is searched for, and goes to the nearest place that has it.
func (m *Model) typeWord(msg tea.Msg) {
	s, was := &m.search, m.search.typed
	switch msg := msg.(type) {
	case tea.PasteMsg:
		s.typed += sanitize.Line(strings.Join(strings.Fields(msg.Content), " "))
	case tea.KeyPressMsg:
		switch key := msg.String(); key {
		case "esc":
			m.endSearch()
			return
		case "enter":
			s.typing, m.dirty = false, true
			if s.typed == "" {
				m.again(0)
			}
			return
		case "down", "ctrl+n":
			m.again(1)
		case "up":
			m.again(-1)
		case "backspace", "ctrl+h":
			if s.typed == "" {
				m.endSearch()
				return
			}
			s.typed = erase(s.typed)
		case "ctrl+w", "alt+backspace", "ctrl+backspace":
			s.typed = strings.TrimRight(s.typed, " ")
			s.typed = s.typed[:strings.LastIndex(s.typed, " ")+1]
		case "ctrl+u":
			s.typed = ""
		default:
			s.typed += sanitize.Line(msg.Text)
		}
	}
	if s.typed == was {
		return
	}
	m.seek(newWord(s.typed))
	i := m.nearest(s.from)
	if i < 0 { // back to where the search began
		last := max(len(m.items)-1, 0)
		m.peek(nil)
		m.point(min(s.from, last))
		m.jump(pos{min(s.top.item, last), s.top.line})
		m.dirty = true
		return
	}
	m.show(i, m.ahead(i))
}

// erase takes the last character off.
func erase(s string) string {
	last := 0
	for rest := s; rest != ""; rest = rest[last:] {
		last, _ = cluster(rest)
	}
	return s[:len(s)-last]
}

// seek counts a word everywhere.
func (m *Model) seek(w word) {
	s := &m.search
	s.word, s.total, s.hit, s.changed = w, 0, -1, s.changed[:0]
	for _, it := range m.items {
		it.uncounted, it.marked = false, false
		it.found = m.countIn(it)
		s.total += it.found
	}
}

// countIn counts the word in what a block has to say.
func (m *Model) countIn(it *item) (n int) {
	s := &m.search
	if len(s.word.runes) == 0 {
		return 0
	}
	over := ""
	if it.markup() {
		over = marks
	}
	s.texts = it.texts(s.texts[:0])
	for _, text := range s.texts {
		n += s.word.count(text, over)
	}
	return n
}

// recount counts again where something changed.
func (m *Model) recount() {
	for _, it := range m.search.changed {
		it.uncounted = false
		was := it.found
		it.found = m.countIn(it)
		m.search.total += it.found - was
	}
	m.search.changed = m.search.changed[:0]
}

// lose forgets an item, which was the i-th one, with its places.
func (m *Model) lose(it *item, i int) {
	s := &m.search
	if !s.on {
		return
	}
	s.total -= it.found
	s.changed = slices.DeleteFunc(s.changed, func(c *item) bool { return c == it })
	if it == s.peeked {
		s.peeked = nil
	}
	if i == m.cursor {
		s.hit = -1
	}
	if i < s.from {
		s.from--
	}
	if i < s.top.item {
		s.top.item--
	}
}

// chosen returns which place of an item was gone to; -1 for none. The rows may have
// fewer than the source has: the address behind a name, for one.
func (m *Model) chosen(i int) int {
	if i != m.cursor {
		return -1
	}
	return min(m.search.hit, m.shown(m.items[i])-1)
}

// nearest returns the first item from i on that has the word, or else the last one
// before it; -1 if none has.
func (m *Model) nearest(i int) int {
	for j := i; j < len(m.items); j++ {
		if m.items[j].found > 0 {
			return j
		}
	}
	for j := min(i, len(m.items)) - 1; j >= 0; j-- {
		if m.items[j].found > 0 {
			return j
		}
	}
	return -1
}

// ahead returns the first place of an item that is not above where the search began.
func (m *Model) ahead(i int) int {
	if it := m.items[i]; i == m.search.top.item && m.shown(it) == it.found {
		for _, s := range m.spans(it) {
			if s.line >= m.search.top.line {
				return s.hit
			}
		}
	}
	return 0
}

// again goes to the next place in a direction, after the last one to the first.
// Without a search it takes the last word up again, and so does direction 0.
func (m *Model) again(direction int) {
	s := &m.search
	if !s.on || direction == 0 {
		if s.last == "" {
			m.endSearch()
			return
		}
		s.on, s.typed = true, s.last
		m.seek(newWord(s.last))
		m.rewindow()
	}
	m.recount()
	if s.total == 0 {
		return
	}
	i, hit := m.cursor, s.hit+direction
	if s.hit < 0 {
		hit = 0
		if direction < 0 {
			hit = -1
		}
	}
	for hit < 0 || hit >= m.items[i].found {
		if direction < 0 {
			i = (i + len(m.items) - 1) % len(m.items)
			hit = m.items[i].found - 1
			continue
		}
		i, hit = (i+1)%len(m.items), 0
	}
	m.show(i, hit)
}

// show brings a place in sight, and unfolds the block if that hides it.
func (m *Model) show(i, hit int) {
	it := m.items[i]
	if it != m.search.peeked {
		m.peek(nil)
	}
	m.point(i)
	m.search.hit = hit
	if !m.freeze() {
		return
	}
	if m.shown(it) < it.found && (!m.open(it) || m.hidden(it)) {
		m.peek(it)
	}
	line, chosen := 0, m.chosen(i)
	for _, s := range slices.Backward(m.spans(it)) {
		if s.hit == chosen {
			line = s.line
		}
	}
	m.sight(pos{i, line})
}

// peek unfolds a block, and folds the one that was unfolded before.
func (m *Model) peek(it *item) {
	s := &m.search
	if s.peeked == it {
		return
	}
	if s.peeked != nil {
		s.peeked.fold = s.was
		s.peeked.forget()
	}
	if s.peeked = it; it != nil {
		s.was = it.fold
		it.fold = unfolded
		it.forget()
	}
	m.dirty = true
	m.settle()
}

// sight scrolls no further than it has to for a row to be seen; far away it gets
// a third of the window above it.
func (m *Model) sight(p pos) {
	bottom, inside := m.down(m.top, m.window())
	if p.before(m.top) || inside && !p.before(bottom) {
		m.top = m.up(p, m.window()/3)
	}
	m.arrive()
}

// searchLine returns what was typed, as much of its end as fits.
func (m *Model) searchLine() string {
	line, room := m.search.typed, m.width-1-min(cells(m.tally())+2, m.width/2)
	if over := cells(line) - max(room-1, 0); over > 0 {
		line = ansi.TruncateLeft(line, over, "")
	}
	return "/" + line
}

// tally returns how many there are, and which one is shown.
func (m *Model) tally() string {
	s := &m.search
	switch {
	case len(s.word.runes) == 0 || s.typed == "":
		return ""
	case s.total == 0:
		return "not found"
	case s.hit < 0:
		return fmt.Sprintf("%d found", s.total)
	}
	n := s.hit + 1
	for _, it := range m.items[:m.cursor] {
		n += it.found
	}
	return fmt.Sprintf("%d/%d", min(n, s.total), s.total)
}

// searchRow writes the last row while a search is on.
func (m *Model) searchRow() {
	line, tally := m.searchLine(), m.tally()
	room := m.width - cells(line) - 1
	m.buf = append(m.buf, m.ink.write(accent, line[:1])...)
	m.buf = append(m.buf, line[1:]...)
	if tally = clip(tally, max(room-1, 0)); tally != "" {
		m.buf = append(m.buf, strings.Repeat(" ", room-cells(tally))...)
		m.buf = append(m.buf, m.ink.write(dim, tally)...)
	}
}
