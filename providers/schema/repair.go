package schema

import (
	"bytes"
	"encoding/json"
)

// Repair returns the JSON value that text was meant to be. It removes code fences, prose and
// comments, adds missing quotes, commas and brackets, and turns Python's literals into JSON's. It
// closes truncated text, without a last member that has no value yet. Of several values it returns
// the longest. It returns false if text contains nothing like JSON. It reads text once.
func Repair(text []byte) ([]byte, bool) {
	fixed, _, ok := repair(text)
	return fixed, ok
}

// RepairWhole is Repair for values that will be acted on: it returns false if text is truncated
// inside a value. Only closing brackets may be missing at the end.
func RepairWhole(text []byte) ([]byte, bool) {
	fixed, cut, ok := repair(text)
	return fixed, ok && !cut
}

// repair implements Repair; cut reports that text ended inside a value.
func repair(text []byte) (fixed []byte, cut, ok bool) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if json.Valid(text) {
		return text, false, true
	}
	if v, ok := repairScalar(stripFence(text)); ok {
		return v, false, true
	}
	for i := 0; i < len(text); {
		n := bytes.IndexAny(text[i:], "{[")
		if n < 0 {
			break
		}
		i += n
		if raw, n := validPrefix(text[i:]); n > 0 {
			if len(raw) > len(fixed) {
				fixed, cut = raw, false
			}
			i += n
			continue
		}
		m := repairer{in: text, pos: i}
		if m.value(0) && m.out.Len() > len(fixed) {
			fixed, cut = m.out.Bytes(), m.truncated
		}
		i = max(m.pos, i+1)
	}
	if fixed == nil || !json.Valid(fixed) {
		return nil, false, false
	}
	return fixed, cut, true
}

// validPrefix returns the valid JSON value at the start of text, and its length; 0 if there is none.
func validPrefix(text []byte) (raw json.RawMessage, n int) {
	d := json.NewDecoder(bytes.NewReader(text))
	if d.Decode(&raw) != nil {
		return nil, 0
	}
	return raw, int(d.InputOffset())
}

// stripFence returns text without the code fence around it, if there is one.
func stripFence(text []byte) []byte {
	inner, ok := bytes.CutPrefix(text, []byte("```"))
	if !ok {
		return text
	}
	inner = bytes.TrimSuffix(inner, []byte("```"))
	if line := bytes.IndexByte(inner, '\n'); line >= 0 && len(inner[:line]) < 20 {
		inner = inner[line+1:]
	}
	return bytes.TrimSpace(inner)
}

// repairScalar repairs text that is, as a whole, one value other than an object or array.
func repairScalar(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return nil, false
	}
	if json.Valid(text) {
		return text, true
	}
	m := repairer{in: text}
	switch c := text[0]; {
	case c == '"' || c == '\'':
		if len(text) < 2 || text[len(text)-1] != c || !m.value(0) {
			return nil, false
		}
	default:
		word, known := parseLiteral(string(text))
		if !known {
			return nil, false
		}
		return []byte(word), true
	}
	if m.pos != len(text) {
		return nil, false
	}
	return m.out.Bytes(), true
}

// maxNesting bounds the depth of JSON, as encoding/json does.
const maxNesting = 10000

// A repairer reads something like JSON and writes JSON.
type repairer struct {
	in          []byte
	pos         int
	truncated   bool // the text ended inside a value
	objectDepth int  // number of objects around pos: only in objects is a word without quotes text
	out         bytes.Buffer
}

// skipSpace skips white space and comments and returns the byte after them; 0 at the end.
func (m *repairer) skipSpace() byte {
	for m.pos < len(m.in) {
		switch c := m.in[m.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			m.pos++
		case c == '/' && m.hasPrefix("//"), c == '#':
			m.skip("\n")
		case c == '/' && m.hasPrefix("/*"):
			m.skip("*/")
		case c == 0xC2 && m.hasPrefix("\u00a0"):
			m.pos += 2
		default:
			return c
		}
	}
	return 0
}

func (m *repairer) hasPrefix(s string) bool { return bytes.HasPrefix(m.in[m.pos:], []byte(s)) }

// skip moves past the next end, or to the end of the text.
func (m *repairer) skip(end string) {
	i := bytes.Index(m.in[m.pos:], []byte(end))
	if i < 0 {
		m.pos = len(m.in)
		return
	}
	m.pos += i + len(end)
}

// value reads one value; false if there is none, or none close to JSON.
func (m *repairer) value(depth int) bool {
	if depth >= maxNesting {
		return false
	}
	switch c := m.skipSpace(); c {
	case 0:
		return false
	case '{':
		return m.object(depth)
	case '[':
		return m.array(depth)
	case '"', '\'', '`':
		m.text(c, false)
		return true
	}
	return m.bareWord()
}

// object reads an object; false for text that only begins like one, such as braces in prose.
func (m *repairer) object(depth int) bool {
	m.objectDepth++
	defer func() { m.objectDepth-- }()
	m.pos++
	m.out.WriteByte('{')
	for first := true; ; first = false {
		for m.skipSpace() == ',' {
			m.pos++
		}
		c := m.skipSpace()
		if c == 0 || c == '}' || c == ']' {
			if c == '}' {
				m.pos++
			}
			m.out.WriteByte('}')
			return true
		}
		start := m.out.Len()
		if !first {
			m.out.WriteByte(',')
		}
		if !m.key(c) {
			return false
		}
		switch c := m.skipSpace(); {
		case c == ':':
			m.pos++
		case c == '=': // Ruby and Lua
			m.pos++
			if m.pos < len(m.in) && m.in[m.pos] == '>' {
				m.pos++
			}
		case c == 0:
			m.truncated = true
			m.out.Truncate(start)
			continue
		case first:
			return false
		default:
			m.out.Truncate(start)
			if c != ',' && c != '}' {
				return false
			}
			continue
		}
		m.out.WriteByte(':')
		switch c := m.skipSpace(); {
		case c == 0:
			m.truncated = true
			m.out.Truncate(start)
		case c == ',' || c == '}' || c == ']':
			m.out.WriteString("null")
		case !m.value(depth + 1):
			if m.skipSpace() != 0 {
				return false
			}
			m.out.Truncate(start)
		}
	}
}

// key reads the name of a member, which begins with c; false if there is none.
func (m *repairer) key(c byte) bool {
	if c == '"' || c == '\'' || c == '`' {
		m.text(c, true)
		return true
	}
	start := m.pos
	for m.pos < len(m.in) && (isWordByte(m.in[m.pos]) || m.in[m.pos] == '-' || m.in[m.pos] == '.') {
		m.pos++
	}
	if m.pos == start {
		return false
	}
	write(&m.out, string(m.in[start:m.pos]))
	return true
}

// array reads an array; false for text that only begins like one.
func (m *repairer) array(depth int) bool {
	m.pos++
	m.out.WriteByte('[')
	for first := true; ; {
		for m.skipSpace() == ',' {
			m.pos++
		}
		c := m.skipSpace()
		if c == 0 || c == ']' || c == '}' {
			if c == ']' {
				m.pos++
			}
			m.out.WriteByte(']')
			return true
		}
		start := m.out.Len()
		if !first {
			m.out.WriteByte(',')
		}
		first = false
		if m.value(depth + 1) {
			continue
		}
		if m.skipSpace() != 0 {
			return false
		}
		m.out.Truncate(start)
	}
}
