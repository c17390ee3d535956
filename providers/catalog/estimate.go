package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Estimate returns the approximate number of tokens of a text before it is sent. Each vendor has
// its own tokenizer and most are not public, so it adds up the pieces that all of them split text
// into:
//
//   - a word with the space before it is one token; long words are more, and each part of a
//     camelCase identifier counts;
//   - a token holds two or three digits, or less than two random characters, as in base64;
//   - punctuation is a token alone or in pairs, a line break with the indentation after it;
//   - Han, kana and hangul are about one token each, letters of other scripts half a token.
//
// The usual rule of four bytes per token is far too low for code and Chinese.
func Estimate(text string) int {
	sum := 0
	var ahead run
	for len(text) > 0 {
		n := ahead.noise(text)
		cost := 65 * n
		if n == 0 {
			n, cost = pieceCost(text)
		}
		ahead.skip(text, n)
		sum += cost
		text = text[n:]
	}
	return (sum + 99) / 100
}

// pieceCost returns the length of the first piece of text in bytes, and its cost in hundredths of a
// token.
func pieceCost(text string) (n, cost int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case isLetter(r):
		return wordCost(text)
	case isDigit(r):
		n = prefixLength(text, isDigit)
		return n, 30 + 30*n
	case r == ' ':
		n = prefixLength(text, func(r rune) bool { return r == ' ' })
		return n, min(n-1, 1) * 90 // a single space belongs to the next word
	case r == '\n', r == '\r', r == '\t':
		return prefixLength(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == ' ' }), 95
	case r < utf8.RuneSelf:
		n = prefixLength(text, isSign)
		if n == 0 {
			n = 1 // a control character
		}
		return n, 40 + 30*n
	}
	return size, foreignCost(r)
}

// wordCost is pieceCost for a word, or for the part of an identifier up to the next capital.
func wordCost(text string) (n, cost int) {
	letters, small := 0, false
	for i, r := range text {
		if r == '\'' && letters > 0 && strings.ContainsAny(text[i+1:min(i+2, len(text))], "strdlvm") {
			cost += 70 // don't, we'll
			n = i + 1
			continue
		}
		capital := r >= 'A' && r <= 'Z'
		if !isLetter(r) || capital && small {
			break
		}
		if r >= utf8.RuneSelf {
			cost += 35
		}
		small = !capital
		letters++
		n = i + utf8.RuneLen(r)
	}
	return n, cost + 104 + 14*max(0, min(letters, 11)-7) + 22*max(0, letters-11)
}

// A run is the start of a text that may be base64 or a hash: its length in bytes, its number of digits,
// and its number of changes between character classes. It is counted once, not for each of its pieces.
type run struct{ n, figures, changes int }

// noise returns the length in bytes of a random-looking run at the start of text; 0 if there is none. It
// first counts a zero run.
func (r *run) noise(text string) int {
	if class(text[0]) == 3 {
		return 0
	}
	if r.n == 0 {
		r.n = prefixLength(text, func(r rune) bool {
			return r < utf8.RuneSelf && (isLetter(r) || isDigit(r) || r == '+' || r == '/' || r == '=')
		})
		if r.n >= 20 {
			r.add(text, r.n, 1)
		}
	}
	if r.n < 20 {
		*r = run{}
	}
	if r.figures == 0 && r.changes*3 < r.n || r.changes*5 < r.n {
		return 0
	}
	return r.n
}

// add adds the first n bytes of the run to the counts, multiplied by times.
func (r *run) add(text string, n, times int) {
	for i := range n {
		if isDigit(rune(text[i])) {
			r.figures += times
		}
		if i+1 < r.n && class(text[i]) != class(text[i+1]) {
			r.changes += times
		}
	}
}

// skip removes the first n bytes of text, which may be more than the run.
func (r *run) skip(text string, n int) {
	if n >= r.n {
		*r = run{}
		return
	}
	r.add(text, n, -1)
	r.n -= n
}

// class returns the kind of a character: lower case, upper case, digit or other.
func class(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 0
	case c >= 'A' && c <= 'Z':
		return 1
	case isDigit(rune(c)):
		return 2
	}
	return 3
}

// foreignCost returns the cost of a character outside ASCII and Latin.
func foreignCost(r rune) int {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 100
	case unicode.Is(unicode.Cyrillic, r):
		return 40
	case unicode.IsLetter(r), unicode.IsMark(r):
		return 55
	case unicode.IsPunct(r), unicode.IsSpace(r):
		return 80
	}
	return 180 // emoji and the like
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0xc0 && r <= 0x24f && r != '×' && r != '÷'
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isSign(r rune) bool { return r > ' ' && r < 0x7f && !isLetter(r) && !isDigit(r) }

// prefixLength returns the length in bytes of the longest prefix of text whose runes satisfy is.
func prefixLength(text string, is func(rune) bool) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !is(r) })
	if n < 0 {
		return len(text)
	}
	return n
}
