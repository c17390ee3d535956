package renderer

import (
	"slices"
	"strconv"
)

// scroll makes the terminal move rows that only changed their position.
func (g *grid) scroll() {
	const few = 3 // fewer rows are cheaper to rewrite
	first, last := 0, g.h
	for first < last && g.rows[first].text == g.lines[first] {
		first++
	}
	for last > first && g.rows[last-1].text == g.lines[last-1] {
		last--
	}
	if last-first < few {
		return
	}
	if !g.rows[first].known {
		return
	}
	if m := g.findMove(first, last); m.by != 0 && g.moves(m.top, m.bottom) {
		g.move(m)
	}
}

// A move shifts the rows in [top, bottom) up by rows, or down if by is negative.
type move struct{ top, bottom, by int }

// findMove returns the move that saves most for a frame that differs in the rows [first, last). by is
// 0 if no move saves anything.
func (g *grid) findMove(first, last int) move {
	const (
		cost  = 24 // approximate size of the sequences, in bytes
		twice = -1
	)
	clear(g.at)
	for y := first; y < last; y++ {
		if _, ok := g.at[g.rows[y].text]; ok {
			g.at[g.rows[y].text] = twice
			continue
		}
		g.at[g.rows[y].text] = y
	}
	n := last - first
	g.votes = append(g.votes[:0], make([]int, 2*n)...)
	best := n
	for y, line := range g.lines[first:last] {
		if was, ok := g.at[line]; ok && was != twice {
			by := was - first - y + n
			if g.votes[by] += len(line); g.votes[by] > g.votes[best] {
				best = by
			}
		}
	}
	by := best - n
	if by == 0 {
		return move{}
	}
	m := move{top: g.h, by: by}
	gain := -cost
	for y := max(first, first-by); y < min(last, last-by); y++ {
		if g.rows[y+by].text == g.lines[y] {
			gain += len(g.lines[y])
			m.top, m.bottom = min(m.top, y, y+by), max(m.bottom, y+1, y+by+1)
		}
	}
	for y := m.top; y < m.bottom; y++ { // the move displaces rows that are already right
		if g.rows[y].text == g.lines[y] {
			gain -= len(g.lines[y])
		}
	}
	if gain <= 0 {
		return move{}
	}
	return m
}

// move moves rows on the terminal and in the grid. It deletes or inserts lines at the top of a
// scrolling region, which all terminals support.
func (g *grid) move(m move) {
	part := m.bottom < g.h
	if part {
		g.region(m.top+1, m.bottom)
	}
	g.to(0, m.top)
	n := max(m.by, -m.by)
	if m.by > 0 {
		g.csi(n, 'M')
	} else {
		g.csi(n, 'L')
	}
	if part {
		g.out = append(g.out, "\x1b[r"...)
		g.x, g.y = -1, -1
	}
	rows := g.rows[m.top:m.bottom]
	if m.by > 0 {
		rotate(rows, n)
		rows = rows[len(rows)-n:]
	} else {
		rotate(rows, len(rows)-n)
		rows = rows[:n]
	}
	for i := range rows {
		g.styles.read(&rows[i], "", 0)
	}
}

// region sets the scrolling region, in rows from 1.
func (g *grid) region(from, to int) {
	g.out = append(g.out, "\x1b["...)
	g.out = strconv.AppendInt(g.out, int64(from), 10)
	g.out = append(g.out, ';')
	g.out = strconv.AppendInt(g.out, int64(to), 10)
	g.out = append(g.out, 'r')
	g.x, g.y = -1, -1
}

// rotate moves rows[n:] to the front.
func rotate(rows []row, n int) {
	slices.Reverse(rows[:n])
	slices.Reverse(rows[n:])
	slices.Reverse(rows)
}
