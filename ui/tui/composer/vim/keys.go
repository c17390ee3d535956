package vim

import "parley/ui/tui/composer"

// A motion computes the target of a cursor movement.
type motion func(m *composer.Buffer, v *state) motionTarget

type motionTarget struct {
	at        int
	inclusive bool // an operator includes the character at the target
	lines     bool // an operator includes whole lines
	ok        bool
}

// vimMotions lists the motions with their keys.
var vimMotions = []struct {
	key string
	to  motion
}{
	{"h", func(m *composer.Buffer, v *state) motionTarget {
		return exclusive(max(m.Cursor-v.repeatCount(), m.LineStart(m.Cursor)))
	}},
	{"l", func(m *composer.Buffer, v *state) motionTarget {
		return exclusive(min(m.Cursor+v.repeatCount(), m.LineEnd(m.Cursor)))
	}},
	{" ", func(m *composer.Buffer, v *state) motionTarget {
		return exclusive(min(m.Cursor+v.repeatCount(), m.LineEnd(m.Cursor)))
	}},
	{"0", func(m *composer.Buffer, v *state) motionTarget { return exclusive(m.LineStart(m.Cursor)) }},
	{"^", func(m *composer.Buffer, v *state) motionTarget { return exclusive(firstInLine(m, m.Cursor)) }},
	{"$", func(m *composer.Buffer, v *state) motionTarget {
		return exclusive(m.LineEnd(lineBelow(m, m.Cursor, v.repeatCount()-1)))
	}},
	{"w", func(m *composer.Buffer, v *state) motionTarget { return exclusive(moveWords(m, v, nextWord, inWord)) }},
	{"W", func(m *composer.Buffer, v *state) motionTarget { return exclusive(moveWords(m, v, nextWord, inField)) }},
	{"b", func(m *composer.Buffer, v *state) motionTarget { return exclusive(moveWords(m, v, wordStart, inWord)) }},
	{"B", func(m *composer.Buffer, v *state) motionTarget { return exclusive(moveWords(m, v, wordStart, inField)) }},
	{"e", func(m *composer.Buffer, v *state) motionTarget { return inclusive(moveWords(m, v, wordEnd, inWord)) }},
	{"E", func(m *composer.Buffer, v *state) motionTarget { return inclusive(moveWords(m, v, wordEnd, inField)) }},
	{"j", func(m *composer.Buffer, v *state) motionTarget { return lineAway(m, v.repeatCount()) }},
	{"k", func(m *composer.Buffer, v *state) motionTarget { return lineAway(m, -v.repeatCount()) }},
	{"gg", func(m *composer.Buffer, v *state) motionTarget {
		return motionTarget{at: firstInLine(m, lineBelow(m, 0, v.repeatCount()-1)), lines: true, ok: true}
	}},
	{"G", func(m *composer.Buffer, v *state) motionTarget {
		if v.count == 0 && v.countBefore == 0 {
			return motionTarget{at: firstInLine(m, len(m.Units)), lines: true, ok: true}
		}
		return motionTarget{at: firstInLine(m, lineBelow(m, 0, v.repeatCount()-1)), lines: true, ok: true}
	}},
	{";", func(m *composer.Buffer, v *state) motionTarget { return seek(m, v.lastFind, v.repeatCount(), true) }},
	{",", func(m *composer.Buffer, v *state) motionTarget {
		return seek(m, v.lastFind.reversed(), v.repeatCount(), true)
	}},
}

// motionOf returns the motion of a key, or nil.
func motionOf(key string) motion {
	for _, m := range vimMotions {
		if m.key == key {
			return m.to
		}
	}
	return nil
}

func exclusive(at int) motionTarget { return motionTarget{at: at, ok: true} }
func inclusive(at int) motionTarget { return motionTarget{at: at, inclusive: true, ok: true} }

