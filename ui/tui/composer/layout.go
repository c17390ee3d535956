package composer

import "sort"

// A row is a line of the screen: the units from start up to end.
type row struct{ start, end int }

// A layout is text laid out in rows of at most width cells.
type layout struct {
	rows    []row
	width   int
	laidOut int // changes of the buffer that rows show
}

// update brings the rows up to date. A text that is written is short: large pastes are chips.
func (l *layout) update(b *buffer, width int) {
	if width == l.width && b.changes == l.laidOut && len(l.rows) > 0 {
		return
	}
	l.rows, l.width, l.laidOut = l.rows[:0], width, b.changes
	for next, more := 0, true; more; {
		r := row{start: next}
		r.end, next, more = breakRow(b.units, next, width)
		l.rows = append(l.rows, r)
	}
}

// breakRow returns where the row that begins at start ends, and where the next one
// begins, if there is more. Rows break after spaces and around wide characters
// and chips, and within a word only if it is longer than a row. Spaces that
// would open a row hang, unseen, at the end of the last.
func breakRow(units []unit, start, width int) (end, next int, more bool) {
	used, brk := 0, start
	for k := start; k < len(units); k++ {
		u := units[k]
		if u.kind == kindNewline {
			return k, k + 1, true
		}
		if k > start && canBreak(units[k-1], u) {
			brk = k
		}
		need := u.cells(width)
		if used+need > width && k > start && !isSpace(u) {
			if brk <= start {
				brk = k
			}
			return brk, brk, true
		}
		used = min(used+need, width)
	}
	return len(units), 0, false
}

func canBreak(before, after unit) bool {
	if isSpace(after) {
		return false
	}
	return isSpace(before) || before.width != 1 || after.width != 1
}

// rowOf returns the row in which the unit of this index, or the cursor before it, stands.
func (l *layout) rowOf(index int) int {
	return max(sort.Search(len(l.rows), func(i int) bool { return l.rows[i].start > index })-1, 0)
}

// column returns how many cells stand before the cursor at index in its row.
func (l *layout) column(units []unit, index int) int {
	return l.used(units, l.rows[l.rowOf(index)].start, index)
}

// used returns how many cells the units from start to end of one row take. Spaces
// that hang take none.
func (l *layout) used(units []unit, start, end int) int {
	cells := 0
	for _, u := range units[start:end] {
		cells += u.cells(l.width)
	}
	return min(cells, l.width)
}

// index returns the place in row r that comes closest to column col from the left.
func (l *layout) index(units []unit, r, col int) int {
	end := l.rows[r].end
	if r+1 < len(l.rows) && l.rows[r+1].start == end && end > l.rows[r].start {
		end-- // the place after the last unit of a wrapped row is in the next row
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
