// Package fuzzy finds what a user means by a few letters: titles by the words of a
// query (Index), paths by a part of one (Path), commands by the beginning of a name
// (Named), sentences by whole words (ContainsAll).
package fuzzy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Weights of a match. Each word of a query has to occur in a title, its
// letters in their order, or in what else is said of the item as it is written;
// the words in any order. Letters count more where words begin and side by side.
// A dash, dot, slash, colon or underscore stands for each of them: people do not
// remember which of them a model has in its name.
//
// github.com/sahilm/fuzzy takes the first letter that fits, knows no words, and
// allocates for each item.
const (
	scoreLetter     = 16 // a letter that was found
	scoreRun        = 8  // directly after the one before it
	scorePart       = 10 // at the beginning, or after a slash
	scoreWord       = 8  // where a word begins
	scoreNumber     = 6  // where a number begins in a word, or ends
	scoreEnd        = 6  // the last letter ends the title
	scoreWordEnd    = 3  // or a word
	gapOpen         = 3  // something is passed over
	gapMore         = 1  // for each letter of that but the first
	scoreAlso       = 18 // for each byte of a word that is not in the title but beside it
	penaltyUnusable = 8  // taken off what cannot be used
	minExtra        = 2  // a letter but the first has to be worth this much more than itself
	none            = -1 << 20
)

const (
	maxTitleRunes = 256 // runes of a title that are looked at
	maxWordRunes  = 64  // runes of a word that are looked for
)

// A Hit is an item that matches. Hits without a query have no score.
type Hit struct{ Item, Score int }

// A indexEntry is a title to be searched.
type indexEntry struct {
	runes   []rune  // in lower case, separators all alike
	bonus   []uint8 // of a letter that is found here
	letters uint64  // a bit for each rune that occurs, by its remainder
	also    string  // what else is said of it, in lower case
	penalty int     // is taken off what it is worth
}

// An Index is titles to be searched. It allocates when it is made, and when it
// grows.
type Index struct {
	targets []indexEntry
	rows    [2][]int // of the search: scores that end at a rune
	from    []int32  // of marks: where the letter before was found
}

// IsZero reports whether nothing was indexed yet.
func (x *Index) IsZero() bool { return x.targets == nil }

// Penalize takes something off the score of an item that cannot be used.
func (x *Index) Penalize(item int) { x.targets[item].penalty = penaltyUnusable }

// Len returns how many runes the title of an item has.
func (x *Index) Len(item int) int { return len(x.targets[item].runes) }

// A Query is the words that are looked for.
type Query []word

// separator stands for the signs between words.
const separator = ' '

