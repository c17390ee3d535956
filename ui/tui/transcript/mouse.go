package transcript

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A spot is a place between two characters: a byte of a line without sequences.
type spot struct{ seq, line, at int }

func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(s.seq, o.seq), cmp.Compare(s.line, o.line), cmp.Compare(s.at, o.at))
}

// A stretch is what lies between two spots.
type stretch struct{ from, to spot }

func (s stretch) empty() bool { return s.from.compare(s.to) >= 0 }

// with returns the stretch over both.
func (s stretch) with(o stretch) stretch {
	if o.from.compare(s.from) < 0 {
		s.from = o.from
	}
	if o.to.compare(s.to) > 0 {
		s.to = o.to
	}
	return s
}

// A unit is what a selection grows by.
type unit int

const (
	glyph unit = iota
	aWord
	aParagraph
	units
)

// A mouse is what was done with it.
type mouse struct {
	held     bool // the button is down
	followed bool // the reader was at the bottom when it went down
	unit     unit
	first    stretch // the unit that it went down on
	chosen   stretch // what is selected
	x, y     int     // where it is
	downX    int     // and where it went down
	downY    int
	down     time.Time
	edge     int // counts the times that it came to an edge
}

const (
	clickWithin = 400 * time.Millisecond // of the one before, to count as the second
	edgeEvery   = 50 * time.Millisecond  // a line is scrolled while the mouse is held at an edge
)

// EdgeMsg reports that it is time to scroll on, if the mouse is still held at the
// edge. It has to come back to Update.
type EdgeMsg struct{ edge int }

// Dragging reports whether the button was pressed here and is still down: what the
// mouse does is then for Update, wherever it is.
func (m *Model) Dragging() bool {
	if m.details != nil {
		return m.details.Dragging()
	}
	return m.mouse.held
}

// Deselect takes the selection of the mouse away.
func (m *Model) Deselect() {
	if m.details != nil {
		m.details.Deselect()
		return
	}
	if m.mouse.held || !m.mouse.chosen.empty() {
		m.letGo()
		m.mouse, m.dirty = mouse{}, true
	}
}

// moused handles the mouse. Letting go of the button gives a CopyMsg.
func (m *Model) moused(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			m.press(msg.X, msg.Y)
		}
	case tea.MouseMotionMsg:
		if m.mouse.held {
			return m.drag(msg.X, msg.Y)
		}
	case tea.MouseReleaseMsg:
		if m.mouse.held {
			return m.release()
		}
	case EdgeMsg:
		if m.mouse.held && msg.edge == m.mouse.edge {
			return m.scrollOn()
		}
	}
	return nil
}

// press begins a selection: of characters, of words with the second click on one
// place, of paragraphs with the third. What is in sight stays until the button
// is let go.
func (m *Model) press(x, y int) {
	last := m.mouse
	m.Deselect()
	if len(m.items) == 0 || y < 0 || y >= m.window() {
		return
	}
	now := m.Now()
	m.mouse = mouse{held: true, followed: m.follow, x: x, y: y, downX: x, downY: y, down: now}
	if last.downX == x && last.downY == y && now.Sub(last.down) < clickWithin {
		m.mouse.unit = (last.unit + 1) % units
	}
	if m.follow {
		m.freeze()
		m.arrive()
	}
	m.settle()
	m.mouse.first = m.under(x, y, m.mouse.unit)
	if m.mouse.unit != glyph {
		m.mouse.chosen = m.mouse.first
	}
	if m.browsing {
		if i := m.index(m.mouse.first.from.seq); i >= 0 {
			m.point(m.solid(i, -1))
		}
	}
	m.dirty = true
}

// drag takes the selection to where the mouse is.
func (m *Model) drag(x, y int) tea.Cmd {
	if x == m.mouse.x && y == m.mouse.y {
		return nil
	}
	m.mouse.x, m.mouse.y = x, y
	m.extend()
	m.mouse.edge++
	if m.beyond() == 0 {
		return nil
	}
	return m.soon()
}

// beyond returns the direction in which the mouse is at an edge; 0 if it is not.
func (m *Model) beyond() int {
	switch y := m.mouse.y; {
	case y <= 0:
		return -1
	case y >= m.window()-1:
		return 1
	}
	return 0
}

