package schema

import "slices"

// A Scanner reads JSON text byte by byte and tracks its open brackets and strings. The zero value
// is at the start of the text.
type Scanner struct {
	open            []byte // closing brackets still to come; the next one is last
	quoted, escaped bool
}

// Step reads c. It returns false for a closing bracket that does not match the last opened one, but
// closes that one nevertheless.
func (s *Scanner) Step(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted:
		s.quoted, s.escaped = c != '"', c == '\\'
	case c == '"':
		s.quoted = true
	case c == '{', c == '[':
		s.open = append(s.open, c+2) // in ASCII, '}' is '{'+2 and ']' is '['+2
	case c == '}', c == ']':
		last := len(s.open) - 1
		if last < 0 {
			return false
		}
		matches := s.open[last] == c
		s.open = s.open[:last]
		return matches
	}
	return true
}

// Depth returns the number of open brackets.
func (s *Scanner) Depth() int { return len(s.open) }

// InString reports whether the next byte belongs to a string or ends one.
func (s *Scanner) InString() bool { return s.quoted }

// Escaped reports whether the next byte is escaped by a backslash.
func (s *Scanner) Escaped() bool { return s.escaped }

// Missing returns the brackets that close the text, in order.
func (s *Scanner) Missing() string {
	missing := slices.Clone(s.open)
	slices.Reverse(missing)
	return string(missing)
}
