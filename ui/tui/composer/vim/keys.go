package vim

import "parley/ui/tui/composer"

// A motion computes the target of a cursor movement.
type motion func(m *composer.Buffer, v *Vim) motionTarget

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
	{"h", func(m *composer.Buffer, v *Vim) motionTarget {
		return exclusive(max(m.Cur-v.repeatCount(), m.LineStart(m.Cur)))
	}},
	{"l", func(m *composer.Buffer, v *Vim) motionTarget {
		return exclusive(min(m.Cur+v.repeatCount(), m.LineEnd(m.Cur)))
	}},
	{" ", func(m *composer.Buffer, v *Vim) motionTarget {
		return exclusive(min(m.Cur+v.repeatCount(), m.LineEnd(m.Cur)))
	}},
	{"0", func(m *composer.Buffer, v *Vim) motionTarget { return exclusive(m.LineStart(m.Cur)) }},
	{"^", func(m *composer.Buffer, v *Vim) motionTarget { return exclusive(firstInLine(m, m.Cur)) }},
	{"$", func(m *composer.Buffer, v *Vim) motionTarget {
		return exclusive(m.LineEnd(lineBelow(m, m.Cur, v.repeatCount()-1)))
	}},
	{"w", func(m *composer.Buffer, v *Vim) motionTarget { return exclusive(moveWords(m, v, nextWord, inWord)) }},
	{"W", func(m *composer.Buffer, v *Vim) motionTarget { return exclusive(moveWords(m, v, nextWord, inField)) }},
	{"b", func(m *composer.Buffer, v *Vim) motionTarget { return exclusive(moveWords(m, v, wordStart, inWord)) }},
	{"B", func(m *composer.Buffer, v *Vim) motionTarget { return exclusive(moveWords(m, v, wordStart, inField)) }},
	{"e", func(m *composer.Buffer, v *Vim) motionTarget { return inclusive(moveWords(m, v, wordEnd, inWord)) }},
	{"E", func(m *composer.Buffer, v *Vim) motionTarget { return inclusive(moveWords(m, v, wordEnd, inField)) }},
	{"j", func(m *composer.Buffer, v *Vim) motionTarget { return lineAway(m, v.repeatCount()) }},
	{"k", func(m *composer.Buffer, v *Vim) motionTarget { return lineAway(m, -v.repeatCount()) }},
	{"gg", func(m *composer.Buffer, v *Vim) motionTarget {
		return motionTarget{at: firstInLine(m, lineBelow(m, 0, v.repeatCount()-1)), lines: true, ok: true}
	}},
	{"G", func(m *composer.Buffer, v *Vim) motionTarget {
		if v.count == 0 && v.countBefore == 0 {
			return motionTarget{at: firstInLine(m, len(m.Units)), lines: true, ok: true}
		}
		return motionTarget{at: firstInLine(m, lineBelow(m, 0, v.repeatCount()-1)), lines: true, ok: true}
	}},
	{";", func(m *composer.Buffer, v *Vim) motionTarget { return seek(m, v.lastFind, v.repeatCount(), true) }},
	{",", func(m *composer.Buffer, v *Vim) motionTarget {
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
	do  func(m *composer.Buffer, v *Vim, n int)
}{
	{"x", func(m *composer.Buffer, v *Vim, n int) { v.operate(m, "d", m.Cur, min(m.Cur+n, m.LineEnd(m.Cur))) }},
	{"X", func(m *composer.Buffer, v *Vim, n int) { v.operate(m, "d", max(m.Cur-n, m.LineStart(m.Cur)), m.Cur) }},
	{"s", func(m *composer.Buffer, v *Vim, n int) { v.operate(m, "c", m.Cur, min(m.Cur+n, m.LineEnd(m.Cur))) }},
	{"D", func(m *composer.Buffer, v *Vim, n int) { v.operate(m, "d", m.Cur, m.LineEnd(lineBelow(m, m.Cur, n-1))) }},
	{"C", func(m *composer.Buffer, v *Vim, n int) { v.operate(m, "c", m.Cur, m.LineEnd(lineBelow(m, m.Cur, n-1))) }},
	{"S", func(m *composer.Buffer, v *Vim, n int) { v.linewise(m, "c", m.Cur, lineBelow(m, m.Cur, n-1)) }},
	{"Y", func(m *composer.Buffer, v *Vim, n int) { v.linewise(m, "y", m.Cur, lineBelow(m, m.Cur, n-1)) }},
	{"p", func(m *composer.Buffer, v *Vim, n int) { v.put(m, n, true) }},
	{"P", func(m *composer.Buffer, v *Vim, n int) { v.put(m, n, false) }},
	{"u", func(m *composer.Buffer, v *Vim, n int) {
		for range n {
			m.Undo()
		}
	}},
	{"i", func(m *composer.Buffer, v *Vim, _ int) { v.insertAt(m, m.Cur, "") }},
	{"a", func(m *composer.Buffer, v *Vim, _ int) { v.insertAt(m, min(m.Cur+1, m.LineEnd(m.Cur)), "") }},
	{"I", func(m *composer.Buffer, v *Vim, _ int) { v.insertAt(m, firstInLine(m, m.Cur), "") }},
	{"A", func(m *composer.Buffer, v *Vim, _ int) { v.insertAt(m, m.LineEnd(m.Cur), "") }},
	{"o", func(m *composer.Buffer, v *Vim, _ int) { v.insertAt(m, m.LineEnd(m.Cur), "\n") }},
	{"O", func(m *composer.Buffer, v *Vim, _ int) {
		v.insertAt(m, m.LineStart(m.Cur), "\n")
		m.Cur--
	}},
	{"v", func(m *composer.Buffer, v *Vim, _ int) { v.mode, v.anchor = modeVisual, m.Cur }},
}

// commandOf returns the effect of a key in normal mode, or nil.
func commandOf(key string) func(m *composer.Buffer, v *Vim, n int) {
	for _, c := range vimCommands {
		if c.key == key {
			return c.do
		}
	}
	return nil
}

// command handles a character in normal mode that is not a motion.
func (v *Vim) command(m *composer.Buffer, key string) {
	n := v.repeatCount()
	switch operator := v.operator; {
	case operator == "" && (key == "d" || key == "c" || key == "y"):
		v.operator, v.countBefore, v.count = key, v.count, 0
	case operator != "":
		v.clearCommand()
		if key == operator { // dd, cc, yy
			v.linewise(m, key, m.Cur, lineBelow(m, m.Cur, n-1))
		}
	default:
		v.clearCommand()
		if do := commandOf(key); do != nil {
			do(m, v, n)
		}
	}
}

// insertAt inserts text at i and starts insert mode after it.
func (v *Vim) insertAt(m *composer.Buffer, i int, text string) {
	v.Insert()
	m.Cur = i
	if text != "" {
		m.Insert(text)
	}
}

// maxPut is how many units a command puts at most, unless the register alone has more.
const maxPut = 64 << 10

// put inserts the register n times: after the cursor if after is set, else
// before it. Lines go below or above the cursor's line.
func (v *Vim) put(m *composer.Buffer, n int, after bool) {
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
	at := m.Cur
	switch {
	case v.registerIsLines && after:
		at = m.LineEnd(m.Cur)
	case v.registerIsLines:
		at = m.LineStart(m.Cur)
	case after:
		at = min(m.Cur+1, m.LineEnd(m.Cur))
	}
	m.Replace(at, at, units)
	switch {
	case v.registerIsLines && after:
		m.Cur = firstInLine(m, at+1)
	case v.registerIsLines:
		m.Cur = firstInLine(m, at)
	default:
		m.Cur = max(m.Cur-1, 0)
	}
}

// overwrite replaces the counted characters at the cursor with char, if the
// line has that many.
func (v *Vim) overwrite(m *composer.Buffer, char string) {
	n := v.repeatCount()
	v.clearCommand()
	if m.Cur+n > m.LineEnd(m.Cur) {
		return
	}
	at := m.Cur
	var units []composer.Unit
	for range n {
		units = append(units, composer.Split(char)...)
	}
	m.Replace(at, at+n, units)
	m.Cur = max(m.Cur-1, at)
}
