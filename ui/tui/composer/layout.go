package composer

import "sort"

// A row is a line of the screen: the units from start up to end.
type row struct{ start, end int }

// A layout is text laid out in rows of at most width cells.
type layout struct {
	rows    []row
	width   int
	laidOut int // value of buffer.changes that rows show
}

// update updates the rows. It lays out all of the text, which is short because large pastes are chips.
func (l *layout) update(b *Buffer, width int) {
	if width == l.width && b.changes == l.laidOut && len(l.rows) > 0 {
		return
	}
	l.rows, l.width, l.laidOut = l.rows[:0], width, b.changes
	for next, more := 0, true; more; {
		r := row{start: next}
		r.end, next, more = breakRow(b.Units, next, width)
		l.rows = append(l.rows, r)
	}
}

// breakRow returns the end of the row that begins at start, and the start of the
// next one, if more is set. Rows break after spaces and around wide characters and
// chips, and within a word only if it is longer than a row. Spaces that would
// begin a row hang, invisible, at the end of the previous one.
func breakRow(units []Unit, start, width int) (end, next int, more bool) {
	used, brk := 0, start
	for k := start; k < len(units); k++ {
		u := units[k]
		if u.Kind == KindNewline {
			return k, k + 1, true
		}
		if k > start && canBreak(units[k-1], u) {
			brk = k
		}
		need := u.cells(width)
		if used+need > width && k > start && !IsSpace(u) {
			if brk <= start {
				brk = k
			}
			return brk, brk, true
		}
		used = min(used+need, width)
	}
	return len(units), 0, false
}

func canBreak(before, after Unit) bool {
	if IsSpace(after) {
		return false
	}
	return IsSpace(before) || before.width != 1 || after.width != 1
}

// rowOf returns the row that contains the unit, or the cursor, at index.
func (l *layout) rowOf(index int) int {
	return max(sort.Search(len(l.rows), func(i int) bool { return l.rows[i].start > index })-1, 0)
}

// column returns the number of cells before the cursor at index in its row.
func (l *layout) column(units []Unit, index int) int {
	return l.used(units, l.rows[l.rowOf(index)].start, index)
}

// used returns the number of cells of the units from start to end in a row.
// Hanging spaces count as none.
func (l *layout) used(units []Unit, start, end int) int {
	cells := 0
	for _, u := range units[start:end] {
		cells += u.cells(l.width)
	}
	return min(cells, l.width)
}

// index returns the position in row r that is closest to column col from the left.
func (l *layout) index(units []Unit, r, col int) int {
	end := l.rows[r].end
	if r+1 < len(l.rows) && l.rows[r+1].start == end && end > l.rows[r].start {
		end-- // the position after the last unit of a wrapped row is in the next row
	}
	i, used := l.rows[r].start, 0
	for ; i < end; i++ {
		used += units[i].cells(l.width)
		if used > col {
			break
		}
	}
	return i
}
