package transcript

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is what is searched for: text as it is, of which a space stands for
// any white space. Case counts if it has an upper-case letter.
type word struct {
	runes []rune
	fold  bool
}

func newWord(s string) word {
	w := word{runes: []rune(strings.Join(strings.Fields(s), " "))}
	w.fold = !slices.ContainsFunc(w.runes, unicode.IsUpper)
	return w
}

// What a word may pass over on its way through a text.
const (
	marks  = "*_`~\\>" // in the source of an answer: what makes its emphasis and quotes
	broken = "\x00"    // on the screen: the end of a full line, which may lie inside of a word
	bar    = '│'       // at the beginning of a line, before what is quoted
)

// passes sets how many bytes a word may pass over.
const passes = 256

// next finds where the word first begins in text, from a byte on, and where it
// ends; -1 if it does not.
func (w word) next(text string, from int, over string) (start, end int) {
	if len(w.runes) == 0 {
		return -1, -1
	}
	for i := w.begin(text, from); i < len(text); {
		if n := w.reach(text[i:], over); n > 0 {
			return i, i + n
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i = w.begin(text, i+size)
	}
	return -1, -1
}

// begin returns where, from byte i on, the first letter of the word stands; the length
// of text if it does not. All that is searched passes through here.
func (w word) begin(text string, i int) int {
	first := w.runes[0]
	if first < utf8.RuneSelf {
		lower, upper := byte(first), byte(first)
		if w.fold && first >= 'a' && first <= 'z' {
			upper -= 'a' - 'A'
		}
		for i < len(text) && text[i] != lower && text[i] != upper {
			i++
		}
		return i
	}
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if w.is(first, r) {
			return i
		}
		i += size
	}
	return i
}

// count counts the word in text, which next would find one after the other.
func (w word) count(text, over string) (n int) {
	for _, end := w.next(text, 0, over); end >= 0; _, end = w.next(text, end, over) {
		n++
	}
	return n
}

// is reports whether r may stand where the word has want.
func (w word) is(want, r rune) bool {
	if r == want {
		return true
	}
	if !w.fold {
		return false
	}
	if r < utf8.RuneSelf {
		return r >= 'A' && r <= 'Z' && r|' ' == want
	}
	return unicode.ToLower(r) == want && want >= utf8.RuneSelf
}

// reach returns how many bytes at the start of text the word takes; 0 if it does not
// stand there.
func (w word) reach(text, over string) int {
	i, passed := 0, 0
	spaced := false // white space stands before i, and more of it does not count
	for k := 0; k < len(w.runes); {
		if i == len(text) || passed > passes {
			return 0
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		gap := unicode.IsSpace(r) || r == 0
		switch {
		case w.is(w.runes[k], r) || gap && w.runes[k] == ' ':
			k++
			spaced = gap
		case k > 0 && (spaced && (gap || r == bar) || strings.ContainsRune(over, r)):
			spaced = spaced || gap
			passed += size
		default:
			return 0
		}
		i += size
	}
	return i
}
