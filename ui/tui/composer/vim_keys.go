package composer

// A motion computes the target of a cursor movement.
type motion func(m *editor, v *vim) motionTarget

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
	{"h", func(m *editor, v *vim) motionTarget { return exclusive(max(m.cur-v.repeatCount(), m.lineStart(m.cur))) }},
	{"l", func(m *editor, v *vim) motionTarget { return exclusive(min(m.cur+v.repeatCount(), m.lineEnd(m.cur))) }},
	{" ", func(m *editor, v *vim) motionTarget { return exclusive(min(m.cur+v.repeatCount(), m.lineEnd(m.cur))) }},
	{"0", func(m *editor, v *vim) motionTarget { return exclusive(m.lineStart(m.cur)) }},
	{"^", func(m *editor, v *vim) motionTarget { return exclusive(m.firstInLine(m.cur)) }},
	{"$", func(m *editor, v *vim) motionTarget {
		return exclusive(m.lineEnd(m.lineBelow(m.cur, v.repeatCount()-1)))
	}},
	{"w", func(m *editor, v *vim) motionTarget { return exclusive(m.moveWords(v, m.nextWord, inWord)) }},
	{"W", func(m *editor, v *vim) motionTarget { return exclusive(m.moveWords(v, m.nextWord, inField)) }},
	{"b", func(m *editor, v *vim) motionTarget { return exclusive(m.moveWords(v, m.wordStart, inWord)) }},
	{"B", func(m *editor, v *vim) motionTarget { return exclusive(m.moveWords(v, m.wordStart, inField)) }},
	{"e", func(m *editor, v *vim) motionTarget { return inclusive(m.moveWords(v, m.wordEnd, inWord)) }},
	{"E", func(m *editor, v *vim) motionTarget { return inclusive(m.moveWords(v, m.wordEnd, inField)) }},
	{"j", func(m *editor, v *vim) motionTarget { return m.lineAway(v.repeatCount()) }},
	{"k", func(m *editor, v *vim) motionTarget { return m.lineAway(-v.repeatCount()) }},
	{"gg", func(m *editor, v *vim) motionTarget {
		return motionTarget{at: m.firstInLine(m.lineBelow(0, v.repeatCount()-1)), lines: true, ok: true}
	}},
	{"G", func(m *editor, v *vim) motionTarget {
		if v.count == 0 && v.countBefore == 0 {
			return motionTarget{at: m.firstInLine(len(m.units)), lines: true, ok: true}
		}
		return motionTarget{at: m.firstInLine(m.lineBelow(0, v.repeatCount()-1)), lines: true, ok: true}
	}},
	{";", func(m *editor, v *vim) motionTarget { return m.seek(v.lastFind, v.repeatCount(), true) }},
	{",", func(m *editor, v *vim) motionTarget { return m.seek(v.lastFind.reversed(), v.repeatCount(), true) }},
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
	do  func(m *editor, v *vim, n int)
}{
	{"x", func(m *editor, v *vim, n int) { v.operate(m, "d", m.cur, min(m.cur+n, m.lineEnd(m.cur))) }},
	{"X", func(m *editor, v *vim, n int) { v.operate(m, "d", max(m.cur-n, m.lineStart(m.cur)), m.cur) }},
	{"s", func(m *editor, v *vim, n int) { v.operate(m, "c", m.cur, min(m.cur+n, m.lineEnd(m.cur))) }},
	{"D", func(m *editor, v *vim, n int) { v.operate(m, "d", m.cur, m.lineEnd(m.lineBelow(m.cur, n-1))) }},
	{"C", func(m *editor, v *vim, n int) { v.operate(m, "c", m.cur, m.lineEnd(m.lineBelow(m.cur, n-1))) }},
	{"S", func(m *editor, v *vim, n int) { v.linewise(m, "c", m.cur, m.lineBelow(m.cur, n-1)) }},
	{"Y", func(m *editor, v *vim, n int) { v.linewise(m, "y", m.cur, m.lineBelow(m.cur, n-1)) }},
	{"p", func(m *editor, v *vim, n int) { v.put(m, n, true) }},
	{"P", func(m *editor, v *vim, n int) { v.put(m, n, false) }},
	{"u", func(m *editor, v *vim, n int) {
		for range n {
			m.undo()
		}
	}},
	{"i", func(m *editor, v *vim, _ int) { v.insertAt(m, m.cur, "") }},
	{"a", func(m *editor, v *vim, _ int) { v.insertAt(m, min(m.cur+1, m.lineEnd(m.cur)), "") }},
	{"I", func(m *editor, v *vim, _ int) { v.insertAt(m, m.firstInLine(m.cur), "") }},
	{"A", func(m *editor, v *vim, _ int) { v.insertAt(m, m.lineEnd(m.cur), "") }},
	{"o", func(m *editor, v *vim, _ int) { v.insertAt(m, m.lineEnd(m.cur), "\n") }},
	{"O", func(m *editor, v *vim, _ int) {
		v.insertAt(m, m.lineStart(m.cur), "\n")
		m.cur--
	}},
	{"v", func(m *editor, v *vim, _ int) { v.mode, v.anchor = modeVisual, m.cur }},
}

