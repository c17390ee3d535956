package transcript

import (
	"math"
	"strings"
	"unicode"
)

// A pos is a row: a line of an item, or the blank row before the item, which is
// line -1. The first item has none, nor has one without lines.
type pos struct{ item, line int }

// lay returns the lines of an item, made anew if they are no longer true.
func (m *Model) lay(it *item) []string {
	if it.state == laid {
		return it.lines
	}
	var sign string
	var lines []string
	if !m.hidden(it) {
		sign, lines = it.block.lay(m.page(it))
	}
	if it.state == changed && m.holds(it, lines) {
		it.state, it.held = laid, true
		return it.lines
	}
	if it.state == changed && !m.follow && it.seq >= m.seen {
		m.news += max(0, len(lines)-it.peak)
	} else {
		it.peak = 0
	}
	it.peak = max(it.peak, len(lines))
	m.laid -= it.weight()
	it.sign, it.lines, it.state, it.marked = sign, lines, laid, false
	m.laid += it.weight()
	return lines
}

// holds reports whether an item has to keep its old lines, because the reader's
// top line is one of them and would become another: the window on the end of a
// running command or of thinking moves on, output is replaced. It lasts until
// the reader moves. Answers only grow, and the first line is a title.
func (m *Model) holds(it *item, lines []string) bool {
	at := m.top.line
	if m.vanishes(it, lines) {
		return true
	}
	if m.follow || at <= 0 || m.items[m.top.item] != it || it.kind == anAnswer || at >= len(it.lines) {
		return false
	}
	return at >= len(lines) || lines[at] != it.lines[at]
}

// first returns the first row of item i; an item without lines has none.
func (m *Model) first(i int) pos {
	if i > 0 && len(m.lay(m.items[i])) > 0 && !m.joins(i) {
		return pos{i, -1}
	}
	return pos{i, 0}
}

// end returns the row after the last one.
func (m *Model) end() pos {
	i := len(m.items) - 1
	return pos{i, len(m.lay(m.items[i]))}
}

// up goes n rows up, or to the first one.
func (m *Model) up(p pos, n int) pos {
	for {
		first := m.first(p.item)
		rows := p.line - first.line
		if n <= rows {
			return pos{p.item, p.line - n}
		}
		if p.item == 0 {
			return first
		}
		n -= rows
		p = pos{p.item - 1, len(m.lay(m.items[p.item-1]))}
	}
}

// down goes n rows down. If there are not as many it gives the end, and false.
func (m *Model) down(p pos, n int) (pos, bool) {
	for {
		rows := len(m.lay(m.items[p.item])) - p.line
		if n < rows {
			return pos{p.item, p.line + n}, true
		}
		n -= rows
		if p.item == len(m.items)-1 {
			return m.end(), false
		}
		p = m.first(p.item + 1)
	}
}

// before reports whether row p is above row q.
func (p pos) before(q pos) bool {
	return p.item < q.item || p.item == q.item && p.line < q.line
}

// settle makes top a row that exists.
func (m *Model) settle() {
	if len(m.items) == 0 {
		m.follow = true
	}
	if m.follow {
		return
	}
	m.top.item = min(m.top.item, len(m.items)-1)
	lines := m.lay(m.items[m.top.item])
	if m.place.ok && m.place.moved {
		m.top.line = m.place.find(lines)
		m.place.moved = false
	}
	for len(lines) == 0 && m.top.item < len(m.items)-1 {
		m.top = m.first(m.top.item + 1)
		lines = m.lay(m.items[m.top.item])
	}
	if len(lines) == 0 { // nothing to see from here on
		m.top = m.up(m.end(), max(m.window(), 1))
		lines = m.lay(m.items[m.top.item])
	}
	m.top.line = max(m.first(m.top.item).line, min(m.top.line, len(lines)-1))
}

// freeze returns top its value where the reader is at the bottom, so that things
// can be counted from it. It reports whether there is anything to move through.
func (m *Model) freeze() bool {
	if len(m.items) == 0 || m.window() <= 0 {
		return false
	}
	if m.follow {
		m.top = m.up(m.end(), m.window())
		return true
	}
	if it := m.items[min(m.top.item, len(m.items)-1)]; it.held {
		it.state, it.held = stale, false
	}
	m.settle()
	return true
}

// arrive ends a movement of the reader's: it decides whether what comes is
// followed from here.
func (m *Model) arrive() {
	bottom, inside := m.down(m.top, m.window())
	if !inside {
		m.top = m.up(m.end(), m.window())
	}
	if !inside && !m.pinned() {
		m.Bottom()
		return
	}
	if m.follow {
		m.follow, m.seen = false, m.items[len(m.items)-1].seq
	}
	m.measure()
	m.news = m.below(bottom, m.news)
	m.place, m.dirty = place{}, true
}

