package schema

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// text reads a string in quotes: a value or, if key is set, the name of a member.
func (m *repairer) text(quote byte, key bool) {
	m.pos++
	m.out.WriteByte('"')
	for m.pos < len(m.in) {
		switch c := m.in[m.pos]; {
		case c == '\\':
			m.escape()
		case c == quote && m.closesString(key):
			m.pos++
			m.out.WriteByte('"')
			return
		case c == '"':
			m.out.WriteString(`\"`)
			m.pos++
		case c < 0x20:
			writeControl(&m.out, c)
			m.pos++
		case c < utf8.RuneSelf:
			m.out.WriteByte(c)
			m.pos++
		default:
			r, n := utf8.DecodeRune(m.in[m.pos:])
			if r == utf8.RuneError && n == 1 && !utf8.FullRune(m.in[m.pos:]) {
				m.pos = len(m.in) // truncated inside a character
				break
			}
			m.out.WriteRune(r)
			m.pos += n
		}
	}
	m.truncated = true
	m.out.WriteByte('"')
}

func writeControl(b *bytes.Buffer, c byte) {
	const hex = "0123456789abcdef"
	switch c {
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		b.WriteString(`\u00`)
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
}

// escape reads an escape. An escape unknown to JSON stands for its own characters.
func (m *repairer) escape() {
	rest := m.in[m.pos:]
	if len(rest) < 2 {
		m.pos = len(m.in)
		return
	}
	switch c := rest[1]; {
	case strings.IndexByte(`"\/bfnrt`, c) >= 0:
		m.out.Write(rest[:2])
		m.pos += 2
	case c == 'u' && len(rest) >= 6 && isHex(rest[2:6]):
		m.out.Write(rest[:6])
		m.pos += 6
	case c == 'u' && len(rest) < 6 && isHex(rest[2:]):
		m.pos = len(m.in) // truncated
	case c == 'x' && len(rest) >= 4 && isHex(rest[2:4]):
		m.out.WriteString(`\u00`)
		m.out.Write(rest[2:4])
		m.pos += 4
	case c == '\'' || c == '`':
		m.out.WriteByte(c)
		m.pos += 2
	case c == '\n': // line continuation
		m.pos += 2
	default:
		m.out.WriteString(`\\`)
		m.pos++
	}
}

func isHex(b []byte) bool {
	for _, c := range b {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

// closesString reports whether the quote at pos ends its string, judging by the following text. If
// it does not, it is an unescaped quote inside the string.
func (m *repairer) closesString(key bool) bool {
	rest := m.in[m.pos+1:]
	after := bytes.TrimLeft(rest, " \t\r\n\u00a0")
	if len(after) == 0 {
		return true
	}
	i := len(m.in) - len(after)
	line := bytes.IndexByte(rest[:len(rest)-len(after)], '\n') >= 0
	switch c := m.in[i]; {
	case c == ':' || c == '=':
		return key
	case c == '}' || c == ']':
		return m.isEnding(i)
	case c == ',':
		return !key
	case c == '/' || c == '#':
		return true
	case c == '"' || c == '\'':
		return line // a comma is missing
	}
	return false
}

// isEnding reports whether the brackets at i may close objects or arrays: not if a quote follows
// directly, as in "if x { "y" }".
func (m *repairer) isEnding(i int) bool {
	for ; i < len(m.in); i++ {
		switch c := m.in[i]; c {
		case '}', ']', ' ', '\t':
		case '"', '\'':
			return false
		default:
			return true
		}
	}
	return true
}