func (m *Model) soon() tea.Cmd {
	edge := m.mouse.edge
	return tea.Tick(edgeEvery, func(time.Time) tea.Msg { return EdgeMsg{edge} })
}

// scrollOn scrolls a line towards the edge, and again soon, if it could.
func (m *Model) scrollOn() tea.Cmd {
	was := m.top
	m.Scroll(m.beyond())
	m.extend()
	if m.top == was {
		return nil
	}
	return m.soon()
}

func (m *Model) extend() {
	if len(m.items) == 0 {
		return
	}
	m.settle()
	m.mouse.chosen = m.mouse.first.with(m.under(m.mouse.x, m.mouse.y, m.mouse.unit))
	m.dirty = true
}

// release copies what is selected, which stays to be seen.
func (m *Model) release() tea.Cmd {
	m.letGo()
	if m.mouse.chosen.empty() {
		return nil
	}
	return copied(m.selection())
}

// letGo has the reader follow again who did.
func (m *Model) letGo() {
	held := m.mouse.held
	if m.mouse.held = false; held && m.mouse.followed && !m.pinned() {
		m.Bottom()
	}
}

// under returns the unit at a cell.
func (m *Model) under(x, y int, u unit) stretch {
	p, _ := m.down(m.top, max(0, min(y, m.window()-1)))
	it := m.items[p.item]
	lines := m.lay(it)
	if p.line < 0 || p.line >= len(lines) { // a blank row, or below the end
		s := spot{it.seq, 0, 0}
		if n := len(lines); p.line >= 0 && n > 0 {
			s = spot{it.seq, n - 1, len(plain(lines[n-1]))}
		}
		return stretch{s, s}
	}
	line := plain(lines[p.line])
	from, to := cellAt(line, x-m.gutter())
	low, high := p.line, p.line
	switch u {
	case aWord:
		from, to = wordAt(line, from, to)
	case aParagraph:
		low, high = m.paragraph(it, p.line)
		from, to = 0, len(plain(lines[high]))
	}
	return stretch{spot{it.seq, low, from}, spot{it.seq, high, to}}
}

// plain returns a line without its sequences.
func plain(line string) string {
	if strings.IndexByte(line, '\x1b') < 0 {
		return line
	}
	var b strings.Builder
	bare(&b, line)
	return b.String()
}

// cellAt returns the bytes of the character at a cell; none beyond the end.
func cellAt(line string, x int) (from, to int) {
	col := 0
	for i := 0; i < len(line); {
		size, w := cluster(line[i:])
		if col += w; col > x {
			return i, i + size
		}
		i += size
	}
	return len(line), len(line)
}

// What a word may have besides letters and digits, so that it can be a path or
// an address, and what does not end one.
const (
	inWord = "_-./~@#%+=&?:"
	atEnd  = ".:?"
)

// wordAt returns the bytes of the word that a character is of, or the character.
func wordAt(line string, from, to int) (int, int) {
	within := func(r rune) bool { return firm(r) || strings.ContainsRune(inWord, r) }
	r, _ := utf8.DecodeRuneInString(line[from:])
	if from == to || !within(r) {
		return from, to
	}
	low := strings.LastIndexFunc(line[:from], func(r rune) bool { return !within(r) })
	if low >= 0 {
		_, size := utf8.DecodeRuneInString(line[low:])
		low += size
	}
	low = max(low, 0)
	high := len(line)
	if n := strings.IndexFunc(line[from:], func(r rune) bool { return !within(r) }); n >= 0 {
		high = from + n
	}
	high = max(to, low+len(strings.TrimRight(line[low:high], atEnd)))
	return low, high
}

// paragraph returns the rows around one that are of the same line of the source.
func (m *Model) paragraph(it *item, row int) (low, high int) {
	rows, src := m.origin(it)
	t := tracer{src: src}
	low, high = row, row
	line := -1 // the line of the source that the last row ended in, by its end
	for i, r := range rows {
		was, all := line, t.row(r)
		if len(all) > 0 {
			line = lineEnd(src, all[len(all)-1].end)
		}
		goesOn := len(all) > 0 && i > 0 && was == lineEnd(src, all[0].from)
		switch {
		case i <= row && !goesOn:
			low = i
		case i > row && !goesOn:
			return min(low, row), high
		case i > row:
			high = i
		}
	}
	return low, high
}

