package files

import (
	"slices"
	"strings"

	"parley/ui/fuzzy"
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
	want := fuzzy.Letters(query)
	hits := make([]hit, 0, limit)
	for i := range list {
		e := &list[i]
		if e.letter&want != want {
			continue
		}
		score, ok := e.Match(query)
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
