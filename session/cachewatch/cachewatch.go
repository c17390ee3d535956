// Package cachewatch tracks providers' prompt caches: what each request of a conversation read
// from one and, where something was cached and not read, why, and what that costs. It holds
// digests, never texts:
//
//	llm.Request ──► Prefix ─┐
//	llm.Usage ──────────────┴─► Tracker.Observe ──► Entry, stored with the response; a notice for the user
//
// A message never changes once it was sent, so that the number of a request's last
// message stands for all of them: a request costs the same however long the
// conversation is.
package cachewatch

import (
	"fmt"
	"time"

	"parley/providers/llm"
)

// A Cause says why a cache was not read.
type Cause string

// The causes.
const (
	ModelSwitched   Cause = "switch"   // another model was asked before
	Expired         Cause = "expired"  // the request before is longer ago than the provider keeps a prompt
	ToolsChanged    Cause = "tools"    // other tools are offered, or other words about them
	SystemChanged   Cause = "system"   // the system prompt is another
	EffortChanged   Cause = "effort"   // another effort, or limit of thinking
	SettingsChanged Cause = "settings" // another setting that is part of the prompt
	Summarized      Cause = "summary"  // a summary stands for what was sent before
	HistoryLeftOut  Cause = "history"  // messages that were sent before are left out
	PromptChanged   Cause = "prompt"   // an earlier message was edited, or the conversation went back to one
	ThinkingUnused  Cause = "thinking" // the provider left earlier thinking out of the prompt
	Unexplained     Cause = "provider" // the provider had it and did not use it
)

// A miss of fewer tokens has no entry; one of a smaller share of what was there, or where
// less was there than the provider keeps, is not told.
const (
	leastMiss    = 1024 // tokens
	leastShare   = 0.2
	defaultLeast = 1024 // tokens of the shortest prompt that is cached, where that is not known
)

// Facts hold what is known of a model's cache.
type Facts struct {
	llm.Cache
	Cost func(llm.Usage) (usd float64, known bool) // of a request; nil: not known
}

// A Request is one request that was answered.
type Request struct {
	Model    string // provider/model
	At       time.Time
	Key      string // digest of its Prefix; "": not known
	First    string // digest of its first message; "": not known
	LastSeq  int    // number of its last message in the conversation
	Compared bool   // other models were asked the same at once
	Unused   int    // see llm.Finish
	Usage    llm.Usage
}

// An Entry is what is stored of a request with its response, to compare the next one with
// it.
type Entry struct {
	Key      string  `json:"key,omitempty"`    // see Request
	First    string  `json:"first,omitempty"`  // see Request
	Prefix   *Prefix `json:"prefix,omitempty"` // whose digest Key is; nil: an earlier response of the conversation has it
	Notified bool    `json:"told,omitempty"`   // the user got a notice of what it missed

	Lifetime time.Duration `json:"lifetime,omitempty"` // see llm.Cache, in ns; 0: not known
}

