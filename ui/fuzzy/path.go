package fuzzy

import (
	"math"
	"strings"
)

// A Path is a path prepared for searches.
type Path struct {
	Lower string // in lower case
	Base  int32  // offset of the file name in Lower
	Depth uint16 // number of directories above it
}

// Kinds of matches, best first.
const (
	same = iota
	nameBegins
	pathBegins
	wordBegins // at a word of the name
	nameHolds
	folderBegins // at a word of the path
	pathHolds
	nameScatters
	pathScatters
)

// Match returns the score of e for query, lowest is best. query must be in lower
// case, and its Letters must all occur in e.
func (e *Path) Match(query string) (score uint64, ok bool) {
	name := e.Lower[e.Base:]
	if query == "" {
		return rank(nameBegins, int(e.Depth), 0), true
	}
	if strings.HasPrefix(name, query) {
		if len(name) == len(query) {
			return rank(same, 0, len(e.Lower)), true
		}
		return rank(nameBegins, 0, len(e.Lower)), true
	}
	if strings.HasPrefix(e.Lower, query) {
		if query[len(query)-1] == '/' {
			return rank(pathBegins, int(e.Depth), 0), true // list a directory's content in order
		}
		return rank(pathBegins, 0, len(e.Lower)), true
	}
	if i := strings.Index(name, query); i >= 0 {
		if begins(name, i) {
			return rank(wordBegins, 0, len(e.Lower)), true
		}
		return rank(nameHolds, 0, len(e.Lower)), true
	}
	if i := strings.Index(e.Lower, query); i >= 0 {
		if begins(e.Lower, i) {
			return rank(folderBegins, 0, len(e.Lower)), true
		}
		return rank(pathHolds, 0, len(e.Lower)), true
	}
	if cost, ok := scattered(name, query); ok {
		return rank(nameScatters, cost, len(e.Lower)), true
	}
	if cost, ok := scattered(e.Lower, query); ok {
		return rank(pathScatters, cost, len(e.Lower)), true
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

// scattered reports whether the bytes of query occur in s in order. cost is the
// number of bytes between them, plus a penalty for each one in the middle of a
// word that does not follow another match.
func scattered(s, query string) (cost int, ok bool) {
	end, q := 0, 0
	for ; q < len(query); q++ {
		i := strings.IndexByte(s[end:], query[q])
		if i < 0 {
			return 0, false
		}
		end += i + 1
	}
	// Going back from the end of the first match finds the tightest match there.
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

// Letters returns a bit set of the letters and digits in s; other characters share a few bits.
func Letters(s string) (set uint64) {
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z':
			set |= 1 << (r - 'a')
		case '0' <= r && r <= '9':
			set |= 1 << (26 + r - '0')
		default:
			set |= 1 << (36 + uint32(r)%28)
		}
	}
	return set
}