func fold(r rune) rune {
	switch r {
	case '-', '.', '_', '/', ':', '@':
		return separator
	}
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

// New makes titles ready, and what else is said of them.
func New(n int, said func(item int) (title, also string)) Index {
	x := Index{targets: make([]indexEntry, n)}
	for i := range x.targets {
		t, before := &x.targets[i], '/'
		title, also := said(i)
		t.also = strings.ToLower(also)
		for _, r := range title {
			if len(t.runes) == maxTitleRunes {
				break
			}
			folded := fold(r)
			t.runes, t.bonus = append(t.runes, folded), append(t.bonus, bonusAt(before, r))
			t.letters |= 1 << (folded & 63)
			before = r
		}
	}
	return x
}

// bonusAt returns how good a place r is for a match to begin, after before.
func bonusAt(before, r rune) uint8 {
	switch {
	case fold(r) == separator:
		return 0
	case before == '/':
		return scorePart
	case fold(before) == separator, !unicode.IsLetter(before) && !unicode.IsDigit(before):
		return scoreWord
	case unicode.IsDigit(r) != unicode.IsDigit(before), unicode.IsUpper(r) && unicode.IsLower(before):
		return scoreNumber
	}
	return 0
}

// A word word, folded as titles are.
type word struct {
	plain   string // in lower case
	runes   []rune
	letters uint64
}

// minScore returns what a match of w has to be worth: letters from anywhere mean nothing,
// most titles hold any four of them.
func (w *word) minScore() int { return len(w.runes)*(scoreLetter+minExtra) - minExtra }

func Parse(query string) Query {
	var out Query
	for _, w := range strings.Fields(query) {
		s := word{plain: strings.ToLower(w)}
		for _, r := range w {
			r = fold(r)
			s.runes = append(s.runes, r)
			s.letters |= 1 << (r & 63)
		}
		out = append(out, s)
	}
	return out
}

// Find returns the items for which want is true that have every word, the best
// first, and else in their order. It appends to hits.
func (x *Index) Find(hits []Hit, words Query, want func(item int) bool) []Hit {
	from := len(hits)
	for i := range x.targets {
		if !want(i) {
			continue
		}
		sum, all := -x.targets[i].penalty, true
		for w := range words {
			score := x.score(&words[w], &x.targets[i])
			if all = score >= 0; !all {
				break
			}
			sum += score
		}
		if all {
			hits = append(hits, Hit{i, sum})
		}
	}
	if len(words) > 0 {
		slices.SortFunc(hits[from:], func(a, b Hit) int { return cmp.Or(b.Score-a.Score, a.Item-b.Item) })
	}
	return hits
}

// score returns what a word is worth in t; below 0 if it does not occur.
func (x *Index) score(w *word, t *indexEntry) int {
	best, _ := x.align(w, t, nil)
	if best < w.minScore() {
		best = none
	}
	if t.also != "" && scoreAlso*len(w.plain) > best && strings.Contains(t.also, w.plain) {
		best = scoreAlso * len(w.plain)
	}
	return best
}

// align finds the letters of a word in t where they are worth most, by dynamic
// programming over (letter, place). If from is not nil, it keeps where the letter
// before each was found; end is where the last one was.
func (x *Index) align(w *word, t *indexEntry, from []int32) (best, end int) {
	n := len(t.runes)
	if w.letters&^t.letters != 0 || len(w.runes) > min(n, maxWordRunes) {
		return none, 0
	}
	for i := range x.rows {
		x.rows[i] = slices.Grow(x.rows[i][:0], n)[:n]
	}
	before, now := x.rows[0], x.rows[1]
	for i, c := range w.runes {
		// gap is the best score of the letters before that ends left of j, with
		// what lies between taken off.
		gap, gapAt, any := none, 0, false
		for j := range n {
			if i > 0 && j > 1 {
				gap -= gapMore
				if open := before[j-2] - gapOpen; open > gap {
					gap, gapAt = open, j-2
				}
			}
			now[j] = none
			if t.runes[j] != c {
				continue
			}
			score, at := none, 0
			switch {
			case i == 0:
				score = scoreLetter + int(t.bonus[j])
			case j > 0 && before[j-1]+scoreRun >= gap+int(t.bonus[j]):
				score, at = before[j-1]+scoreLetter+scoreRun, j-1
			default:
				score, at = gap+scoreLetter+int(t.bonus[j]), gapAt
			}
			if score < 0 {
				continue
			}
			now[j], any = score, true
			if from != nil {
				from[i*n+j] = int32(at)
			}
		}
		if !any {
			return none, 0
		}
		before, now = now, before
	}
	return bestEnd(before, t)
}

// bestEnd returns the best score and where it ends. A letter that ends the title, or
// a word of it, counts more.
func bestEnd(scores []int, t *indexEntry) (best, end int) {
	best = none
	for j, score := range scores {
		switch {
		case score < 0:
			continue
		case j == len(scores)-1:
			score += scoreEnd
		case t.runes[j+1] == separator:
			score += scoreWordEnd
		}
		if score > best {
			best, end = score, j
		}
	}
	return best, end
}

// Marks returns the bytes of an item's title at which letters were found.
func (x *Index) Marks(item int, title string, words Query) []int {
	t := &x.targets[item]
	n := len(t.runes)
	found := make([]bool, n)
	for i := range words {
		w := &words[i]
		x.from = slices.Grow(x.from[:0], len(w.runes)*n)[:len(w.runes)*n]
		best, at := x.align(w, t, x.from)
		if best < w.minScore() || strings.Contains(t.also, w.plain) && scoreAlso*len(w.plain) > best {
			continue
		}
		for letter := len(w.runes) - 1; letter >= 0; letter-- {
			found[at] = true
			at = int(x.from[letter*n+at])
		}
	}
	var marks []int
	at := 0
	for i := range title {
		if at < n && found[at] {
			marks = append(marks, i)
		}
		at++
	}
	return marks
}

// ContainsAll reports whether every word occurs in s.
func ContainsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// Initials reports whether each letter that matched begins a word or stands in
// the word of the letter before it. In a title that is a sentence, letters from
// anywhere mean nothing: most sentences hold any four of them.
func Initials(title string, marks []int) bool {
	from := -1 // where the word of the last letter begins
	for _, at := range marks {
		start := strings.LastIndexFunc(title[:at], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if start >= 0 {
			_, size := utf8.DecodeRuneInString(title[start:])
			start += size
		} else {
			start = 0
		}
		if at != start && start != from {
			return false
		}
		from = start
	}
	return true
}

// Occurrences returns the bytes of title where words stand, whatever their case.
func Occurrences(title string, words []string) []int {
	longer := func(r rune) bool { return utf8.RuneLen(unicode.ToLower(r)) != utf8.RuneLen(r) }
	if strings.ContainsFunc(title, longer) {
		return nil // a letter has another length in lower case: bytes shift
	}
	lower := strings.ToLower(title)
	var marks []int
	for _, w := range words {
		for from := 0; ; {
			at := strings.Index(lower[from:], w)
			if at < 0 || w == "" {
				break
			}
			for i := range w {
				marks = append(marks, from+at+i)
			}
			from += at + len(w)
		}
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// Named finds the command that typed names: one of its names whole, or the
// beginning of the names of one command alone. Each command has its own name
// first and the others after it; letter case does not count. At is below 0 if
// there is none; among are then the commands that typed begins a name of.
func Named(typed string, commands [][]string) (at int, among []int) {
	typed = strings.ToLower(typed)
	if typed == "" {
		return -1, nil
	}
	for i, names := range commands {
		if slices.ContainsFunc(names, func(name string) bool { return strings.ToLower(name) == typed }) {
			return i, nil
		}
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(strings.ToLower(name), typed) }) {
			among = append(among, i)
		}
	}
	if len(among) == 1 {
		return among[0], nil
	}
	return -1, among
}
