// Package sanitize makes text from outside harmless, for a screen and for a model. Everything a model, tool,
// server, file or branch name says is hostile until it has passed through here:
// what comes out can move no cursor, set no title, reach no clipboard, turn no
// line around, and hide nothing.
//
//	control characters   ␛ ␍ ␀        DEL, C1, bidi    <U+009B> <U+202E>
//	CR LF                newline       invalid UTF-8    U+FFFD
//	invisible runes      dropped, counted; combining marks beyond Marks too
//
// Nothing visible is ever swallowed: an unterminated escape sequence is shown
// as the characters it consists of. Every function but Truncate and TruncateBytes
// is idempotent, and a Stream gives the same text at every cut, because each rune is
// judged by what stands before it and never by what follows (the LF after a CR
// excepted).
//
// A model reads what a program wrote as Output makes it: escape sequences and control
// characters are removed and counted, for they mean nothing to it.
package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/tools/swar"
)

// Marks is how many combining marks one base character may have; more would
// cover the lines around it.
const Marks = 8

// Clean is printable text, made only by this package, so that a function with a Clean parameter
// cannot get text that was not sanitized. The zero value is empty.
type Clean struct{ text string }

// String returns the text.
func (c Clean) String() string { return c.text }

// Cleaned returns Text(s) as a Clean.
func Cleaned(s string) Clean { return Clean{Text(s)} }

// Text makes s printable and keeps newlines and tabs. Text that is printable
// already is returned as it is, without a copy.
func Text(s string) string {
	text, _ := Counted(s)
	return text
}

// Counted is Text that also returns the number of dropped runes.
func Counted(s string) (text string, dropped int) {
	if plainPrefix(s) == len(s) {
		return s, 0
	}
	var c cleaner
	out, _ := c.clean(make([]byte, 0, len(s)+len(s)/8+16), s, true)
	return string(out), c.dropped
}

// Source returns s for a clipboard: it drops all control, bidi and invisible runes, which Text
// names or drops, and returns their number.
func Source(s string) (text string, dropped int) {
	if plainPrefix(s) == len(s) {
		return s, 0
	}
	c := cleaner{source: true}
	out, _ := c.clean(make([]byte, 0, len(s)), s, true)
	return string(out), c.dropped
}

// Line makes s printable on one line, for titles, names and errors: a newline
// becomes ␊ and a tab a space.
func Line(s string) string {
	if isPlainLine(s) {
		return s
	}
	c := cleaner{line: true}
	out, _ := c.clean(make([]byte, 0, len(s)+len(s)/8+16), s, true)
	return string(out)
}

// A Stream is Text for text that arrives in pieces. The zero value is ready.
//
// The concatenated results of Add and End equal Text of the concatenated
// pieces. At most three bytes wait for the next piece: the beginning of a UTF-8
// sequence, or a CR that may be half of a line end. Emoji sequences need no
// waiting: a joiner, selector or tag is kept if the runes before it allow one,
// whether or not the sequence is ever completed.
type Stream struct {
	c       cleaner
	pending []byte // at most 3 bytes
}

// Add returns the printable form of piece, except for bytes that may be
// incomplete.
func (s *Stream) Add(piece string) Clean {
	if piece == "" {
		return Clean{}
	}
	if len(s.pending) == 0 && plainPrefix(piece) == len(piece) {
		s.c.record(rune(piece[len(piece)-1]))
		return Clean{piece}
	}
	return s.pass(string(s.pending)+piece, false)
}

// Append appends the printable form of piece to shown and returns it. Each backspace in piece
// removes the last character.
func (s *Stream) Append(shown []byte, piece string) []byte {
	for more := true; more; {
		var part string
		part, piece, more = strings.Cut(piece, "\b")
		shown = append(shown, s.Add(part).String()...)
		if more {
			_, n := utf8.DecodeLastRune(shown)
			shown = shown[:len(shown)-n]
		}
	}
	return shown
}

// End returns the waiting bytes and makes the Stream ready for another text.
func (s *Stream) End() Clean {
	out := s.pass(string(s.pending), true)
	*s = Stream{}
	return out
}

// Dropped returns the number of invisible runes dropped since the last End.
func (s *Stream) Dropped() int { return s.c.dropped }

func (s *Stream) pass(text string, final bool) Clean {
	out, rest := s.c.clean(make([]byte, 0, len(text)+len(text)/8+16), text, final)
	s.pending = append(s.pending[:0], rest...)
	return Clean{string(out)}
}

// plainPrefix returns the length of the prefix of s that needs no change: printable ASCII,
// newlines and tabs.
func plainPrefix[T string | []byte](s T) int {
	for i := 0; i < len(s); i++ {
		if asciiKind[s[i]] != plainByte {
			return i
		}
	}
	return len(s)
}

