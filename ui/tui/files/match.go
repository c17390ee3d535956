package files

import (
	"slices"
	"strings"

	"parley/ui/fuzzy"
)

// A hit is a matching entry. The lowest score is best.
type hit struct {
	score uint64
	*entry
}

// best returns the files that match query. It allocates only the result, because
// a search through 100,000 names must end before the next key.
func best(lists [][]entry, query string, limit int) []File {
	query = strings.ToLower(query)
	if limit <= 0 || len(query) > maxPath {
		return nil
	}
	want := fuzzy.Letters(query)
	hits := make([]hit, 0, limit)
	for _, list := range lists {
		for i := range list {
			e := &list[i]
			if e.letter&want != want {
				continue
			}
			score, ok := e.Match(query)
			if !ok || len(hits) == limit && score >= hits[limit-1].score {
				continue // an earlier entry wins a tie
			}
			hits = hits[:min(len(hits), limit-1)]
			at, _ := slices.BinarySearchFunc(hits, score+1, func(h hit, score uint64) int {
				if h.score < score {
					return -1
				}
				return 1
			})
			hits = slices.Insert(hits, at, hit{score, e})
		}
	}
	found := make([]File, len(hits))
	for i, h := range hits {
		found[i] = File{h.path, h.folder}
	}
	return found
}
