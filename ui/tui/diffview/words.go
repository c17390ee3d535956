package diffview

import (
	"unicode"
	"unicode/utf8"
)

// A byteRange is a part of a line, in bytes.
type byteRange struct{ from, to int }

// Limits on the search for changed words, per line and per diff.
const (
	maxWords  = 128
	wordsWork = 1 << 20 // pairs of words compared in one diff
)

// changedWords returns the ranges of the words that differ between two lines. ok is false
// if the lines have too little in common or too many words. It subtracts the number of
// compared pairs from work.
func changedWords(a, b string, work *int) (inA, inB []byteRange, ok bool) {
	if len(a) > maxHighlightBytes || len(b) > maxHighlightBytes {
		return nil, nil, false
	}
	x, y := splitWords(a), splitWords(b)
	if len(x) > maxWords || len(y) > maxWords || len(x)*len(y) > *work {
		return nil, nil, false
	}
	*work -= len(x) * len(y)
	keptX, keptY := longestCommon(x, y)
	same, lengthA, lengthB := 0, 0, 0
	for i, w := range x {
		n := weight(w)
		lengthA += n
		if keptX[i] {
			same += n
		}
	}
	for _, w := range y {
		lengthB += weight(w)
	}
	if 2*same < min(lengthA, lengthB) || 4*same < max(lengthA, lengthB) || same == 0 {
		return nil, nil, false
	}
	return changedRanges(x, keptX), changedRanges(y, keptY), true
}

// weight returns the weight of a word: its length, 0 for spaces.
func weight(w string) int {
	if w[0] == ' ' {
		return 0
	}
	return len(w)
}

// splitWords splits a line into words, runs of spaces, and single signs. Characters outside
// of ASCII belong to words.
func splitWords(s string) []string {
	words := make([]string, 0, len(s)/3+1)
	for start := 0; start < len(s); {
		end := start
		class := classOf(s[start:])
		for end < len(s) && (end == start || class != sign && classOf(s[end:]) == class) {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
		}
		for r, size := utf8.DecodeRuneInString(s[end:]); unicode.IsMark(r); r, size = utf8.DecodeRuneInString(s[end:]) {
			end += size
		}
		words = append(words, s[start:end])
		start = end
	}
	return words
}

type class int

const (
	sign class = iota
	letter
	space
)

func classOf(s string) class {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == ' ':
		return space
	case r >= utf8.RuneSelf, r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
		return letter
	}
	return sign
}

// longestCommon reports which words of x and y are part of their longest common subsequence.
func longestCommon(x, y []string) (inX, inY []bool) {
	inX, inY = make([]bool, len(x)), make([]bool, len(y))
	head, tail := 0, 0 // number of equal words at both ends
	for head < min(len(x), len(y)) && x[head] == y[head] {
		inX[head], inY[head] = true, true
		head++
	}
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		inX[len(x)-1-tail], inY[len(y)-1-tail] = true, true
		tail++
	}
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return inX, inY
	}
	// length[i*(m+1)+j] is the length of the common subsequence of x[i:] and y[j:].
	length := make([]uint8, (n+1)*(m+1))
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			down, right := length[(i+1)*(m+1)+j], length[i*(m+1)+j+1]
			best := max(down, right)
			if x[i] == y[j] {
				best = length[(i+1)*(m+1)+j+1] + 1
			}
			length[i*(m+1)+j] = best
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case x[i] == y[j]:
			inX[head+i], inY[head+j] = true, true
			i, j = i+1, j+1
		case length[(i+1)*(m+1)+j] >= length[i*(m+1)+j+1]:
			i++
		default:
			j++
		}
	}
	return inX, inY
}

// changedRanges returns the ranges of words that are not kept. It includes a space between
// two such words.
func changedRanges(words []string, kept []bool) (all []byteRange) {
	at := 0
	for i, w := range words {
		loud := !kept[i] || w[0] == ' ' && i > 0 && i < len(words)-1 && !kept[i-1] && !kept[i+1]
		if end := at + len(w); loud {
			if last := len(all) - 1; last >= 0 && all[last].to == at {
				all[last].to = end
			} else {
				all = append(all, byteRange{at, end})
			}
		}
		at += len(w)
	}
	return all
}
