package tools

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A sanitizer makes the output of a program plain text for a model: valid UTF-8
// without escape sequences, control characters and what is invisible. The
// result does not depend on how the output is cut into pieces. A lone carriage
// return ends a line. Text behind an escape sequence that never ends is kept.
type sanitizer struct {
	pending   []byte // the end of the last piece, which may go on
	escapes   int    // sequences and control characters left out
	invisible int
	invalid   int // bytes that were no UTF-8
}

// maxSequence is how long an escape sequence, or a flag made of tags, may be.
const maxSequence = 4096

// write returns what of the output so far is certain.
func (c *sanitizer) write(p []byte) string { return c.process(p, false) }

// close returns the rest.
func (c *sanitizer) close() string { return c.process(nil, true) }

func (c *sanitizer) process(p []byte, last bool) string {
	if len(c.pending) > 0 {
		p = append(c.pending, p...)
		c.pending = nil
	}
	var out strings.Builder
	out.Grow(len(p))
	for len(p) > 0 {
		n := plainLength(p)
		out.Write(p[:n])
		if p = p[n:]; len(p) == 0 {
			break
		}
		size, text := c.sanitizeSpecial(p, last)
		if size == 0 { // it may go on
			c.pending = bytes.Clone(p)
			break
		}
		out.WriteString(text)
		p = p[size:]
	}
	return out.String()
}

// plainLength is how many bytes p begins with that nothing has to be done to.
func plainLength(p []byte) int {
	for i, b := range p {
		if (b < ' ' && b != '\n' && b != '\t') || b >= 0x7F {
			return i
		}
	}
	return len(p)
}

// sanitizeSpecial deals with what p begins with, and returns how many bytes that was
// and what becomes of them; 0 if the next piece has to decide.
func (c *sanitizer) sanitizeSpecial(p []byte, last bool) (int, string) {
	switch b := p[0]; {
	case b == '\r':
		return carriageReturn(p, last)
	case b == 0x1B:
		return c.escapeSequence(p, last)
	case b < ' ' || b == 0x7F:
		c.escapes++
		return 1, ""
	}
	if !utf8.FullRune(p) && !last {
		return 0, ""
	}
	r, size := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError && size == 1:
		c.invalid++
		return 1, "\uFFFD"
	case 0x80 <= r && r <= 0x9F:
		c.escapes++
		return size, ""
	case r == blackFlag:
		return flagSequence(p, last)
	case isInvisible(r):
		c.invisible++
		return size, ""
	}
	return size, string(p[:size])
}

func carriageReturn(p []byte, last bool) (int, string) {
	switch {
	case len(p) == 1 && !last:
		return 0, ""
	case len(p) > 1 && p[1] == '\n':
		return 2, "\n"
	}
	return 1, "\n"
}

// flagSequence takes a flag with its tags; see flagged.
func flagSequence(p []byte, last bool) (int, string) {
	const longest = 4 * (1 + 6 + 1)
	if len(p) < longest && !last && partialTags(p[4:]) {
		return 0, ""
	}
	size := flagLength(string(p[:min(len(p), longest)]))
	return size, string(p[:size])
}

// partialTags reports whether p holds nothing but tags, so that more may come.
func partialTags(p []byte) bool {
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			return true
		}
		r, size := utf8.DecodeRune(p)
		if r < 0xE0020 || r >= 0xE007F {
			return false
		}
		p = p[size:]
	}
	return true
}

// escapeSequence takes the escape sequence that p begins with: CSI up to its final
// byte, the string kinds (OSC, DCS, SOS, PM, APC) with their text up to their
// terminator, others with the bytes that belong to them. Of one that is broken
// only ESC is taken.
func (c *sanitizer) escapeSequence(p []byte, last bool) (int, string) {
	p = p[:min(len(p), maxSequence)]
	size := 0
	switch {
	case len(p) == 1:
		size = incomplete
	case p[1] == '[':
		size = csiLength(p)
	case strings.IndexByte("]PX^_", p[1]) >= 0:
		size = stringLength(p)
	default:
		size = simpleLength(p)
	}
	if size == incomplete && !last && len(p) < maxSequence {
		return 0, ""
	}
	c.escapes++
	if size == incomplete || size == malformed {
		return 1, ""
	}
	return size, ""
}

// What the length of a sequence can be besides a number.
const (
	incomplete = -1 // more is to come
	malformed  = -2
)

func csiLength(p []byte) int {
	for i := 2; i < len(p); i++ {
		switch b := p[i]; {
		case 0x40 <= b && b <= 0x7E:
			return i + 1
		case b < 0x20 || b > 0x3F:
			return malformed
		}
	}
	return incomplete
}

// stringLength ends at BEL or ST. A new line breaks the sequence off, so that
// one that is never closed hides nothing.
func stringLength(p []byte) int {
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] == 0x07:
			return i + 1
		case p[i] == '\n':
			return malformed
		case p[i] == 0x1B && i+1 == len(p):
			return incomplete
		case p[i] == 0x1B && p[i+1] == '\\':
			return i + 2
		case p[i] == 0x1B:
			return malformed
		}
	}
	return incomplete
}

func simpleLength(p []byte) int {
	for i := 1; i < len(p); i++ {
		switch b := p[i]; {
		case 0x30 <= b && b <= 0x7E:
			return i + 1
		case b < 0x20 || b > 0x2F:
			return malformed
		}
	}
	return incomplete
}

// notes says what was left out.
func (c *sanitizer) notes() []string {
	var notes []string
	if c.escapes > 0 {
		notes = append(notes, note("%s or escape sequences left out", pluralize(c.escapes, "control character")))
	}
	if c.invisible > 0 {
		notes = append(notes, note("%s left out", pluralize(c.invisible, "invisible character")))
	}
	if c.invalid > 0 {
		notes = append(notes, note("%s shown as \uFFFD: not UTF-8", pluralize(c.invalid, "byte")))
	}
	return notes
}
