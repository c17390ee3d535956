package transcript

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A query is the text that is searched for. A space in it matches any white space. Case
// counts if it has an upper-case letter.
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
	markupRunes = "*_`~\\>" // in the source of an answer: what makes its emphasis and quotes
	brokenLine  = "\x00"    // on the screen: the end of a full line, which may lie inside of a word
	quoteBar    = '│'       // at the beginning of a line, before what is quoted
)

// maxSkippedBytes is how many bytes a match may skip.
const maxSkippedBytes = 256

// find finds where the word first begins in text, from a byte on, and where it
// ends; -1 if it does not.
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

// firstRune returns the offset of the first character of the query in text, from byte i on;
// len(text) if there is none. It is the hot loop of a search.
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

// matches reports whether r matches the character want of the query.
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

// matchLen returns the length of the match at the start of text, 0 if there is none.
func (w query) matchLen(text, over string) int {
	i, passed := 0, 0
	spaced := false // white space precedes i, and more of it is skipped
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
