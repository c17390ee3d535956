package composer

// A motion tells where the cursor would go.
type motion func(m *Model, v *vim) target

type target struct {
	at      int
	through bool // an operator takes the character there as well
	lines   bool // an operator takes whole lines
	ok      bool
}

// motions by their keys.
var motions = map[string]motion{
	"h": func(m *Model, v *vim) target { return to(max(m.cur-v.times(), m.lineStart(m.cur))) },
	"l": func(m *Model, v *vim) target { return to(min(m.cur+v.times(), m.lineEnd(m.cur))) },
	" ": func(m *Model, v *vim) target { return to(min(m.cur+v.times(), m.lineEnd(m.cur))) },
	"0": func(m *Model, v *vim) target { return to(m.lineStart(m.cur)) },
	"^": func(m *Model, v *vim) target { return to(m.firstInLine(m.cur)) },
	"$": func(m *Model, v *vim) target { return to(m.lineEnd(m.lineBelow(m.cur, v.times()-1))) },
	"w": func(m *Model, v *vim) target { return to(m.hop(v, m.nextWord, inWord)) },
	"W": func(m *Model, v *vim) target { return to(m.hop(v, m.nextWord, inField)) },
	"b": func(m *Model, v *vim) target { return to(m.hop(v, m.wordStart, inWord)) },
	"B": func(m *Model, v *vim) target { return to(m.hop(v, m.wordStart, inField)) },
	"e": func(m *Model, v *vim) target { return onto(m.hop(v, m.wordEnd, inWord)) },
	"E": func(m *Model, v *vim) target { return onto(m.hop(v, m.wordEnd, inField)) },
	"j": func(m *Model, v *vim) target { return m.lineAway(v.times()) },
	"k": func(m *Model, v *vim) target { return m.lineAway(-v.times()) },
	"gg": func(m *Model, v *vim) target {
		return target{at: m.firstInLine(m.lineBelow(0, v.times()-1)), lines: true, ok: true}
	},
	"G": func(m *Model, v *vim) target {
		if v.count == 0 && v.before == 0 {
			return target{at: m.firstInLine(len(m.units)), lines: true, ok: true}
		}
		return target{at: m.firstInLine(m.lineBelow(0, v.times()-1)), lines: true, ok: true}
	},
	";": func(m *Model, v *vim) target { return m.seek(v.found, v.times(), true) },
	",": func(m *Model, v *vim) target { return m.seek(v.found.back(), v.times(), true) },
}

func to(at int) target   { return target{at: at, ok: true} }
func onto(at int) target { return target{at: at, through: true, ok: true} }

// commands lists the keys of normal mode that are no motions; n is their count.
var commands = map[string]func(m *Model, v *vim, n int){
	"x": func(m *Model, v *vim, n int) { v.operate(m, "d", m.cur, min(m.cur+n, m.lineEnd(m.cur))) },
	"X": func(m *Model, v *vim, n int) { v.operate(m, "d", max(m.cur-n, m.lineStart(m.cur)), m.cur) },
	"s": func(m *Model, v *vim, n int) { v.operate(m, "c", m.cur, min(m.cur+n, m.lineEnd(m.cur))) },
	"D": func(m *Model, v *vim, n int) { v.operate(m, "d", m.cur, m.lineEnd(m.lineBelow(m.cur, n-1))) },
	"C": func(m *Model, v *vim, n int) { v.operate(m, "c", m.cur, m.lineEnd(m.lineBelow(m.cur, n-1))) },
	"S": func(m *Model, v *vim, n int) { v.linewise(m, "c", m.cur, m.lineBelow(m.cur, n-1)) },
	"Y": func(m *Model, v *vim, n int) { v.linewise(m, "y", m.cur, m.lineBelow(m.cur, n-1)) },
	"p": func(m *Model, v *vim, n int) { v.put(m, n, true) },
	"P": func(m *Model, v *vim, n int) { v.put(m, n, false) },
	"u": func(m *Model, v *vim, n int) {
		for range n {
			m.undo()
		}
	},
	"i": func(m *Model, v *vim, _ int) { v.insertAt(m, m.cur, "") },
	"a": func(m *Model, v *vim, _ int) { v.insertAt(m, min(m.cur+1, m.lineEnd(m.cur)), "") },
	"I": func(m *Model, v *vim, _ int) { v.insertAt(m, m.firstInLine(m.cur), "") },
	"A": func(m *Model, v *vim, _ int) { v.insertAt(m, m.lineEnd(m.cur), "") },
	"o": func(m *Model, v *vim, _ int) { v.insertAt(m, m.lineEnd(m.cur), "\n") },
	"O": func(m *Model, v *vim, _ int) {
		v.insertAt(m, m.lineStart(m.cur), "\n")
		m.cur--
	},
	"v": func(m *Model, v *vim, _ int) { v.mode, v.anchor = visually, m.cur },
}

// command deals with a character in normal mode that is no motion.
func (v *vim) command(m *Model, key string) {
	n := v.times()
	switch operator := v.operator; {
	case operator == "" && (key == "d" || key == "c" || key == "y"):
		v.operator, v.before, v.count = key, v.count, 0
	case operator != "":
		v.drop()
		if key == operator { // dd, cc, yy
			v.linewise(m, key, m.cur, m.lineBelow(m.cur, n-1))
		}
	default:
		v.drop()
		if do := commands[key]; do != nil {
			do(m, v, n)
		}
	}
}

// insertAt begins to insert at i, behind text.
func (v *vim) insertAt(m *Model, i int, text string) {
	v.enter(m)
	m.cur = i
	if text != "" {
		m.insert(text)
	}
}

// put writes the register n times: behind the cursor or before it, lines below
// or above its own.
func (v *vim) put(m *Model, n int, behind bool) {
	if len(v.register) == 0 && !v.lines {
		return
	}
	n = min(n, max(inline/max(len(v.register), 1), 1))
	lineEnd := unit{text: "\n", kind: newline}
	var units []unit
	for range n {
		if v.lines && behind {
			units = append(units, lineEnd)
		}
		units = append(units, v.register...)
		if v.lines && !behind {
			units = append(units, lineEnd)
		}
	}
	at := m.cur
	switch {
	case v.lines && behind:
		at = m.lineEnd(m.cur)
	case v.lines:
		at = m.lineStart(m.cur)
	case behind:
		at = min(m.cur+1, m.lineEnd(m.cur))
	}
	m.replace(at, at, units)
	switch {
	case v.lines && behind:
		m.cur = m.firstInLine(at + 1)
	case v.lines:
		m.cur = m.firstInLine(at)
	default:
		m.cur = max(m.cur-1, 0)
	}
}

// overwrite puts char in the place of those at the cursor, if the line has as
// many as are to be replaced.
func (v *vim) overwrite(m *Model, char string) {
	n := v.times()
	v.drop()
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
