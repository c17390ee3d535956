package sanitize

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Output makes the output of a program plain text for a model, as it arrives: valid
// UTF-8 without escape sequences, control characters and invisible runes. The
// result does not depend on how the output is split. A lone carriage return
// ends a line. Text after an unterminated escape sequence is kept. The zero value
// is ready.
type Output struct {
	pending   []byte // the end of the last piece, which may be incomplete
	Escapes   int    // removed sequences and control characters
	Invisible int    // removed runes
	Invalid   int    // bytes that were no UTF-8
}

// Plain is Output for a complete text.
func Plain(text string) string {
	var o Output
	plain := o.Write([]byte(text))
	return plain + o.Close()
}

// maxSequence bounds the bytes of an escape sequence.
const maxSequence = 4096

// Write returns the output that is final so far.
func (c *Output) Write(p []byte) string { return c.plain(p, false) }

// Close returns the rest.
func (c *Output) Close() string { return c.plain(nil, true) }

func (c *Output) plain(p []byte, last bool) string {
	out := bytes.NewBuffer(make([]byte, 0, len(p)))
	c.process(p, last, func(text []byte) { out.Write(text) }, nil)
	return out.String()
}

// process calls put with the plain text of p. If move is not nil, it is called with control
// characters and sequences; those that it handles are not counted as removed.
func (c *Output) process(p []byte, last bool, put func([]byte), move func([]byte) bool) {
	if len(c.pending) > 0 {
		p = append(c.pending, p...)
		c.pending = nil
	}
	for len(p) > 0 {
		n := plainPrefix(p)
		put(p[:n])
		if p = p[n:]; len(p) == 0 {
			break
		}
		removed := c.Escapes
		size, text := 1, ""
		if move == nil || p[0] != '\r' {
			size, text = c.sanitizeSpecial(p, last)
		}
		if size == 0 { // it may be incomplete
			c.pending = bytes.Clone(p)
			break
		}
		if text == "" && move != nil && move(p[:size]) {
			c.Escapes = removed
		}
		put([]byte(text))
		p = p[size:]
	}
}

// sanitizeSpecial sanitizes the beginning of p. It returns its size in bytes and its
// replacement; 0 if the next piece is needed.
func (c *Output) sanitizeSpecial(p []byte, last bool) (int, string) {
	switch b := p[0]; {
	case b == '\r':
		return carriageReturn(p, last)
	case b == 0x1B:
		return c.escapeSequence(p, last)
	case b < ' ' || b == 0x7F:
		c.Escapes++
		return 1, ""
	}
	if !utf8.FullRune(p) && !last {
		return 0, ""
	}
	r, size := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError && size == 1:
		c.Invalid++
		return 1, "\uFFFD"
	case 0x80 <= r && r <= 0x9F:
		c.Escapes++
		return size, ""
	case r == blackFlag:
		return flagSequence(p, last)
	case IsHidden(r):
		c.Invisible++
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

// flagSequence handles a flag with its tags.
func flagSequence(p []byte, last bool) (int, string) {
	const longest = 4 * (1 + 6 + 1)
	if len(p) < longest && !last && partialTags(p[4:]) {
		return 0, ""
	}
	size := flagLength(string(p[:min(len(p), longest)]))
	return size, string(p[:size])
}

// partialTags reports whether p consists of tags only, so that more may follow.
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

// escapeSequence handles the escape sequence at the beginning of p: CSI up to its
// final byte, the string kinds (OSC, DCS, SOS, PM, APC) up to their terminator,
// others with their fixed bytes. Of a broken sequence only ESC is removed.
func (c *Output) escapeSequence(p []byte, last bool) (int, string) {
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
	c.Escapes++
	if size == incomplete || size == malformed {
		return 1, ""
	}
	return size, ""
}

// Lengths of incomplete sequences.
const (
	incomplete = -1 // more bytes are needed
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

// stringLength ends at BEL or ST. A line break ends the sequence too, so that
// an unterminated one hides nothing.
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

// RemoveHidden removes runes that users do not see but models read: tags and
// variation selectors beyond the basic ones, which can hide whole sentences,
// zero-width spaces and similar. Flags made of tags and variants of Han characters
// stay. It returns the number of removed runes.
func RemoveHidden(text string) (string, int) {
	if !strings.ContainsFunc(text, IsHidden) {
		return text, 0
	}
	var out strings.Builder
	dropped := 0
	var last rune // the previous rune, removed or not
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == blackFlag:
			size = flagLength(text[i:])
			out.WriteString(text[i : i+size])
		case !IsHidden(r), isVariationSelector(r) && unicode.Is(unicode.Han, last):
			out.WriteString(text[i : i+size])
		default:
			dropped++
		}
		last = r
		i += size
	}
	return out.String(), dropped
}

// IsHidden reports whether r, or text encoded with it, is invisible to users but read by models.
func IsHidden(r rune) bool {
	switch {
	case r < 0x200B:
		return r == 0x00AD || r == 0x034F || r == 0x180E
	case r == 0x200B, 0x2060 <= r && r <= 0x2064, r == 0xFEFF:
		return true
	}
	return 0xE0000 <= r && r <= 0xE0FFF
}

func isVariationSelector(r rune) bool { return 0xE0100 <= r && r <= 0xE01EF }

// flagLength returns the length in bytes of the flag at the beginning of text, such
// as Scotland's: a black flag, up to six letters and digits as tags, and a closing
// tag.
func flagLength(text string) int {
	end := utf8.RuneLen(blackFlag)
	for i, tags := end, 0; i < len(text) && tags <= 6; tags++ {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == 0xE007F && tags > 0:
			return i
		case 0xE0030 <= r && r <= 0xE0039, 0xE0061 <= r && r <= 0xE007A:
		default:
			return end
		}
	}
	return end
}
