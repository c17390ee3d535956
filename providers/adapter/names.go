package adapter

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// MaxName is the longest name of a tool that every service takes, in bytes.
const MaxName = 64

// IsAlnum reports whether r is an ASCII letter or digit, or one of others.
func IsAlnum(r rune, others string) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r)
}

// CleanName returns s with _ in place of what is neither ASCII letter, digit, _ nor -.
func CleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if IsAlnum(r, "_-") {
			return r
		}
		return '_'
	}, s)
}

// WireName returns a tool's name as every service takes it: at most 64 letters,
// digits, _ and -. Equal names give equal names, different ones different.
func WireName(name string) string { return ShortName(name, CleanName(name)) }

// ShortName returns name if it is clean already and short enough, or else the
// beginning of clean with a hash of name.
func ShortName(name, clean string) string {
	if clean == name && name != "" && len(name) <= MaxName {
		return name
	}
	return clean[:min(len(clean), MaxName-9)] + "_" + Hash(name)[:8]
}

// Names maps the names on the wire of tools that had to be renamed to ours.
type Names map[string]string

// NamesOf returns the names of tools that wireName, such as WireName, changes.
func NamesOf(tools []llm.Tool, wireName func(string) string) Names {
	names := Names{}
	for _, t := range tools {
		if name := wireName(t.Name); name != t.Name {
			names[name] = t.Name
		}
	}
	return names
}

// Ours returns our name of a tool for its name on the wire.
func (n Names) Ours(name string) string {
	if ours, ok := n[name]; ok {
		return ours
	}
	return name
}

// CallIDs holds the ids of the calls of one answer. The zero value holds none.
type CallIDs map[string]bool

// Claim returns id, or a new one that begins with prefix if id is empty or, as
// repeated tells, another call of the answer has it.
func (ids *CallIDs) Claim(id, prefix string) (own string, repeated bool) {
	if repeated = (*ids)[id]; id == "" || repeated {
		id = prefix + rand.Text()
	}
	if *ids == nil {
		*ids = CallIDs{}
	}
	(*ids)[id] = true
	return id, repeated
}

// SentIDs gives the calls of a history the ids under which they are sent, no two the same: some servers number
// the calls of every answer from 0. The zero value has given none.
type SentIDs struct {
	used Set
	open map[string][]string // those of the last message's calls, by their own ids, still to be answered
}

// Begin begins a message with calls: those before it are answered by nothing that follows.
func (s *SentIDs) Begin() { s.open = nil }

// IsUsed reports whether a call was given an id.
func (s *SentIDs) IsUsed(id string) bool { return s.used.Has(id) }

// Call returns the id of a call: as clean, unless it was given before, else another one that begins with prefix.
func (s *SentIDs) Call(id, clean, prefix string) string {
	sent := clean
	for n := 2; s.used.Has(sent); n++ {
		sent = prefix + Hash(id + "#" + strconv.Itoa(n))[:24]
	}
	s.used.Add(sent)
	if s.open == nil {
		s.open = map[string][]string{}
	}
	s.open[id] = append(s.open[id], sent)
	return sent
}

// Result returns the id of the call that a result answers, if there is one.
func (s *SentIDs) Result(id string) (string, bool) {
	open := s.open[id]
	if len(open) == 0 {
		return "", false
	}
	s.open[id] = open[1:]
	return open[0], true
}

// Clone returns a copy of s.
func (s *SentIDs) Clone() SentIDs { return SentIDs{s.used.Clone(), maps.Clone(s.open)} }

// Hash returns the SHA-256 of s in hexadecimal digits.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// A Set holds words, such as ids. Its clones share what it held when they were made. The zero
// value is empty.
type Set struct {
	shared []map[string]bool // each with less than half of the words of the one before; never changed
	own    map[string]bool
}

// Has reports whether word is in s.
func (s *Set) Has(word string) bool {
	return s.own[word] || slices.ContainsFunc(s.shared, func(m map[string]bool) bool { return m[word] })
}

// Add puts word into s.
func (s *Set) Add(word string) {
	if s.own == nil {
		s.own = map[string]bool{}
	}
	s.own[word] = true
}

// Clone returns a copy of s.
func (s *Set) Clone() Set {
	if len(s.own) > 0 {
		s.shared, s.own = append(slices.Clip(s.shared), s.own), nil
	}
	for n := len(s.shared); n > 1 && 2*len(s.shared[n-1]) >= len(s.shared[n-2]); n-- {
		both := maps.Clone(s.shared[n-2])
		maps.Copy(both, s.shared[n-1])
		s.shared = append(slices.Clip(s.shared[:n-2]), both)
	}
	return Set{shared: s.shared}
}
