package filter

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"parley/providers/schema"
)

// A source is the text that a parser reads. At the end of the received text, the parser pauses in a
// coroutine until more arrives. So the grammar is plain code, reads each byte once, and does not
// depend on how the stream was split.
type source struct {
	buf      []byte
	pos      int
	ended    bool   // all text has arrived
	complete bool   // the response ended normally
	starved  bool   // the parser needed more text than there was
	awaited  string // while paused, text without any of these bytes is not passed to the parser; "" for all text
	pause    func(struct{}) bool
	next     func() (struct{}, bool) // resumes the parser until it pauses
	stop     func()
}

// start sets the parser, which starts running with next.
func (s *source) start(parse func()) {
	s.next, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.pause = yield
		parse()
	})
}

// finish lets the parser read to the end; complete means that the response ended normally.
func (s *source) finish(complete bool) {
	s.ended, s.complete = true, complete
	s.next()
	s.stop()
}

// need waits for n bytes from pos; false if the text ends first.
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

// add appends text, and reports whether the parser waits for it.
func (s *source) add(text string) bool {
	s.buf = append(s.buf, text...)
	return s.awaited == "" || strings.ContainsAny(text, s.awaited)
}

// seek moves to the next byte in bytes, which must be ASCII; false if the text ends first.
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

// peek returns the next byte without consuming it; 0 at the end.
func (s *source) peek() byte {
	if !s.need(1) {
		return 0
	}
	return s.buf[s.pos]
}

// take consumes c if it is the next byte.
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

// literal consumes lit if it comes next. A blank in lit matches any amount of white space.
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

// anyOf consumes the first of lits that matches. Empty ones are ignored.
func (s *source) anyOf(lits ...string) bool {
	for _, lit := range lits {
		if lit != "" && s.literal(lit) {
			return true
		}
	}
	return false
}

// isNext reports whether one of lits, or the end of the text, comes next after white space.
func (s *source) isNext(lits ...string) bool {
	start := s.pos
	defer func() { s.pos = start }()
	s.skipSpace()
	return s.anyOf(lits...) || !s.need(1)
}

// until consumes text through lit and returns the text before lit. If lit does not follow within
// limit bytes, it consumes nothing; 0 means no limit.
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

// readJSON consumes one JSON object or list, checking only brackets and strings. In an answer that
// ended normally it adds missing brackets, but not after a word or number, which may be incomplete.
// On failure, pos is where the text stopped being JSON.
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

// skipString moves from a quote to the closing quote.
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
