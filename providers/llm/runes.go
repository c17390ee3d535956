package llm

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Servers split text where their own strings can be split: between any two bytes of a rune or, in
// JavaScript, between the two UTF-16 halves of a surrogate pair. In a Go string, a lone surrogate
// is the three bytes that UTF-8 would use, ED A0..BF 80..BF (WTF-8, simonsapin.github.io/wtf-8).
// Adapters decode it to that form; the functions below join the halves.

// runeJoiner joins text whose pieces are split anywhere. The zero value is ready to use.
type runeJoiner struct{ pending string }

// add returns the complete runes not yet returned. Bytes that no further piece can complete become
// U+FFFD.
func (r *runeJoiner) add(s string) string {
	if r.pending == "" && utf8.ValidString(s) { // the usual case
		return s
	}
	out, pending := validUTF8(r.pending+s, false)
	r.pending = strings.Clone(pending)
	return out
}

// end returns the pending bytes; no pieces may follow.
func (r *runeJoiner) end() string {
	out, _ := validUTF8(r.pending, true)
	r.pending = ""
	return out
}

// Clean returns s as valid UTF-8: adjacent surrogate halves are joined; lone surrogates and invalid
// bytes become U+FFFD.
func Clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out, _ := validUTF8(s, true)
	return out
}

// validUTF8 returns s as valid UTF-8, and the end of s that more text may complete. Last means that
// no more text follows.
func validUTF8(s string, last bool) (valid, pending string) {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		if r, n := utf8.DecodeRuneInString(s); r != utf8.RuneError || n > 1 {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		if !last && mayBegin(s) {
			return b.String(), s
		}
		high, low := surrogateAt(s), rune(0)
		if high != 0 {
			low = surrogateAt(s[3:])
		}
		pair := utf16.DecodeRune(high, low) // U+FFFD if they are not a pair
		b.WriteRune(pair)
		switch {
		case pair != utf8.RuneError:
			s = s[6:]
		case high != 0:
			s = s[3:]
		default:
			s = s[beginningLength(s):]
		}
	}
	return b.String(), ""
}

// surrogateAt returns the surrogate at the start of s; 0 if there is none.
func surrogateAt(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1]&0xE0 != 0xA0 || s[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}

// mayBegin reports whether all of s, which does not start with a valid rune, may be the beginning
// of a rune or surrogate pair.
func mayBegin(s string) bool {
	if high := surrogateAt(s); high != 0 && high < 0xDC00 {
		s = s[3:]
		return s == "" || s == "\xED" || len(s) == 2 && s[0] == 0xED && s[1]&0xF0 == 0xB0
	}
	return !utf8.FullRuneInString(s) || len(s) == 2 && s[0] == 0xED && s[1]&0xE0 == 0xA0
}

// beginningLength returns the number of bytes at the start of s, which does not start with a valid
// rune, that belong to one incomplete rune; at least 1.
func beginningLength(s string) int {
	for n := min(3, len(s)); n > 1; n-- {
		if !utf8.FullRuneInString(s[:n]) {
			return n
		}
	}
	return 1
}

// cleanJSON returns JSON text that all parsers accept: cleaned by Clean, with U+FFFD for each
// escape of a lone surrogate.
func cleanJSON(s string) string {
	s = Clean(s)
	if !strings.Contains(s, `\ud`) && !strings.Contains(s, `\uD`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		n := strings.IndexByte(s, '\\')
		if n < 0 || n+1 == len(s) {
			break
		}
		b.WriteString(s[:n])
		s = s[n:]
		n = 2
		if high := escapedSurrogate(s); high != 0 {
			if n = 12; utf16.DecodeRune(high, escapedSurrogate(s[6:])) == utf8.RuneError {
				b.WriteRune(utf8.RuneError)
				s = s[6:]
				continue
			}
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	b.WriteString(s)
	return b.String()
}

// escapedSurrogate returns the surrogate whose escape, such as \ud83d, is at the start of s; 0 if
// there is none.
func escapedSurrogate(s string) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(unit)) {
		return 0
	}
	return rune(unit)
}

// cleanParts returns parts with text and input that every server accepts; the same slice if they
// are already valid. State is not changed.
func cleanParts(parts []Part) []Part {
	fit := true
	for i := range parts {
		p := &parts[i]
		fit = fit && utf8.ValidString(p.Text) && cleanJSON(p.Input) == p.Input
	}
	if fit {
		return parts
	}
	parts = slices.Clone(parts)
	for i := range parts {
		p := &parts[i]
		p.Text, p.Input = Clean(p.Text), cleanJSON(p.Input)
	}
	return parts
}
