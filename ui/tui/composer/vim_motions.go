package composer

import "strings"

// Targets of vim's motions. Indexes may be len(units), after the last unit.

// A charFind is a search with f, F, t or T.
type charFind struct{ key, char string }

// reversed returns f in the other direction.
func (f charFind) reversed() charFind {
	return charFind{map[string]string{"f": "F", "F": "f", "t": "T", "T": "t"}[f.key], f.char}
}

// seek returns the position of the nth occurrence of a character in the line, or
// the position next to it. A repeated t does not stop at the current position.
func (m *editor) seek(f charFind, n int, again bool) motionTarget {
	start, end := m.lineStart(m.cur), m.lineEnd(m.cur)
	by, i := 1, m.cur
	if f.key == "F" || f.key == "T" {
		by = -1
	}
	short := f.key == "t" || f.key == "T"
	if short && again {
		i += by
	}
	for range n {
		for i += by; i >= start && i < end && m.units[i].text != f.char; i += by {
		}
		if i < start || i >= end || f.key == "" {
			return motionTarget{}
		}
	}
	if short {
		i -= by
	}
	return motionTarget{at: i, inclusive: by > 0, ok: true}
}

// firstInLine returns the position of the first non-space character of a line.
func (m *editor) firstInLine(i int) int {
	end := m.lineEnd(min(i, len(m.units)))
	for i = m.lineStart(end); i < end && isSpace(m.units[i]); i++ {
	}
	return i
}

// lineBelow returns a position in the line n below the line of i, or in the last line.
func (b *buffer) lineBelow(i, n int) int {
	for ; n > 0; n-- {
		end := b.lineEnd(i)
		if end == len(b.units) {
			break
		}
		i = end + 1
	}
	return i
}

// lineAway returns the same column in the line n below, or above if n is negative, but not
// beyond the first or last line. There is no target if the cursor is already there.
func (m *editor) lineAway(n int) motionTarget {
	start := m.lineStart(m.cur)
	column, line := m.cur-start, start
	for ; n < 0 && line > 0; n++ {
		line = m.lineStart(line - 1)
	}
	if n > 0 {
		line = m.lineStart(m.lineBelow(m.cur, n))
	}
	return motionTarget{at: min(line+column, m.lineEnd(line)), lines: true, ok: line != start}
}

// A wordClass returns the class of a unit. Neighbors of the same class form a
// word. The class of spaces and line ends is 0.
type wordClass func(unit) int

func inWord(u unit) int {
	switch {
	case isBlank(u):
		return 0
	case u.kind == kindChip:
		return 3
	case isWord(u):
		return 1
	}
	return 2
}

func inField(u unit) int {
	if isBlank(u) {
		return 0
	}
	return 1
}

func isBlank(u unit) bool { return u.kind == kindNewline || isSpace(u) }

// moveWords moves by the command's count of words.
func (m *editor) moveWords(v *vim, next func(int, wordClass) int, in wordClass) int {
	i := m.cur
	for range v.repeatCount() {
		i = next(i, in)
	}
	return i
}

// nextWord returns the start of the next word. An empty line is a word.
func (b *buffer) nextWord(i int, in wordClass) int {
	start := i
	for i < len(b.units) && in(b.units[i]) != 0 && in(b.units[i]) == in(b.units[start]) {
		i++
	}
	for i < len(b.units) && in(b.units[i]) == 0 && (i == start || !b.emptyLine(i)) {
		i++
	}
	return i
}

// wordStart returns the start of the word before i.
func (b *buffer) wordStart(i int, in wordClass) int {
	for i--; i > 0 && in(b.units[i]) == 0 && !b.emptyLine(i); i-- {
	}
	for i > 0 && in(b.units[i-1]) != 0 && in(b.units[i-1]) == in(b.units[i]) {
		i--
	}
	return max(i, 0)
}

// wordEnd returns the position of the last character of the word at i, or of the next word.
func (b *buffer) wordEnd(i int, in wordClass) int {
	for i++; i < len(b.units) && in(b.units[i]) == 0; i++ {
	}
	for i+1 < len(b.units) && in(b.units[i+1]) == in(b.units[i]) {
		i++
	}
	return max(min(i, len(b.units)-1), 0)
}

// emptyLine reports whether the line end at i belongs to an empty line.
func (b *buffer) emptyLine(i int) bool {
	return b.units[i].kind == kindNewline && (i == 0 || b.units[i-1].kind == kindNewline)
}

// withinLine shortens the range of an operator that reaches to the next word,
// at j, so that it does not extend into a line in which it would take nothing.
func (b *buffer) withinLine(i, j int) int {
	end := j
	for end > i && isBlank(b.units[end-1]) {
		end--
	}
	if n := strings.IndexByte(text(b.units[end:j]), '\n'); n >= 0 {
		return end + n // blanks have one byte each
	}
	return j
}