// isPlainLine reports whether s is printable ASCII without newlines and tabs.
func isPlainLine(s string) bool {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if x := swar.Load(s, i); swar.NonASCII(x)|swar.Equal(x, 0x7f)|swar.Below(x, ' ') != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

const (
	nonASCII byte = iota // not ASCII
	plainByte
	controlPicture
)

var asciiKind = func() (kinds [256]byte) {
	for b := range 0x80 {
		kinds[b] = controlPicture
		if b >= ' ' && b != 0x7f || b == '\n' || b == '\t' {
			kinds[b] = plainByte
		}
	}
	return kinds
}()

// A cleaner judges runes by the ones it let through before. Dropped runes do
// not affect its state, so that cleaning is idempotent.
type cleaner struct {
	line    bool
	source  bool   // runes are dropped instead of named
	prev    rune   // last rune written; 0 at the beginning
	marks   int    // combining marks since the last base
	tags    string // tag letters written since a black flag, with NUL before them
	dropped int
}

func (c *cleaner) record(r rune) { c.prev, c.marks, c.tags = r, 0, "" }

// clean appends the printable form of s to out. Unless final is set, it returns
// the bytes at the end of s that may be incomplete.
func (c *cleaner) clean(out []byte, s string, final bool) ([]byte, string) {
	for i := 0; i < len(s); {
		if asciiKind[s[i]] == plainByte {
			n := plainPrefix(s[i:])
			out = c.appendPlain(out, s[i:i+n])
			i += n
			continue
		}
		if !final && (s[i:] == "\r" || !utf8.FullRuneInString(s[i:])) {
			return out, s[i:]
		}
		if s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n' {
			i++ // the newline is written next
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			size = truncatedLength(s[i:])
			out = c.appendInvalid(out, s[i:i+size])
		} else {
			out = c.appendRune(out, r)
		}
		i += size
	}
	return out, ""
}

// appendPlain appends a run of plain bytes.
func (c *cleaner) appendPlain(out []byte, s string) []byte {
	c.record(rune(s[len(s)-1]))
	if !c.line {
		return append(out, s...)
	}
	for i := range len(s) {
		switch s[i] {
		case '\n':
			out = append(out, "␊"...)
		case '\t':
			out = append(out, ' ')
		default:
			out = append(out, s[i])
		}
	}
	return out
}

// Words joins the words of s by single spaces: white space and control characters
// separate them, and invalid UTF-8 becomes U+FFFD. It is for notices and errors, which
// [Line] makes printable when they are shown.
func Words(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// Complete returns s without an incomplete character at its end.
func Complete(s string) string {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// truncatedLength returns the length of the truncated UTF-8 sequence at the start of s, which is
// shown as one replacement character, as the Unicode standard recommends.
func truncatedLength(s string) int {
	for n := min(len(s), 3); n > 1; n-- {
		if !utf8.FullRuneInString(s[:n]) {
			return n
		}
	}
	return 1
}

// appendInvalid appends the replacement for bytes that are not UTF-8. A stray byte
// from 80 to 9F is named like the C1 control that it is to a terminal in 8-bit
// mode.
func (c *cleaner) appendInvalid(out []byte, s string) []byte {
	if s[0] >= 0x80 && s[0] <= 0x9f {
		return c.appendName(out, rune(s[0]))
	}
	c.record(utf8.RuneError)
	return utf8.AppendRune(out, utf8.RuneError)
}

// appendName appends the name of r instead of r.
func (c *cleaner) appendName(out []byte, r rune) []byte {
	if c.source {
		c.dropped++
		return out
	}
	c.record('>')
	return fmt.Appendf(out, "<U+%04X>", r)
}

func (c *cleaner) appendRune(out []byte, r rune) []byte {
	switch {
	case r < ' ' && !c.source:
		c.record(r)
		return utf8.AppendRune(out, '␀'+r)
	case r < 0xa0, unicode.Is(bidiControls, r):
		return c.appendName(out, r)
	case unicode.Is(invisible, r):
		if !c.continuesEmoji(r) {
			c.dropped++
			return out
		}
	case r >= 0x300 && unicode.Is(unicode.M, r):
		if c.marks >= Marks {
			c.dropped++
			return out
		}
		c.marks++
		c.prev, c.tags = r, ""
	default:
		c.record(r)
		if r == blackFlag {
			c.tags = "\x00"
		}
	}
	return utf8.AppendRune(out, r)
}

// QuoteMark begins each line that Quote returns.
const QuoteMark = "> "

// Quote marks each line of an untrusted text, so that none of it can be mistaken for parley's
// own. The caller has sanitized the text.
func Quote(s string) string {
	return QuoteMark + strings.ReplaceAll(s, "\n", "\n"+QuoteMark)
}
