package dialog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// What a match is worth. Each word of a query has to occur in a title, its
// letters in their order, or in what else is said of the item as it is written;
// the words in any order. Letters count more where words begin and side by side.
// A dash, dot, slash, colon or underscore stands for each of them: people do not
// remember which of them a model has in its name.
//
// github.com/sahilm/fuzzy takes the first letter that fits, knows no words, and
// allocates for each item.
const (
	scoreLetter     = 16 // a letter that was found
	scoreRun        = 8  // directly behind the one before it
	scorePart       = 10 // at the beginning, or behind a slash
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

// A hit is an item that matches. Hits without a query have no score.
type hit struct{ item, score int }

// A indexEntry is a title to be searched.
type indexEntry struct {
	runes   []rune  // in lower case, separators all alike
	bonus   []uint8 // of a letter that is found here
	letters uint64  // a bit for each rune that occurs, by its remainder
	also    string  // what else is said of it, in lower case
	penalty int     // is taken off what it is worth
}

// An index is titles to be searched. It allocates when it is made, and when it
// grows.
type index struct {
	targets []indexEntry
	rows    [2][]int // of the search: scores that end at a rune
	from    []int32  // of marks: where the letter before was found
}

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

// newIndex makes titles ready, and what else is said of them.
func newIndex(n int, said func(item int) (title, also string)) index {
	x := index{targets: make([]indexEntry, n)}
	var runes []rune
	var worth []uint8
	for i := range n {
		title, also := said(i)
		runes, worth = growFor(runes, title), growFor(worth, title)
		start, before := len(runes), rune('/')
		t := indexEntry{also: strings.ToLower(also)}
		for _, r := range title {
			if len(runes)-start == maxTitleRunes {
				break
			}
			folded := fold(r)
			runes, worth = append(runes, folded), append(worth, bonusAt(before, r))
			t.letters |= 1 << (folded & 63)
			before = r
		}
		t.runes, t.bonus = runes[start:len(runes):len(runes)], worth[start:len(worth):len(worth)]
		x.targets[i] = t
	}
	return x
}

// growFor returns a slice that a title can be added to without moving what others have of
// it.
func growFor[T any](to []T, title string) []T {
	if cap(to)-len(to) < min(len(title), maxTitleRunes) {
		return make([]T, 0, 16*maxTitleRunes)
	}
	return to
}

// bonusAt returns how good a place r is for a match to begin, behind before.
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

// A queryWord word, folded as titles are.
type queryWord struct {
	plain   string // in lower case
	runes   []rune
	letters uint64
}

// minScore returns what a match of w has to be worth: letters from anywhere mean nothing,
// most titles hold any four of them.
func (w *queryWord) minScore() int { return len(w.runes)*(scoreLetter+minExtra) - minExtra }

func wordsOf(query string) []queryWord {
	var out []queryWord
	for _, w := range strings.Fields(query) {
		s := queryWord{plain: strings.ToLower(w)}
		for _, r := range w {
			r = fold(r)
			s.runes = append(s.runes, r)
			s.letters |= 1 << (r & 63)
		}
		out = append(out, s)
	}
	return out
}

// find returns the items for which want is true that have every word, the best
// first, and else in their order. It appends to hits.
func (x *index) find(hits []hit, words []queryWord, want func(item int) bool) []hit {
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
			hits = append(hits, hit{i, sum})
		}
	}
	if len(words) > 0 {
		slices.SortFunc(hits[from:], func(a, b hit) int { return cmp.Or(b.score-a.score, a.item-b.item) })
	}
	return hits
}

// score returns what a word is worth in t; below 0 if it does not occur.
func (x *index) score(w *queryWord, t *indexEntry) int {
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
func (x *index) align(w *queryWord, t *indexEntry, from []int32) (best, end int) {
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
	best = none
	for j, score := range before {
		switch {
		case score < 0:
			continue
		case j == n-1:
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

// marks returns the bytes of an item's title at which letters were found.
func (x *index) marks(item int, title string, words []queryWord) []int {
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

// highlight writes title with look, and the characters that begin at the bytes in
// marks with found.
func highlight(title string, marks []int, look, found sgr) string {
	if len(marks) == 0 {
		return look.apply(title)
	}
	var out strings.Builder
	from, to := 0, 0 // of the marked characters that were not written yet
	for _, at := range marks {
		if at < to {
			continue // a second rune of the same character
		}
		if at > to {
			out.WriteString(found.apply(title[from:to]))
			out.WriteString(look.apply(title[to:at]))
			from = at
		}
		char, _ := ansi.FirstGraphemeCluster(title[at:], ansi.GraphemeWidth)
		to = at + len(char)
	}
	out.WriteString(found.apply(title[from:to]))
	out.WriteString(look.apply(title[to:]))
	return out.String()
}

// containsAll reports whether every word occurs in s.
func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// matchesInitials reports whether each letter that matched begins a word or stands in
// the word of the letter before it. In a title that is a sentence, letters from
// anywhere mean nothing: most sentences hold any four of them.
func matchesInitials(title string, marks []int) bool {
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

// occurrences returns the bytes of title where words stand, whatever their case.
func occurrences(title string, words []string) []int {
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
