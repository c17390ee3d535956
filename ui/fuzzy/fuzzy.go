// Package fuzzy matches a few typed letters: titles by the words of a query
// (Index), paths by parts of them (Path), commands by a prefix of a name (Named),
// sentences by whole words (ContainsAll).
package fuzzy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Weights of a match. Each word of a query must occur in a title, with its
// letters in order, or verbatim in the additional text of the item. The order of
// the words does not matter. Letters count more at the beginning of words and
// next to each other. Dash, dot, slash, colon and underscore all match each
// other, because users do not remember which of them a model name contains.
//
// github.com/sahilm/fuzzy takes the first letter that fits, does not split
// words, and allocates for each item.
const (
	scoreLetter     = 16 // a matching letter
	scoreRun        = 8  // directly after the previous match
	scorePart       = 10 // at the beginning of the title, or after a slash
	scoreWord       = 8  // at the beginning of a word
	scoreNumber     = 6  // at the start or end of a number within a word
	scoreEnd        = 6  // the last letter at the end of the title
	scoreWordEnd    = 3  // the last letter at the end of a word
	gapOpen         = 3  // letters are skipped
	gapMore         = 1  // for each skipped letter after the first
	scoreAlso       = 18 // for each byte of a word that is found only in the additional text
	penaltyUnusable = 8  // for an item that cannot be chosen
	minExtra        = 2  // minimum value of each letter but the first, above its own
	none            = -1 << 20
)

const (
	maxTitleRunes = 256 // runes of a title that are searched
	maxWordRunes  = 64  // runes of a word that are searched for
)

// A Hit is a matching item. Hits of an empty query have no score.
type Hit struct{ Item, Score int }

// An indexEntry is a searchable title.
type indexEntry struct {
	runes   []rune  // in lower case, with equal separators
	bonus   []uint8 // bonus for a match of each rune
	letters uint64  // bit set of the occurring runes, by remainder
	also    string  // additional text in lower case
	penalty int     // subtracted from the score
}

// An Index holds searchable titles. It allocates only when it is created or
// grows.
type Index struct {
	targets []indexEntry
	rows    [2][]int // in a search: scores of matches that end at each rune
	from    []int32  // for Marks: where the previous letter was found
}

// IsZero reports whether the index is empty and was never built.
func (x *Index) IsZero() bool { return x.targets == nil }

// Penalize lowers the score of an item that cannot be chosen.
func (x *Index) Penalize(item int) { x.targets[item].penalty = penaltyUnusable }

// Len returns the number of runes in the title of an item.
func (x *Index) Len(item int) int { return len(x.targets[item].runes) }

// A Query holds the words to search for.
type Query []word

// separator replaces the signs between words.
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

// New returns an index of n items. said returns the title and the additional text of an item.
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

// bonusAt returns the bonus for a match at r, which follows before.
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

// A word is a word of a query, folded as titles are.
type word struct {
	plain   string // in lower case
	runes   []rune
	letters uint64
}

// minScore returns the minimum score of a match of w. Scattered letters are no match,
// because most titles contain any four of them.
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

// Find returns the items for which want is true that contain every word, best
// first and otherwise in index order. It appends to hits.
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

// score returns the score of a word in t; it is negative if the word does not occur.
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

// align finds the best-scoring positions for the letters of a word in t, by dynamic
// programming over (letter, position). If from is not nil, align stores there where
// the letter before each was found. end is the position of the last letter.
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
		// gap is the best score of the previous letters that end left of j,
		// minus the cost of the letters skipped since.
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

// bestEnd returns the best score and the position where it ends. A letter at the end
// of the title, or of a word in it, counts more.
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

// Marks returns the byte offsets of the matching letters in an item's title.
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

// Initials reports whether each matching letter begins a word or is in the same
// word as the previous one. In sentences, scattered letters are no match,
// because most sentences contain any four of them.
func Initials(title string, marks []int) bool {
	from := -1 // start of the word of the last letter
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

// Occurrences returns the byte offsets where words occur in title, ignoring case.
func Occurrences(title string, words []string) []int {
	longer := func(r rune) bool { return utf8.RuneLen(unicode.ToLower(r)) != utf8.RuneLen(r) }
	if strings.ContainsFunc(title, longer) {
		return nil // a letter has another length in lower case, which would shift offsets
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

// Named returns the index of the command that typed names: by a complete name,
// or by a prefix that only names of one command have. Each command lists its
// own name first and its aliases after it. Case is ignored. If there is no such
// command, at is negative, and among holds the commands with a name that begins
// with typed.
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
