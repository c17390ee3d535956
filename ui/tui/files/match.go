package files

import (
	"math"
	"slices"
	"strings"
)

// A hit is an entry that matches, by its place in the list. The least score is
// the best.
type hit struct {
	score uint64
	at    int
}

// best returns the files that match query. Only the result is allocated: a search
// through 100,000 names has to be over before the next key.
func best(list []entry, query string, limit int) []File {
	query = strings.ToLower(query)
	if limit <= 0 || len(query) > maxPath {
		return nil
	}
	want := letters(query)
	hits := make([]hit, 0, limit)
	for i := range list {
		e := &list[i]
		if e.letter&want != want {
			continue
		}
		score, ok := e.match(query)
		if !ok || len(hits) == limit && score >= hits[limit-1].score {
			continue // what stands earlier in the list wins a tie
		}
		hits = hits[:min(len(hits), limit-1)]
		at, _ := slices.BinarySearchFunc(hits, score+1, func(h hit, score uint64) int {
			if h.score < score {
				return -1
			}
			return 1
		})
		hits = slices.Insert(hits, at, hit{score, i})
	}
	found := make([]File, len(hits))
	for i, h := range hits {
		found[i] = File{list[h.at].path, list[h.at].folder}
	}
	return found
}

// The ways to match, the best first.
const (
	same = iota
	nameBegins
	pathBegins
	wordBegins // in the name
	nameHolds
	folderBegins // or the name, with what follows
	pathHolds
	nameScatters
	pathScatters
)

// match returns how well e matches query, which is in lower case and whose letters
// all occur in e.
func (e *entry) match(query string) (score uint64, ok bool) {
	name := e.low[e.base:]
	if query == "" {
		return rank(nameBegins, int(e.depth), 0), true
	}
	if strings.HasPrefix(name, query) {
		if len(name) == len(query) {
			return rank(same, 0, len(e.low)), true
		}
		return rank(nameBegins, 0, len(e.low)), true
	}
	if strings.HasPrefix(e.low, query) {
		if query[len(query)-1] == '/' {
			return rank(pathBegins, int(e.depth), 0), true // a directory's content, in order
		}
		return rank(pathBegins, 0, len(e.low)), true
	}
	if i := strings.Index(name, query); i >= 0 {
		if begins(name, i) {
			return rank(wordBegins, 0, len(e.low)), true
		}
		return rank(nameHolds, 0, len(e.low)), true
	}
	if i := strings.Index(e.low, query); i >= 0 {
		if begins(e.low, i) {
			return rank(folderBegins, 0, len(e.low)), true
		}
		return rank(pathHolds, 0, len(e.low)), true
	}
	if cost, ok := scattered(name, query); ok {
		return rank(nameScatters, cost, len(e.low)), true
	}
	if cost, ok := scattered(e.low, query); ok {
		return rank(pathScatters, cost, len(e.low)), true
	}
	return 0, false
}

func rank(way, cost, length int) uint64 {
	return uint64(way)<<32 | uint64(min(cost, math.MaxUint16))<<16 | uint64(min(length, math.MaxUint16))
}

// begins reports whether a word begins at s[i].
func begins(s string, i int) bool {
	return i == 0 || strings.IndexByte("/._- ", s[i-1]) >= 0
}

// scattered reports whether the bytes of query occur in s in their order, and
// how widely: the bytes in between, and some for each that is in the middle of
// a word with nothing of the query before it.
func scattered(s, query string) (cost int, ok bool) {
	end, q := 0, 0
	for ; q < len(query); q++ {
		i := strings.IndexByte(s[end:], query[q])
		if i < 0 {
			return 0, false
		}
		end += i + 1
	}
	// Going back from where the first match ends finds the tightest one there.
	const inside = 4
	i, next := end, end
	for q--; q >= 0; q-- {
		for i--; s[i] != query[q]; i-- {
		}
		cost += next - i - 1
		if next != i+1 && !begins(s, next) && next < end {
			cost += inside
		}
		next = i
	}
	if !begins(s, i) {
		cost += inside
	}
	return cost, true
}