// commandOf returns the effect of a key in normal mode, or nil.
func commandOf(key string) func(m *editor, v *vim, n int) {
	for _, c := range vimCommands {
		if c.key == key {
			return c.do
		}
	}
	return nil
}

// command handles a character in normal mode that is not a motion.
func (v *vim) command(m *editor, key string) {
	n := v.repeatCount()
	switch operator := v.operator; {
	case operator == "" && (key == "d" || key == "c" || key == "y"):
		v.operator, v.countBefore, v.count = key, v.count, 0
	case operator != "":
		v.clearCommand()
		if key == operator { // dd, cc, yy
			v.linewise(m, key, m.cur, m.lineBelow(m.cur, n-1))
		}
	default:
		v.clearCommand()
		if do := commandOf(key); do != nil {
			do(m, v, n)
		}
	}
}

// insertAt inserts text at i and starts insert mode after it.
func (v *vim) insertAt(m *editor, i int, text string) {
	v.enterInsert(m)
	m.cur = i
	if text != "" {
		m.insert(text)
	}
}

// put inserts the register n times: after the cursor if after is set, else
// before it. Lines go below or above the cursor's line.
func (v *vim) put(m *editor, n int, after bool) {
	if len(v.register) == 0 && !v.registerIsLines {
		return
	}
	n = min(n, max(maxInlineBytes/max(len(v.register), 1), 1))
	lineEnd := unit{text: "\n", kind: kindNewline}
	var units []unit
	for range n {
		if v.registerIsLines && after {
			units = append(units, lineEnd)
		}
		units = append(units, v.register...)
		if v.registerIsLines && !after {
			units = append(units, lineEnd)
		}
	}
	at := m.cur
	switch {
	case v.registerIsLines && after:
		at = m.lineEnd(m.cur)
	case v.registerIsLines:
		at = m.lineStart(m.cur)
	case after:
		at = min(m.cur+1, m.lineEnd(m.cur))
	}
	m.replace(at, at, units)
	switch {
	case v.registerIsLines && after:
		m.cur = m.firstInLine(at + 1)
	case v.registerIsLines:
		m.cur = m.firstInLine(at)
	default:
		m.cur = max(m.cur-1, 0)
	}
}

// overwrite replaces the counted characters at the cursor with char, if the
// line has that many.
func (v *vim) overwrite(m *editor, char string) {
	n := v.repeatCount()
	v.clearCommand()
	if m.cur+n > m.lineEnd(m.cur) {
		return
	}
	at := m.cur
	var units []unit
	for range n {
		units = append(units, split(char)...)
	}
	m.replace(at, at+n, units)
	m.cur = max(m.cur-1, at)
}
