package transcript

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A query is a search text. A space in it matches any white space. An upper-case letter
// makes it case-sensitive.
type query struct {
	runes      []rune
	ignoreCase bool
}

func newQuery(s string) query {
	w := query{runes: []rune(strings.Join(strings.Fields(s), " "))}
	w.ignoreCase = !slices.ContainsFunc(w.runes, unicode.IsUpper)
	return w
}

// Characters that a match may skip.
const (
	markupRunes = "*_`~\\>" // markup of emphasis and quotes in the source of an answer
	brokenLine  = "\x00"    // end of a full line on the screen, which may be inside a word
	quoteBar    = '▎'       // at the start of a line of a quote
)

// maxSkippedBytes is how many bytes a match may skip.
const maxSkippedBytes = 256

// find returns the start and end of the first match in text at or after byte
// from, -1 for none. The match may skip the characters in over.
func (w query) find(text string, from int, over string) (start, end int) {
	if len(w.runes) == 0 {
		return -1, -1
	}
	for i := w.firstRune(text, from); i < len(text); {
		if n := w.matchLen(text[i:], over); n > 0 {
			return i, i + n
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i = w.firstRune(text, i+size)
	}
	return -1, -1
}

// firstRune returns the offset, at or after byte i, of the first character of the query in
// text, or len(text) for none. It is the hot loop of a search.
func (w query) firstRune(text string, i int) int {
	first := w.runes[0]
	if first < utf8.RuneSelf {
		lower, upper := byte(first), byte(first)
		if w.ignoreCase && first >= 'a' && first <= 'z' {
			upper -= 'a' - 'A'
		}
		for i < len(text) && text[i] != lower && text[i] != upper {
			i++
		}
		return i
	}
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if w.matches(first, r) {
			return i
		}
		i += size
	}
	return i
}

// count returns the number of matches in text.
func (w query) count(text, over string) (n int) {
	for _, end := w.find(text, 0, over); end >= 0; _, end = w.find(text, end, over) {
		n++
	}
	return n
}

// matches reports whether r matches the query character want.
func (w query) matches(want, r rune) bool {
	if r == want {
		return true
	}
	if !w.ignoreCase {
		return false
	}
	if r < utf8.RuneSelf {
		return r >= 'A' && r <= 'Z' && r|' ' == want
	}
	return unicode.ToLower(r) == want && want >= utf8.RuneSelf
}

// matchLen returns the length of the match at the start of text, or 0 for none.
func (w query) matchLen(text, over string) int {
	i, passed := 0, 0
	spaced := false // white space precedes i; more white space is skipped
	for k := 0; k < len(w.runes); {
		if i == len(text) || passed > maxSkippedBytes {
			return 0
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		gap := unicode.IsSpace(r) || r == 0
		switch {
		case w.matches(w.runes[k], r) || gap && w.runes[k] == ' ':
			k++
			spaced = gap
		case k > 0 && (spaced && (gap || r == quoteBar) || strings.ContainsRune(over, r)):
			spaced = spaced || gap
			passed += size
		default:
			return 0
		}
		i += size
	}
	return i
}