// vimCommands lists the other keys of normal mode; n is their count.
var vimCommands = []struct {
	key string
	do  func(m *composer.Buffer, v *state, n int)
}{
	{"x", func(m *composer.Buffer, v *state, n int) {
		v.operate(m, "d", m.Cursor, min(m.Cursor+n, m.LineEnd(m.Cursor)))
	}},
	{"X", func(m *composer.Buffer, v *state, n int) {
		v.operate(m, "d", max(m.Cursor-n, m.LineStart(m.Cursor)), m.Cursor)
	}},
	{"s", func(m *composer.Buffer, v *state, n int) {
		v.operate(m, "c", m.Cursor, min(m.Cursor+n, m.LineEnd(m.Cursor)))
	}},
	{"D", func(m *composer.Buffer, v *state, n int) {
		v.operate(m, "d", m.Cursor, m.LineEnd(lineBelow(m, m.Cursor, n-1)))
	}},
	{"C", func(m *composer.Buffer, v *state, n int) {
		v.operate(m, "c", m.Cursor, m.LineEnd(lineBelow(m, m.Cursor, n-1)))
	}},
	{"S", func(m *composer.Buffer, v *state, n int) { v.linewise(m, "c", m.Cursor, lineBelow(m, m.Cursor, n-1)) }},
	{"Y", func(m *composer.Buffer, v *state, n int) { v.linewise(m, "y", m.Cursor, lineBelow(m, m.Cursor, n-1)) }},
	{"p", func(m *composer.Buffer, v *state, n int) { v.put(m, n, true) }},
	{"P", func(m *composer.Buffer, v *state, n int) { v.put(m, n, false) }},
	{"u", func(m *composer.Buffer, v *state, n int) {
		for range n {
			m.Undo()
		}
	}},
	{"i", func(m *composer.Buffer, v *state, _ int) { v.insertAt(m, m.Cursor, "") }},
	{"a", func(m *composer.Buffer, v *state, _ int) { v.insertAt(m, min(m.Cursor+1, m.LineEnd(m.Cursor)), "") }},
	{"I", func(m *composer.Buffer, v *state, _ int) { v.insertAt(m, firstInLine(m, m.Cursor), "") }},
	{"A", func(m *composer.Buffer, v *state, _ int) { v.insertAt(m, m.LineEnd(m.Cursor), "") }},
	{"o", func(m *composer.Buffer, v *state, _ int) { v.insertAt(m, m.LineEnd(m.Cursor), "\n") }},
	{"O", func(m *composer.Buffer, v *state, _ int) {
		v.insertAt(m, m.LineStart(m.Cursor), "\n")
		m.Cursor--
	}},
	{"v", func(m *composer.Buffer, v *state, _ int) { v.mode, v.anchor = modeVisual, m.Cursor }},
}

// commandOf returns the effect of a key in normal mode, or nil.
func commandOf(key string) func(m *composer.Buffer, v *state, n int) {
	for _, c := range vimCommands {
		if c.key == key {
			return c.do
		}
	}
	return nil
}

// command handles a character in normal mode that is not a motion.
func (v *state) command(m *composer.Buffer, key string) {
	n := v.repeatCount()
	switch operator := v.operator; {
	case operator == "" && (key == "d" || key == "c" || key == "y"):
		v.operator, v.countBefore, v.count = key, v.count, 0
	case operator != "":
		v.clearCommand()
		if key == operator { // dd, cc, yy
			v.linewise(m, key, m.Cursor, lineBelow(m, m.Cursor, n-1))
		}
	default:
		v.clearCommand()
		if do := commandOf(key); do != nil {
			do(m, v, n)
		}
	}
}

// insertAt inserts text at i and starts insert mode after it.
func (v *state) insertAt(m *composer.Buffer, i int, text string) {
	v.Insert()
	m.Cursor = i
	if text != "" {
		m.Insert(text)
	}
}

// maxPut is how many units a command puts at most, unless the register alone has more.
const maxPut = 64 << 10

// put inserts the register n times: after the cursor if after is set, else
// before it. Lines go below or above the cursor's line.
func (v *state) put(m *composer.Buffer, n int, after bool) {
	if len(v.register) == 0 && !v.registerIsLines {
		return
	}
	n = min(n, max(maxPut/max(len(v.register), 1), 1))
	lineEnd := composer.Unit{Text: "\n", Kind: composer.KindNewline}
	var units []composer.Unit
	for range n {
		if v.registerIsLines && after {
			units = append(units, lineEnd)
		}
		units = append(units, v.register...)
		if v.registerIsLines && !after {
			units = append(units, lineEnd)
		}
	}
	at := m.Cursor
	switch {
	case v.registerIsLines && after:
		at = m.LineEnd(m.Cursor)
	case v.registerIsLines:
		at = m.LineStart(m.Cursor)
	case after:
		at = min(m.Cursor+1, m.LineEnd(m.Cursor))
	}
	m.Replace(at, at, units)
	switch {
	case v.registerIsLines && after:
		m.Cursor = firstInLine(m, at+1)
	case v.registerIsLines:
		m.Cursor = firstInLine(m, at)
	default:
		m.Cursor = max(m.Cursor-1, 0)
	}
}

// overwrite replaces the counted characters at the cursor with char, if the
// line has that many.
func (v *state) overwrite(m *composer.Buffer, char string) {
	n := v.repeatCount()
	v.clearCommand()
	if m.Cursor+n > m.LineEnd(m.Cursor) {
		return
	}
	at := m.Cursor
	var units []composer.Unit
	for range n {
		units = append(units, composer.Split(char)...)
	}
	m.Replace(at, at+n, units)
	m.Cursor = max(m.Cursor-1, at)
}