// A Miss is a part of a prompt that was in a provider's cache, and was not read from it.
type Miss struct {
	Tokens int     `json:"tokens"`
	Cause  Cause   `json:"cause,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // US dollars that the tokens cost more; 0 if that is not known
}

// A Tracker holds the requests of one conversation that the next is compared with. The
// zero value holds none. It is not safe for concurrent use.
type Tracker struct {
	models     map[string]model  // by provider/model
	prefixes   map[string]Prefix // by Request.Key
	last       string            // model of the last request
	lastNotice Cause             // of the last notice; "" if a request since then read what was there
}

// A model is what is known of one model's cache in this conversation.
type model struct {
	last   Request
	reads  bool // its provider reported a read
	writes bool // its provider reported a write
}

// cached returns how many tokens of the model's last request are in the cache. Providers
// that report no writes cache what they are sent, but one that never reported a read
// may have no cache.
func (m model) cached() int {
	switch {
	case m.writes:
		return m.last.Usage.CacheRead + m.last.Usage.CacheWrite
	case m.reads:
		return m.last.Usage.Input
	}
	return 0
}

// Restore adds a request that was answered before the program started. Those of a
// conversation come in order.
func (l *Tracker) Restore(r Request, e Entry, missed Miss) {
	if e.Prefix != nil {
		l.addPrefix(e.Key, *e.Prefix)
	}
	r.Key, r.First = e.Key, e.First
	l.remember(r)
	l.note(e.Notified, missed)
}

// Observe adds a request that was answered, and returns what to store of it, what it
// missed, and the notice that the user gets; "" for none. Messages returns why the
// messages of r do not begin with those of an earlier request; "" if they do.
func (l *Tracker) Observe(r Request, p Prefix, f Facts, messages func(before Request) (Cause, string)) (e Entry, missed Miss, notice string) {
	r.Key = p.key()
	e = Entry{Key: r.Key, First: r.First, Lifetime: f.Lifetime}
	if l.addPrefix(r.Key, p) {
		e.Prefix = &p
	}
	g := l.compare(r, f, messages)
	l.remember(r)
	if g.missed > leastMiss {
		missed = Miss{g.missed, g.cause, f.extraCost(r.Usage, g.missed)}
		if e.Notified = g.reportable(f) && g.cause != l.lastNotice; e.Notified {
			notice = missed.notice(g.detail)
		}
	}
	l.note(e.Notified, missed)
	return e, missed, notice
}

// usualLifetime is the cache lifetime assumed where the provider does not document one.
const usualLifetime = 5 * time.Minute

// CachedTokens returns how many tokens of r, which is not sent yet, are known to be in the cache of its
// model: the request before began as it does, and is not longer ago than the provider keeps it.
// Messages is that of Observe.
func (l *Tracker) CachedTokens(r Request, p Prefix, c llm.Cache, messages func(before Request) (Cause, string)) int {
	m, known := l.models[r.Model]
	lifetime := c.Lifetime
	if lifetime <= 0 {
		lifetime = usualLifetime
	}
	if !known || m.last.Key != p.key() || r.At.Sub(m.last.At) > lifetime {
		return 0
	}
	if cause, _ := messages(m.last); cause != "" {
		return 0
	}
	return m.cached()
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

// remember makes r the request that the next one of its model is compared with.
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

// note remembers which cause was told last. A request that read what was there ends its
// row, but where the provider or the history is the cause: those come and go by themselves.
func (l *Tracker) note(noticed bool, missed Miss) {
	switch {
	case noticed:
		l.lastNotice = missed.Cause
	case missed.Tokens == 0 && l.lastNotice != Unexplained && l.lastNotice != HistoryLeftOut:
		l.lastNotice = ""
	}
}

// A cacheMiss is what one request did not read.
type cacheMiss struct {
	expected, missed int // tokens
	cause            Cause
	detail           string // of the cause, in words; "" if there is none
}

// compare compares r with the last request of its model, and with the last of all.
func (l *Tracker) compare(r Request, f Facts, messages func(Request) (Cause, string)) cacheMiss {
	own := l.models[r.Model]
	g := gapOf(own, r)
	if g.missed > leastMiss {
		g.cause, g.detail = l.cause(own.last, r, f, messages)
		if g.reportable(f) {
			return g
		}
	}
	if l.last == r.Model || r.Compared {
		return g
	}
	s := gapOf(l.models[l.last], r)
	if s.missed <= max(g.missed, leastMiss) || !f.caches(own, r) {
		return g
	}
	s.cause, s.detail = ModelSwitched, fmt.Sprintf("%s → %s", l.last, r.Model)
	return s
}

// gapOf returns how much of what the cache holds of m's last request r could have read,
// and did not.
func gapOf(m model, r Request) cacheMiss {
	expected := min(m.cached(), r.Usage.Input)
	return cacheMiss{expected: expected, missed: max(expected-r.Usage.CacheRead, 0)}
}

// cause returns why r did not read what the request before left. What was changed after
// the cache had expired cost nothing.
func (l *Tracker) cause(before, r Request, f Facts, messages func(Request) (Cause, string)) (Cause, string) {
	idle := r.At.Sub(before.At)
	if f.Lifetime > 0 && idle > f.Lifetime {
		return Expired, fmt.Sprintf("%s without a request, kept for %s", inWords(idle), inWords(f.Lifetime))
	}
	if before.Key != "" && before.Key != r.Key {
		was, known := l.prefixes[before.Key]
		if !known {
			return SystemChanged, ""
		}
		return l.prefixes[r.Key].difference(was)
	}
	if cause, detail := messages(before); cause != "" {
		return cause, detail
	}
	if r.Unused > 0 {
		return ThinkingUnused, ""
	}
	if idle >= 5*time.Minute {
		return Unexplained, inWords(idle) + " without a request"
	}
	return Unexplained, ""
}

// reportable reports whether the user gets to know of g.
func (g cacheMiss) reportable(f Facts) bool {
	least := f.MinTokens
	if least == 0 {
		least = defaultLeast
	}
	return g.missed > leastMiss && g.expected >= least && float64(g.missed) > leastShare*float64(g.expected)
}

// String returns the cause in the words of a notice.
func (c Cause) String() string {
	switch c {
	case ModelSwitched:
		return "model switched"
	case Expired:
		return "it expired"
	case ToolsChanged:
		return "tools changed"
	case SystemChanged:
		return "system prompt changed"
	case EffortChanged:
		return "reasoning effort changed"
	case SettingsChanged:
		return "setting changed"
	case Summarized:
		return "conversation summarized"
	case HistoryLeftOut:
		return "older messages are no longer sent"
	case PromptChanged:
		return "earlier message changed"
	case ThinkingUnused:
		return "the provider ignored earlier thinking"
	case Unexplained:
		return "the provider did not use it"
	}
	return ""
}

// notice returns what the user is told of m, with a detail of its cause; "" if there is none.
func (m Miss) notice(detail string) string {
	verb := "lost"
	if m.Cause == Unexplained {
		verb = "not read"
	}
	text := fmt.Sprintf("Cache of %s tokens %s%s: %s", thousands(m.Tokens), verb, approximately(m.Cost), m.Cause)
	if detail != "" {
		text += " (" + detail + ")"
	}
	return text
}

// caches reports whether the provider of a model has a cache, as far as one knows.
func (f Facts) caches(m model, r Request) bool {
	return m.reads || m.writes || r.Usage.CacheRead+r.Usage.CacheWrite > 0 || f.extraCost(r.Usage, r.Usage.Input) > 0
}

// extraCost returns what tokens cost more because they were not read from the cache, in
// US dollars; 0 if that is not known.
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

// thousands returns a number of tokens as the screen writes it: 1.5k, 84k, 1.2M.
func thousands(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1e3)
}

// approximately returns " ≈ $0.25"; "" if that is nothing, or not known.
func approximately(dollars float64) string {
	switch {
	case dollars <= 0:
		return ""
	case dollars < 0.01:
		return " (less than $0.01)"
	}
	return fmt.Sprintf(" ≈ $%.2f", dollars)
}

// inWords returns a duration to the minute or hour: 65 min, 7 h, 3 days.
func inWords(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}
