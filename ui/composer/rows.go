package composer

import "sort"

// A row is a line of the screen: the units from start up to end.
type row struct{ start, end int }

// A layout is text laid out in rows of at most width cells. Laying out again
// starts one row above the first change: a break depends on nothing that stands
// further than one row behind it.
type layout struct {
	rows  []row
	width int
}

// flow brings the rows up to date.
func (l *layout) flow(b *buffer, width int) {
	keep := 0
	if width == l.width && len(l.rows) > 0 {
		if b.touch > len(b.units) {
			return
		}
		keep = max(l.at(b.touch)-1, 0)
	}
	l.width = width
	start := 0
	if keep > 0 {
		start = l.rows[keep].start
	}
	l.rows = fill(l.rows[:keep], b.units, start, width)
	b.touch = len(b.units) + 1
}

// fill appends the rows of the units from start on. Rows break behind spaces
// and around wide characters and chips, and within a word only if it is longer
// than a row. Spaces that would open a row hang, unseen, at the end of the last.
func fill(rows []row, units []unit, start, width int) []row {
	used, brk := 0, start
	for k := start; k < len(units); k++ {
		u := units[k]
		if u.kind == newline {
			rows = append(rows, row{start, k})
			start, used, brk = k+1, 0, k+1
			continue
		}
		if k > start && canBreak(units[k-1], u) {
			brk = k
		}
		need := u.cells(width)
		for used+need > width && k > start && !isSpace(u) {
			if brk <= start {
				brk = k
			}
			rows = append(rows, row{start, brk})
			start, used = brk, 0
			for _, v := range units[start:k] {
				used += v.cells(width)
			}
		}
		used = min(used+need, width)
	}
	return append(rows, row{start, len(units)})
}

func canBreak(before, after unit) bool {
	if isSpace(after) {
		return false
	}
	return isSpace(before) || before.width != 1 || after.width != 1
}

// at is the row in which the unit of this index, or the cursor before it, stands.
func (l *layout) at(index int) int {
	return max(sort.Search(len(l.rows), func(i int) bool { return l.rows[i].start > index })-1, 0)
}

// column is how many cells stand before the cursor at index in its row.
func (l *layout) column(units []unit, index int) int {
	return l.used(units, l.rows[l.at(index)].start, index)
}

// used is how many cells the units from start to end of one row take. Spaces
// that hang take none.
func (l *layout) used(units []unit, start, end int) int {
	cells := 0
	for _, u := range units[start:end] {
		cells += u.cells(l.width)
	}
	return min(cells, l.width)
}

// index is the place in row r that comes closest to column col from the left.
func (l *layout) index(units []unit, r, col int) int {
	end := l.rows[r].end
	if r+1 < len(l.rows) && l.rows[r+1].start == end && end > l.rows[r].start {
		end-- // behind the last unit of a wrapped row stands the next row
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
