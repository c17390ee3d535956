package adapter

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"maps"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// MaxName is the longest tool name that every service accepts, in bytes.
const MaxName = 64

// CleanName replaces characters other than ASCII letters, digits, _ and - with _.
func CleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// WireName returns a tool's name in a form that every service accepts: at most 64 letters, digits,
// _ and -. Different names stay different.
func WireName(name string) string { return ShortName(name, CleanName(name)) }

// ShortName returns name if it equals clean and is short enough; otherwise it returns the beginning
// of clean with a hash of name.
func ShortName(name, clean string) string {
	if clean == name && name != "" && len(name) <= MaxName {
		return name
	}
	return clean[:min(len(clean), MaxName-9)] + "_" + Hash(name)[:8]
}

// Names maps the wire names of renamed tools to parley's names.
type Names map[string]string

// NamesOf returns the names of the tools that wireName, such as WireName, changes.
func NamesOf(tools []llm.Tool, wireName func(string) string) Names {
	names := Names{}
	for _, t := range tools {
		if name := wireName(t.Name); name != t.Name {
			names[name] = t.Name
		}
	}
	return names
}

// Ours returns parley's name of a tool for its wire name.
func (n Names) Ours(name string) string {
	if ours, ok := n[name]; ok {
		return ours
	}
	return name
}

// Tools encodes tools with encode, and adds their descriptions.
func Tools(tools []llm.Tool, encode func(llm.Tool) map[string]any) []any {
	list := make([]any, len(tools))
	for i, t := range tools {
		tool := encode(t)
		if t.Description != "" {
			tool["description"] = t.Description
		}
		list[i] = tool
	}
	return list
}

// CallInput returns the arguments of a call; {} if the model wrote invalid JSON, which servers would
// refuse.
func CallInput(call llm.Part) json.RawMessage {
	input, ok := llm.Arguments(call.Input)
	if !ok {
		return json.RawMessage("{}")
	}
	return input
}

// Results yields the results of a message, each with its media.
func Results(parts []llm.Part) iter.Seq2[llm.Part, []llm.Part] {
	return func(yield func(llm.Part, []llm.Part) bool) {
		for len(parts) > 0 {
			end := 1
			for end < len(parts) && parts[end].Kind != llm.Result {
				end++
			}
			if parts[0].Kind == llm.Result && !yield(parts[0], parts[1:end]) {
				return
			}
			parts = parts[end:]
		}
	}
}

// Blocks counts the blocks of an answer.
type Blocks int

// New returns a name for a new block.
func (b *Blocks) New(prefix string) string {
	*b++
	return prefix + strconv.Itoa(int(*b))
}

// CallIDs holds the ids of the calls of one answer. The zero value is empty.
type CallIDs map[string]bool

// Claim returns id, or a new one with prefix if id is empty or used by another call of the answer;
// repeated reports the latter.
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

// SentIDs assigns unique ids to the calls of a history for sending: some servers number the calls of every
// answer from 0. The zero value is ready to use.
type SentIDs struct {
	used Set
	open map[string][]string // sent ids of the last message's unanswered calls, by their original ids
}

// Begin starts a message with calls. Later results cannot answer earlier calls.
func (s *SentIDs) Begin() { s.open = nil }

// IsUsed reports whether id was already assigned.
func (s *SentIDs) IsUsed(id string) bool { return s.used.Has(id) }

// Call returns the id for a call: clean if it is unused, otherwise a new one with prefix.
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

// Result returns the id of the call that a result answers; false if there is none.
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

// A Set is a set of strings, such as ids. The zero value is empty.
type Set struct{ words map[string]bool }

// Has reports whether word is in s.
func (s *Set) Has(word string) bool { return s.words[word] }

// Add adds word to s.
func (s *Set) Add(word string) {
	if s.words == nil {
		s.words = map[string]bool{}
	}
	s.words[word] = true
}

// Clone returns a copy of s.
func (s *Set) Clone() Set { return Set{maps.Clone(s.words)} }
