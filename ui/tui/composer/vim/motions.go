package vim

import (
	"slices"

	"parley/ui/tui/composer"
)

// Targets of vim's motions. Indexes may be len(Units), after the last unit.

// A charFind is a search with f, F, t or T.
type charFind struct{ key, char string }

// reversed returns f in the other direction.
func (f charFind) reversed() charFind {
	return charFind{map[string]string{"f": "F", "F": "f", "t": "T", "T": "t"}[f.key], f.char}
}

// seek returns the position of the nth occurrence of a character in the line, or
// the position next to it. A repeated t does not stop at the current position.
func seek(m *composer.Buffer, f charFind, n int, again bool) motionTarget {
	start, end := m.LineStart(m.Cursor), m.LineEnd(m.Cursor)
	by, i := 1, m.Cursor
	if f.key == "F" || f.key == "T" {
		by = -1
	}
	short := f.key == "t" || f.key == "T"
	if short && again {
		i += by
	}
	for range n {
		for i += by; i >= start && i < end && m.Units[i].Text != f.char; i += by {
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
func firstInLine(m *composer.Buffer, i int) int {
	end := m.LineEnd(min(i, len(m.Units)))
	for i = m.LineStart(end); i < end && composer.IsSpace(m.Units[i]); i++ {
	}
	return i
}

// lineBelow returns a position in the line n below the line of i, or in the last line.
func lineBelow(b *composer.Buffer, i, n int) int {
	for ; n > 0; n-- {
		end := b.LineEnd(i)
		if end == len(b.Units) {
			break
		}
		i = end + 1
	}
	return i
}

// lineAway returns the same column in the line n below, or above if n is negative, but not
// beyond the first or last line. There is no target if the cursor is already there.
func lineAway(m *composer.Buffer, n int) motionTarget {
	start := m.LineStart(m.Cursor)
	column, line := m.Cursor-start, start
	for ; n < 0 && line > 0; n++ {
		line = m.LineStart(line - 1)
	}
	if n > 0 {
		line = m.LineStart(lineBelow(m, m.Cursor, n))
	}
	return motionTarget{at: min(line+column, m.LineEnd(line)), lines: true, ok: line != start}
}

// A wordClass returns the class of a unit. Neighbors of the same class form a
// word. The class of spaces and line ends is 0.
type wordClass func(composer.Unit) int

func inWord(u composer.Unit) int {
	switch {
	case isBlank(u):
		return 0
	case u.Kind == composer.KindChip:
		return 3
	case composer.IsWord(u):
		return 1
	}
	return 2
}

func inField(u composer.Unit) int {
	if isBlank(u) {
		return 0
	}
	return 1
}

func isBlank(u composer.Unit) bool { return u.Kind == composer.KindNewline || composer.IsSpace(u) }

// moveWords moves by the command's count of words.
func moveWords(m *composer.Buffer, v *state, next func(*composer.Buffer, int, wordClass) int, in wordClass) int {
	i := m.Cursor
	for range v.repeatCount() {
		i = next(m, i, in)
	}
	return i
}

// nextWord returns the start of the next word. An empty line is a word.
func nextWord(b *composer.Buffer, i int, in wordClass) int {
	start := i
	for i < len(b.Units) && in(b.Units[i]) != 0 && in(b.Units[i]) == in(b.Units[start]) {
		i++
	}
	for i < len(b.Units) && in(b.Units[i]) == 0 && (i == start || !emptyLine(b, i)) {
		i++
	}
	return i
}

// wordStart returns the start of the word before i.
func wordStart(b *composer.Buffer, i int, in wordClass) int {
	for i--; i > 0 && in(b.Units[i]) == 0 && !emptyLine(b, i); i-- {
	}
	for i > 0 && in(b.Units[i-1]) != 0 && in(b.Units[i-1]) == in(b.Units[i]) {
		i--
	}
	return max(i, 0)
}

// wordEnd returns the position of the last character of the word at i, or of the next word.
func wordEnd(b *composer.Buffer, i int, in wordClass) int {
	for i++; i < len(b.Units) && in(b.Units[i]) == 0; i++ {
	}
	for i+1 < len(b.Units) && in(b.Units[i+1]) == in(b.Units[i]) {
		i++
	}
	return max(min(i, len(b.Units)-1), 0)
}

// emptyLine reports whether the line end at i belongs to an empty line.
func emptyLine(b *composer.Buffer, i int) bool {
	return b.Units[i].Kind == composer.KindNewline && (i == 0 || b.Units[i-1].Kind == composer.KindNewline)
}

// withinLine shortens the range of an operator that reaches to the next word,
// at j, so that it does not extend into a line in which it would take nothing.
func withinLine(b *composer.Buffer, i, j int) int {
	end := j
	for end > i && isBlank(b.Units[end-1]) {
		end--
	}
	if n := slices.IndexFunc(b.Units[end:j], func(u composer.Unit) bool { return u.Kind == composer.KindNewline }); n >= 0 {
		return end + n
	}
	return j
}
