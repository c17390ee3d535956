// Package cachewatch tracks providers' prompt caches: how much each request of a conversation
// read from a cache, and if cached tokens were not read, the cause and the cost. It stores
// digests, never texts:
//
//	llm.Request ──► Prefix ─┐
//	llm.Usage ──────────────┴─► Tracker.Observe ──► Entry and Miss, stored with the response
//
// Messages never change once sent, so the number of a request's last message
// identifies all of them: observing a request costs the same however long the
// conversation is.
package cachewatch

import (
	"cmp"
	"time"

	"parley/providers/llm"
)

// A Cause is the reason why a cache was not read.
type Cause string

// The causes.
const (
	ModelSwitched   Cause = "switch"   // the previous request went to another model
	Expired         Cause = "expired"  // more time has passed since the previous request than the provider keeps a prompt
	ToolsChanged    Cause = "tools"    // the offered tools or their descriptions changed
	SystemChanged   Cause = "system"   // the system prompt changed
	EffortChanged   Cause = "effort"   // the effort or the thinking limit changed
	SettingsChanged Cause = "settings" // another setting that is part of the prompt changed
	Summarized      Cause = "summary"  // a summary replaces messages sent before
	HistoryLeftOut  Cause = "history"  // messages sent before are left out
	PromptChanged   Cause = "prompt"   // an earlier message was edited, or the conversation went back to one
	ThinkingUnused  Cause = "thinking" // the provider left earlier thinking out of the prompt
	Unexplained     Cause = "provider" // the provider had the prompt cached but did not use it
)

// A miss of fewer tokens has no entry. If a model missed a smaller share of its cached tokens, a
// switch of the model may explain more.
const (
	leastMiss    = 1024 // tokens
	leastShare   = 0.2
	defaultLeast = 1024 // tokens of the shortest cached prompt, if unknown
)

// Facts describe a model's cache.
type Facts struct {
	llm.Cache
	Cost func(llm.Usage) (usd float64, known bool) // cost of a usage; nil: unknown
}

// A Request is one request that was answered.
type Request struct {
	Model    string // provider/model
	At       time.Time
	Key      string // digest of its Prefix; "": unknown
	First    string // digest of its first message; "": unknown
	LastSeq  int    // number of its last message in the conversation
	Compared bool   // other models were asked the same prompt at once
	Unused   int    // see llm.Finish
	Usage    llm.Usage
}

// An Entry is stored with a response, to compare the next request with it.
type Entry struct {
	Key    string  `json:"key,omitempty"`    // see Request
	First  string  `json:"first,omitempty"`  // see Request
	Prefix *Prefix `json:"prefix,omitempty"` // the prefix with digest Key; nil: an earlier response of the conversation has it

	Lifetime time.Duration `json:"lifetime,omitempty"` // see llm.Cache, in ns; 0: unknown
}

