package transcript

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A query is what is searched for: text as it is, of which a space stands for
// any white space. Case counts if it has an upper-case letter.
type query struct {
	runes      []rune
	ignoreCase bool
}

func newWord(s string) query {
	w := query{runes: []rune(strings.Join(strings.Fields(s), " "))}
	w.ignoreCase = !slices.ContainsFunc(w.runes, unicode.IsUpper)
	return w
}

// What a word may pass over on its way through a text.
const (
	markupRunes = "*_`~\\>" // in the source of an answer: what makes its emphasis and quotes
	brokenLine  = "\x00"    // on the screen: the end of a full line, which may lie inside of a word
	quoteBar    = '│'       // at the beginning of a line, before what is quoted
)

// maxSkippedBytes sets how many bytes a word may pass over.
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

// firstRune returns where, from byte i on, the first letter of the word stands; the length
// of text if it does not. All that is searched passes through here.
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

// count counts the word in text, which next would find one after the other.
func (w query) count(text, over string) (n int) {
	for _, end := w.find(text, 0, over); end >= 0; _, end = w.find(text, end, over) {
		n++
	}
	return n
}

// matches reports whether r may stand where the word has want.
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

// matchLen returns how many bytes at the start of text the word takes; 0 if it does not
// stand there.
func (w query) matchLen(text, over string) int {
	i, passed := 0, 0
	spaced := false // white space stands before i, and more of it does not count
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
