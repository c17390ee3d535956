package anthropic

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// maxName is how long names and ids may be.
const maxName = 64

// isValidName reports whether s can be a name or an id: 1 to 64 letters, digits, _
// and -.
func isValidName(s string) bool {
	return s != "" && len(s) <= maxName && cleanName(s) == s
}

// cleanName puts _ in the place of what may not be in a name.
func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// wireName is a tool's name as every service takes it: at most 64 letters,
// digits, _ and -. Equal names give equal names, different ones different.
func wireName(name string) string {
	if isValidName(name) {
		return name
	}
	start := cleanName(name)
	return start[:min(len(start), maxName-9)] + "_" + hash(name)[:8]
}

// originalNames maps the names on the wire of tools that had to be renamed to ours.
func originalNames(tools []llm.Tool) map[string]string {
	names := map[string]string{}
	for _, t := range tools {
		if name := wireName(t.Name); name != t.Name {
			names[name] = t.Name
		}
	}
	return names
}

// callIDs give the calls of a history ids that the format takes: clean, and no two
// the same. Some servers number the calls of every answer from 0.
type callIDs struct {
	used map[string]bool
	now  map[string][]string // ids of the last message's calls, still to be answered
}

// call returns the id of a call on the wire.
func (s *callIDs) call(id string) string {
	sent := id
	if !isValidName(id) {
		sent = "toolu_" + hash(id)[:24]
	}
	for n := 2; s.used[sent]; n++ {
		sent = "toolu_" + hash(id + "#" + strconv.Itoa(n))[:24]
	}
	s.used[sent] = true
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

// newCallID makes an id for a call that came without.
func newCallID() string { return "toolu_" + rand.Text() }

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