// A Miss is a part of a prompt that was in a provider's cache but not read from it.
type Miss struct {
	Tokens int     `json:"tokens"`
	Cause  Cause   `json:"cause,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // extra cost in US dollars; 0 if unknown
}

// A Tracker holds the requests of one conversation to compare the next one with. The
// zero value has none. It is not safe for concurrent use.
type Tracker struct {
	models   map[string]model  // by provider/model
	prefixes map[string]Prefix // by Request.Key
	last     string            // model of the last request
}

// A model describes one model's cache in this conversation.
type model struct {
	last   Request
	reads  bool // its provider reported a read
	writes bool // its provider reported a write
}

// cached returns how many tokens of the model's last request are in the cache c. Providers
// that report no writes cache all input that is long enough, but one that never reported a read
// may have no cache.
func (m model) cached(c llm.Cache) int {
	switch {
	case m.writes:
		return m.last.Usage.CacheRead + m.last.Usage.CacheWrite
	case m.reads && m.last.Usage.Input >= cmp.Or(c.MinTokens, defaultLeast):
		return m.last.Usage.Input
	}
	return 0
}

// Restore adds a request answered before the program started. Call it in the
// order of the conversation.
func (l *Tracker) Restore(r Request, e Entry) {
	if e.Prefix != nil {
		l.addPrefix(e.Key, *e.Prefix)
	}
	r.Key, r.First = e.Key, e.First
	l.remember(r)
}

// Observe adds an answered request, and returns the entry and the miss to store. Messages
// returns why the messages of r do not begin with those of an earlier request; "" if they do.
func (l *Tracker) Observe(r Request, p Prefix, f Facts, messages func(before Request) Cause) (e Entry, missed Miss) {
	r.Key = p.key()
	e = Entry{Key: r.Key, First: r.First, Lifetime: f.Lifetime}
	if l.addPrefix(r.Key, p) {
		e.Prefix = &p
	}
	g := l.compare(r, f, messages)
	l.remember(r)
	if g.missed > leastMiss {
		missed = Miss{g.missed, g.cause, f.extraCost(r.Usage, g.missed)}
	}
	return e, missed
}

// usualLifetime is the cache lifetime assumed where the provider does not document one.
const usualLifetime = 5 * time.Minute

// CachedTokens returns how many tokens of the unsent request r are known to be in its model's cache:
// the previous request began the same way, and the provider still keeps it. Messages is that of
// Observe.
func (l *Tracker) CachedTokens(r Request, p Prefix, c llm.Cache, messages func(before Request) Cause) int {
	m, known := l.models[r.Model]
	lifetime := c.Lifetime
	if lifetime <= 0 {
		lifetime = usualLifetime
	}
	if !known || m.last.Key != p.key() || r.At.Sub(m.last.At) > lifetime {
		return 0
	}
	if messages(m.last) != "" {
		return 0
	}
	return m.cached(c)
}

// addPrefix reports whether p is new to the conversation.
func (l *Tracker) addPrefix(key string, p Prefix) bool {
	if _, known := l.prefixes[key]; known {
		return false
	}
	if l.prefixes == nil {
		l.prefixes = map[string]Prefix{}
	}
	l.prefixes[key] = p
	return true
}

// remember stores r for comparison with the next request of its model.
func (l *Tracker) remember(r Request) {
	if r.Usage.Input == 0 {
		return
	}
	if l.models == nil {
		l.models = map[string]model{}
	}
	m := l.models[r.Model]
	l.models[r.Model] = model{last: r, reads: m.reads || r.Usage.CacheRead > 0, writes: m.writes || r.Usage.CacheWrite > 0}
	l.last = r.Model
}

// A cacheMiss describes the tokens that one request did not read.
type cacheMiss struct {
	expected, missed int // tokens
	cause            Cause
}

// compare compares r with the last request of its model, and with the last of all.
func (l *Tracker) compare(r Request, f Facts, messages func(Request) Cause) cacheMiss {
	own := l.models[r.Model]
	g := gapOf(own, r, f)
	if g.missed > leastMiss {
		g.cause = l.cause(own.last, r, f, messages)
		if float64(g.missed) > leastShare*float64(g.expected) {
			return g
		}
	}
	if l.last == r.Model || r.Compared {
		return g
	}
	s := gapOf(l.models[l.last], r, f)
	if s.missed <= max(g.missed, leastMiss) || !f.caches(own, r) {
		return g
	}
	s.cause = ModelSwitched
	return s
}

// gapOf returns how many cached tokens of m's last request r could have read but did
// not.
func gapOf(m model, r Request, f Facts) cacheMiss {
	expected := min(m.cached(f.Cache), r.Usage.Input)
	return cacheMiss{expected: expected, missed: max(expected-r.Usage.CacheRead, 0)}
}

// cause returns why r did not read the tokens cached by the previous request. Changes
// after the cache had expired cost nothing.
func (l *Tracker) cause(before, r Request, f Facts, messages func(Request) Cause) Cause {
	if f.Lifetime > 0 && r.At.Sub(before.At) > f.Lifetime {
		return Expired
	}
	if before.Key != "" && before.Key != r.Key {
		was, known := l.prefixes[before.Key]
		if !known {
			return SystemChanged
		}
		return l.prefixes[r.Key].difference(was)
	}
	if cause := messages(before); cause != "" {
		return cause
	}
	if r.Unused > 0 {
		return ThinkingUnused
	}
	return Unexplained
}

// String returns the cause in words.
func (c Cause) String() string {
	return map[Cause]string{
		ModelSwitched: "model switched", Expired: "it expired", ToolsChanged: "tools changed", SystemChanged: "system prompt changed",
		EffortChanged: "reasoning effort changed", SettingsChanged: "setting changed", Summarized: "conversation summarized",
		HistoryLeftOut: "older messages are no longer sent", PromptChanged: "earlier message changed",
		ThinkingUnused: "the provider ignored earlier thinking", Unexplained: "the provider did not use it",
	}[c]
}

// caches reports whether the provider of a model is known to have a cache.
func (f Facts) caches(m model, r Request) bool {
	return m.reads || m.writes || r.Usage.CacheRead+r.Usage.CacheWrite > 0 || f.extraCost(r.Usage, r.Usage.Input) > 0
}

// extraCost returns the extra cost of tokens not read from the cache, in US dollars; 0
// if unknown.
func (f Facts) extraCost(u llm.Usage, missed int) float64 {
	if f.Cost == nil {
		return 0
	}
	full, known := f.Cost(llm.Usage{Input: u.Input})
	cached, _ := f.Cost(llm.Usage{Input: u.Input, CacheRead: missed})
	if !known {
		return 0
	}
	return max(full-cached, 0)
}
