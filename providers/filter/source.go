package filter

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"parley/providers/schema"
)

// A source is the text that a parser reads. At the end of what has arrived the parser
// pauses, in a coroutine, until there is more. So the grammar is plain code, reads each
// byte once, and does not depend on where the stream was cut.
type source struct {
	buf      []byte
	pos      int
	ended    bool   // there is no more
	complete bool   // the response ended normally
	starved  bool   // the parser needed more than there was
	awaited  string // while it pauses, text without these bytes is not passed to the parser; "": all is
	pause    func(struct{}) bool
	next     func() (struct{}, bool) // lets the parser go on until it pauses
	stop     func()
}

// start sets the parser, which begins with next.
func (s *source) start(parse func()) {
	s.next, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.pause = yield
		parse()
	})
}

// finish lets the parser read to the end; complete says that the response ended normally.
func (s *source) finish(complete bool) {
	s.ended, s.complete = true, complete
	s.next()
	s.stop()
}

// need waits for n bytes from pos on; false if the text ends before.
func (s *source) need(n int) bool {
	for len(s.buf)-s.pos < n {
		if s.ended || !s.pause(struct{}{}) {
			s.ended, s.starved = true, true
			return false
		}
		s.awaited = ""
	}
	return true
}

// add adds text, and reports whether the parser waits for it.
func (s *source) add(text string) bool {
	s.buf = append(s.buf, text...)
	return s.awaited == "" || strings.ContainsAny(text, s.awaited)
}

// seek moves to the next of these bytes, which are ASCII; false if the text ends before.
func (s *source) seek(bytes string) bool {
	for {
		for s.pos < len(s.buf) {
			if strings.IndexByte(bytes, s.buf[s.pos]) >= 0 {
				return true
			}
			s.pos++
		}
		if s.awaited = bytes; !s.need(1) {
			return false
		}
	}
}

// peek returns the next byte, which is not consumed; 0 at the end.
func (s *source) peek() byte {
	if !s.need(1) {
		return 0
	}
	return s.buf[s.pos]
}

// take consumes c if it comes next.
func (s *source) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *source) skipSpace() {
	for s.need(1) && strings.IndexByte(whitespace, s.buf[s.pos]) >= 0 {
		s.pos++
	}
}

// literal consumes lit if it comes next. A blank in lit is any white space, or
// none.
func (s *source) literal(lit string) bool {
	start := s.pos
	for i := range len(lit) {
		if lit[i] == ' ' {
			s.skipSpace()
		} else if !s.take(lit[i]) {
			s.pos = start
			return false
		}
	}
	return true
}

// anyOf consumes the first of lits that comes next. Empty ones are ignored.
func (s *source) anyOf(lits ...string) bool {
	for _, lit := range lits {
		if lit != "" && s.literal(lit) {
			return true
		}
	}
	return false
}

// isNext reports whether one of lits comes next, or the end, after white space.
func (s *source) isNext(lits ...string) bool {
	start := s.pos
	defer func() { s.pos = start }()
	s.skipSpace()
	return s.anyOf(lits...) || !s.need(1)
}

// until consumes text up to and with lit and returns the text before it. If lit does not
// come within limit bytes, nothing is consumed; 0 means no limit.
func (s *source) until(lit string, limit int) (string, bool) {
	for from := s.pos; ; {
		if i := bytes.Index(s.buf[from:], []byte(lit)); i >= 0 && (limit == 0 || from+i-s.pos <= limit) {
			text := string(s.buf[s.pos : from+i])
			s.pos = from + i + len(lit)
			return text, true
		}
		from = max(from, len(s.buf)-len(lit)+1)
		if last := len(lit) - 1; limit == 0 && lit[last] < utf8.RuneSelf {
			s.awaited = lit[last:]
		}
		if limit > 0 && from-s.pos > limit || !s.need(len(s.buf)-s.pos+1) {
			return "", false
		}
	}
}

// readName consumes a name: letters, digits and _-.:/
func (s *source) readName() (string, bool) {
	start := s.pos
	for s.need(1) && isNameByte(s.buf[s.pos]) {
		if s.pos++; s.pos-start > 128 {
			s.pos = start
			return "", false
		}
	}
	return string(s.buf[start:s.pos]), s.pos > start
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.:/", c) >= 0
}

// readJSON consumes one JSON object or list, by its brackets and strings alone. In
// an answer that ended well, brackets that the model forgot are added, but not
// after a word or number, which may be incomplete. On failure pos is where the
// text stopped being JSON.
func (s *source) readJSON() (string, bool) {
	if c := s.peek(); c != '{' && c != '[' {
		return "", false
	}
	start := s.pos
	var scan schema.Scanner
	for s.need(1) {
		if scan.InString() && !scan.Escaped() && !s.seek(`"\`) {
			break
		}
		if !scan.Step(s.buf[s.pos]) {
			return "", false
		}
		if s.pos++; scan.Depth() == 0 {
			return string(s.buf[start:s.pos]), true
		}
	}
	raw := strings.TrimRight(string(s.buf[start:]), whitespace)
	if !s.complete || scan.InString() || strings.IndexByte(`{[]}",:`, raw[len(raw)-1]) < 0 {
		return "", false
	}
	return raw + scan.Missing(), true
}

// skipString moves from a quote to the quote that ends the string.
func (s *source) skipString() bool {
	for s.pos++; s.seek(`"\`); s.pos++ {
		if s.buf[s.pos] == '"' {
			return true
		}
		if !s.need(2) {
			return false
		}
		s.pos++
	}
	return false
}
