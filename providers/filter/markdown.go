package filter

// markdown parses just enough Markdown, byte by byte, to detect code. The zero value is the state
// at the start of a text.
type markdown struct {
	json    bool // seek also stops where JSON or a fence may begin
	indent  int  // white space at the start of the line; -1 after text
	run     int  // length of the current run of ` or ~
	char    byte // character of the run
	first   bool // the run is the first on its line, so it can be a fence
	fence   int  // length of the open fence; 0 outside
	mark    byte // character of the fence
	info    bool // in the line of the opening fence
	closing bool // in a line that closes the fence if nothing follows
	span    int  // length of the run that opened inline code; 0 outside
}

// code updates the state with the next byte c, and reports whether c is in code.
func (m *markdown) code(c byte) bool {
	if m.run > 0 && c != m.char {
		m.endRun()
	}
	return m.fence > 0 || m.span > 0
}

func (m *markdown) step(c byte) {
	if m.run > 0 && c != m.char {
		m.endRun()
	}
	switch {
	case c == '`' || c == '~' && (m.run > 0 || m.indent >= 0):
		if m.run == 0 {
			m.char, m.first = c, m.indent >= 0 && m.indent <= 3
		}
		m.run++
		m.indent = -1
	case c == '\n':
		if m.closing {
			m.fence = 0
		}
		if m.indent >= 0 { // a blank line ends the paragraph and its inline code
			m.span = 0
		}
		m.indent, m.info, m.closing = 0, false, false
	case c == ' ' && m.indent >= 0:
		m.indent++
	case c == '\t' && m.indent >= 0:
		m.indent += 4
	case c == ' ' || c == '\t' || c == '\r':
	default:
		m.indent, m.closing = -1, false
	}
}

// endRun updates the state after a run of marks.
func (m *markdown) endRun() {
	n := m.run
	m.run = 0
	switch {
	case m.info:
		if m.mark == '`' && m.char == '`' { // ```a``` on one line is inline code
			m.fence, m.info, m.span = 0, false, m.fence
			if n == m.span {
				m.span = 0
			}
		}
	case m.fence > 0:
		m.closing = m.first && m.char == m.mark && n >= m.fence
	case m.first && n >= 3:
		m.fence, m.mark, m.info, m.span = n, m.char, true, 0
	case m.char == '~':
	case m.span == 0:
		m.span = n
	case m.span == n:
		m.span = 0
	}
}

// stepAll updates the state with all of s.
func (m *markdown) stepAll(s string) {
	for i := range len(s) {
		m.step(s[i])
	}
}

// markBytes holds the bytes that change the state, and the first bytes of marks.
var markBytes = [256]bool{'`': true, '~': true, '\n': true, ' ': true, '\t': true, '\r': true, '<': true, '[': true, '{': true, 0xE2: true}

// mayBeginMark reports whether c, outside code, may begin a mark or JSON.
func (m *markdown) mayBeginMark(c byte) bool {
	switch c {
	case '<', '[', 0xE2:
		return true
	case '{':
		return m.json
	case '`', '~':
		return m.json && m.run == 0 && m.indent >= 0 && m.indent <= 3
	}
	return false
}

// seek steps from byte i of s to the first byte outside code that may begin a mark, and returns its
// index; len(s) if there is none.
func (m *markdown) seek(s string, i int) int {
	for ; i < len(s); i++ {
		c := s[i]
		if m.run == 0 && !markBytes[c] {
			m.indent, m.closing = -1, false
			continue
		}
		if m.run == 0 && c == ' ' && m.indent < 0 {
			continue
		}
		if m.mayBeginMark(c) && !m.code(c) {
			return i
		}
		m.step(c)
	}
	return i
}