// lineEnd returns where the line ends that a byte is of.
func lineEnd(src string, at int) int {
	if n := strings.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(src)
}

// index returns where the item with a number is; -1 if it is gone.
func (m *Model) index(seq int) int {
	i, ok := slices.BinarySearchFunc(m.items, seq, func(it *item, seq int) int { return cmp.Compare(it.seq, seq) })
	if !ok {
		return -1
	}
	return i
}

// marked returns the bytes of a line that are selected.
func (m *Model) marked(it *item, line int, text string) (from, to int) {
	c := &m.mouse.chosen
	here := spot{it.seq, line, 0}
	if _, picture := it.block.(*drawn); picture {
		return 0, 0
	}
	if c.empty() || here.seq < c.from.seq || here.seq > c.to.seq {
		return 0, 0
	}
	to = len(plain(text))
	if here.seq == c.from.seq && line <= c.from.line {
		if from = c.from.at; line < c.from.line {
			return 0, 0
		}
	}
	if here.seq == c.to.seq && line >= c.to.line {
		if to = min(to, c.to.at); line > c.to.line {
			return 0, 0
		}
	}
	return from, to
}

// selection returns the source of what is selected, and what that is.
func (m *Model) selection() (text, what string) {
	c := m.mouse.chosen
	var all strings.Builder
	for i, it := range m.items {
		if it.seq < c.from.seq || it.seq > c.to.seq {
			continue
		}
		piece := m.excerpt(it)
		if strings.TrimSpace(piece) == "" {
			continue
		}
		if all.Len() > 0 {
			all.WriteString("\n")
			if !m.joins(i) {
				all.WriteString("\n")
			}
		}
		all.WriteString(strings.Trim(piece, "\n"))
	}
	n := strings.Count(all.String(), "\n") + 1
	if n == 1 {
		return all.String(), "selection"
	}
	return all.String(), fmt.Sprintf("selection of %d lines", n)
}

// excerpt returns the source of what is selected of an item, or the text of its rows
// if that is not in the source.
func (m *Model) excerpt(it *item) string {
	lines := m.lay(it)
	low, from, high, to := -1, 0, -1, 0
	for i, line := range lines {
		if a, b := m.marked(it, i, line); a < b {
			if low < 0 {
				low, from = i, a
			}
			high, to = i, b
		}
	}
	if low < 0 {
		return ""
	}
	rows, src := m.origin(it)
	if text := quote(src, parts(rows, src, low, from, high, to), it.markup()); text != "" {
		return text
	}
	var kept []string
	for i := low; i <= high; i++ {
		a, b := m.marked(it, i, lines[i])
		kept = append(kept, strings.TrimRight(plain(lines[i])[a:b], " "))
	}
	return strings.Join(kept, "\n")
}

// leftOut matches the beginning of a row that tells what a fold hides.
var leftOut = regexp.MustCompile(`^… \d+ (more|earlier) line`)

// origin returns the rows of an item without colors, and the text that they were
// made of, in its order.
func (m *Model) origin(it *item) (rows []string, src string) {
	for _, line := range m.lay(it) {
		row := plain(line)
		if !it.markup() && leftOut.MatchString(row) {
			row = ""
		}
		rows = append(rows, row)
	}
	b, ok := it.block.(*call)
	if !ok {
		return rows, strings.Join(it.texts(nil), "\n")
	}
	if m.page(it).width >= splitAt && b.read().removed > 0 {
		for i, row := range rows {
			rows[i] = once(row)
		}
	}
	texts := b.texts(nil) // name, title, state, and the rest
	title := strings.TrimRight(texts[0]+" "+strings.ReplaceAll(texts[1], lineBreak, "\n")+"  "+texts[2], " ")
	return rows, strings.Join(append([]string{title}, texts[3:]...), "\n")
}

// once returns the row of a diff without its right half, if that says the same.
func once(row string) string {
	left, right, _ := strings.Cut(row, "│")
	was, is := strings.Fields(left), strings.Fields(right)
	if len(was) > 0 && len(is) > 0 && slices.Equal(was[1:], is[1:]) {
		return left
	}
	return row
}