// below counts the lines from a row on, up to a limit.
func (m *Model) below(p pos, limit int) int {
	if limit == 0 {
		return 0
	}
	n := len(m.lay(m.items[p.item])) - max(p.line, 0)
	for i := p.item + 1; i < len(m.items) && n < limit; i++ {
		n += countRows(m, m.items[i])
	}
	return min(n, limit)
}

// Scroll moves by lines: down, or up if negative.
func (m *Model) Scroll(lines int) {
	if m.details != nil {
		m.details.Scroll(lines)
		return
	}
	if !m.freeze() {
		return
	}
	if lines < 0 {
		m.mouse.followed = false
		m.top = m.up(m.top, -lines)
	} else if p, ok := m.down(m.top, lines); ok {
		m.top = p
	} else {
		m.top = m.up(p, 1)
	}
	m.arrive()
}

// Page moves by windows, or parts of one: down, or up if negative. A whole one
// leaves a row in sight.
func (m *Model) Page(n float64) {
	rows := max(1, int(math.Abs(n)*float64(m.window()-1)+0.5))
	if n < 0 {
		rows = -rows
	}
	m.Scroll(rows)
}

// Top goes to the beginning.
func (m *Model) Top() {
	if m.details != nil {
		m.details.Top()
		return
	}
	m.jump(pos{})
}

// jump puts a row at the top.
func (m *Model) jump(p pos) {
	if m.freeze() {
		m.top = p
		m.arrive()
	}
}

// Bottom goes to the end and follows what comes.
func (m *Model) Bottom() {
	if m.details != nil {
		m.details.Bottom()
		return
	}
	m.follow, m.place, m.dirty, m.news = true, place{}, true, 0
	for _, it := range m.grown {
		it.awaited = false
	}
	m.grown = m.grown[:0]
}

// AtBottom reports whether the reader follows what comes.
func (m *Model) AtBottom() bool { return m.follow }

// NewLines returns how many lines have come below what a reader who is not at the
// bottom sees.
func (m *Model) NewLines() int {
	m.measure()
	return m.news
}

// measure lays out what has grown since, to count it.
func (m *Model) measure() {
	for _, it := range m.grown {
		it.awaited = false
		m.lay(it)
	}
	m.grown = m.grown[:0]
}

// PrevUser goes to the user's message before the top row.
func (m *Model) PrevUser() {
	if m.details != nil || !m.freeze() {
		return
	}
	for i := m.top.item; i >= 0; i-- {
		if p := (pos{i, 0}); m.items[i].kind == aUser && p.before(m.top) {
			m.jump(p)
			return
		}
	}
	m.Top()
}

// NextUser goes to the user's message after the top row, or to the end.
func (m *Model) NextUser() {
	if m.details != nil || !m.freeze() {
		return
	}
	for i := m.top.item; i < len(m.items); i++ {
		if p := (pos{i, 0}); m.items[i].kind == aUser && m.top.before(p) {
			m.jump(p)
			return
		}
	}
	m.Bottom()
}

// A place is a line of an item in words that hold at every width: how many
// letters stand before it. It is kept over several changes of the width, until
// the reader moves, so that it does not wander.
type place struct {
	ok, moved bool
	letters   int // of the lines before
	blanks    int // lines without letters from here to the next one with some
	gap       bool
}

// mark remembers what stands at the top, before the width changes.
func (m *Model) mark() {
	if m.follow || len(m.items) == 0 {
		return
	}
	m.place.moved = true
	if it := m.items[m.top.item]; !m.place.ok {
		m.place = markIn(it.lines, m.top.line)
	}
}

func markIn(lines []string, at int) place {
	p := place{ok: len(lines) > 0, moved: true, gap: at < 0}
	for i, line := range lines {
		n := letters(line)
		switch {
		case i < at:
			p.letters += n
		case n > 0:
			return p
		default:
			p.blanks++
		}
	}
	return p
}

// find returns the line where the letter after those before the place stands.
func (p place) find(lines []string) int {
	if p.gap {
		return -1
	}
	left, blanks := p.letters, 0
	for i, line := range lines {
		n := letters(line)
		if n > left {
			return i - min(blanks, p.blanks)
		}
		left -= n
		blanks++
		if n > 0 {
			blanks = 0
		}
	}
	return max(0, len(lines)-max(1, p.blanks))
}

// letters counts letters and digits: what wrapping, borders and rules leave
// alone.
func letters(line string) int {
	n := 0
	for {
		i := strings.IndexByte(line, '\x1b')
		part := line
		if i >= 0 {
			part = line[:i]
		}
		for _, r := range part {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
		if i < 0 {
			return n
		}
		line = line[i+escape(line[i:]):]
	}
}
