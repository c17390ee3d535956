// Package similar finds names that resemble an unknown name, for "did you mean".
package similar

import (
	"cmp"
	"sort"
	"strings"
	"unicode/utf8"
)

// Name returns the name in among that is most similar to name; "" if none is.
func Name(name string, among []string) string {
	if near := Names(name, among, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Names returns up to n names similar to name, nearest first. It ignores case, and the provider
// before a slash if name has none.
func Names(name string, among []string, n int) []string {
	type hit struct {
		name     string
		distance int
		common   int // length of the common prefix in bytes
	}
	name = strings.ToLower(name)
	var hits []hit
	for _, other := range among {
		d, limit := distance(name, strings.ToLower(other))
		if d <= limit {
			hits = append(hits, hit{other, d, commonBytes(name, strings.ToLower(other))})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool {
		return cmp.Or(cmp.Compare(hits[i].distance, hits[j].distance), cmp.Compare(hits[j].common, hits[i].common)) < 0
	})
	var names []string
	for _, h := range hits[:min(n, len(hits))] {
		names = append(names, h.name)
	}
	return names
}

// Mistyped returns the first of names, in lower case, that differs from word by one edit: a letter
// added, missing, wrong or swapped with its neighbor. It returns "" if there is none, or if word
// has less than four letters.
func Mistyped(word string, names []string) string {
	for _, name := range names {
		if utf8.RuneCountInString(word) >= 4 && levenshtein([]rune(strings.ToLower(word)), []rune(name)) == 1 {
			return name
		}
	}
	return ""
}

// commonBytes returns the length of the common prefix of a and b. The first letter is seldom
// mistyped.
func commonBytes(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// distance returns the number of edits between two lowercase names, and the largest number for
// which they count as similar: a third of the length of a, since two edits turn any three letters
// into any others. If b contains a, they always count as similar.
func distance(a, b string) (edits, limit int) {
	edits = levenshtein([]rune(a), []rune(b))
	limit = max(1, utf8.RuneCountInString(a)/3)
	if len(a) > 2 && strings.Contains(b, a) {
		return min(edits, limit), limit
	}
	if _, model, ok := strings.Cut(b, "/"); ok && !strings.Contains(a, "/") {
		edits = min(edits, levenshtein([]rune(a), []rune(model)))
	}
	return edits, limit
}

// levenshtein returns the number of runes to insert, delete, replace or swap with their neighbor to
// turn a into b.
func levenshtein(a, b []rune) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(last[j]+cost, last[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
