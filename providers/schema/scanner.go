package schema

import "slices"

// A Scanner follows JSON text as it arrives, byte by byte: which brackets are open,
// and whether it stands in a string. The zero value stands before the text.
type Scanner struct {
	open            []byte // brackets to come, the next one last
	quoted, escaped bool
}

// Step reads c. It returns false for a bracket that does not close the one opened
// last, which is closed all the same.
func (s *Scanner) Step(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted:
		s.quoted, s.escaped = c != '"', c == '\\'
	case c == '"':
		s.quoted = true
	case c == '{', c == '[':
		s.open = append(s.open, c+2) // in ASCII, closing brackets come two behind
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

// Depth returns how many brackets are open.
func (s *Scanner) Depth() int { return len(s.open) }

// InString reports whether the next byte belongs to a string, or ends it.
func (s *Scanner) InString() bool { return s.quoted }

// Escaped reports whether a backslash stands before the next byte.
func (s *Scanner) Escaped() bool { return s.escaped }

// Missing returns the brackets that close what is open.
func (s *Scanner) Missing() string {
	missing := slices.Clone(s.open)
	slices.Reverse(missing)
	return string(missing)
}
