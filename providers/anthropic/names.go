package anthropic

import (
	"strconv"

	"parley/providers/adapter"
)

// isValidID reports whether s can be an id: 1 to 64 letters, digits, _ and -.
func isValidID(s string) bool {
	return s != "" && len(s) <= adapter.MaxName && adapter.CleanName(s) == s
}

// callIDs give the calls of a history ids that the format takes: clean, and no two
// the same. Some servers number the calls of every answer from 0.
type callIDs struct {
	used adapter.Set
	now  map[string][]string // ids of the last message's calls, still to be answered
}

// call returns the id of a call on the wire.
func (s *callIDs) call(id string) string {
	sent := id
	if !isValidID(id) {
		sent = idPrefix + adapter.Hash(id)[:24]
	}
	for n := 2; s.used.Has(sent); n++ {
		sent = idPrefix + adapter.Hash(id + "#" + strconv.Itoa(n))[:24]
	}
	s.used.Add(sent)
	s.now[id] = append(s.now[id], sent)
	return sent
}

// result returns the id on the wire of the call that a result answers, if there
// is one.
func (s *callIDs) result(id string) (string, bool) {
	open := s.now[id]
	if len(open) == 0 {
		return "", false
	}
	s.now[id] = open[1:]
	return open[0], true
}

// idPrefix begins the ids that we make.
const idPrefix = "toolu_"
