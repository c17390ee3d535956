package cachewatch_test

import (
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// TestNotices checks which misses the user is told of, at the boundaries of their size and age.
func TestNotices(t *testing.T) {
	facts := cachewatch.Facts{Cache: llm.Cache{Lifetime: 5 * time.Minute}, Cost: func(u llm.Usage) (float64, bool) {
		return float64(u.Input-u.CacheRead) / 1e6, true
	}}
	const sent = 10_000 // tokens of the first request, all written to the cache
	for _, test := range []struct {
		name  string
		model string // of the second request; "" is a/b
		after time.Duration
		read  int // tokens that the second request reads
		want  string
	}{
		{"all read", "", time.Minute, sent, ""},
		{"a fifth missed", "", time.Minute, 8_000, ""},
		{"more than a fifth", "", time.Minute, 7_999, "Cache of 2.0k tokens not read (less than $0.01): the provider did not use it"},
		{"nothing read", "", time.Minute, 0, "Cache of 10k tokens not read ≈ $0.01: the provider did not use it"},
		{"as old as it is kept", "", 5 * time.Minute, 0, "Cache of 10k tokens not read ≈ $0.01: the provider did not use it (5 min without a request)"},
		{"expired", "", 5*time.Minute + time.Second, 0, "Cache of 10k tokens lost ≈ $0.01: it expired (5 min without a request, kept for 5 min)"},
		{"another model", "a/c", time.Minute, 0, "Cache of 10k tokens lost ≈ $0.01: model switched (a/b → a/c)"},
	} {
		var l cachewatch.Tracker
		at := time.Unix(1_800_000_000, 0)
		p, first := cachewatch.PrefixOf(llm.Request{System: "s", Messages: []llm.Message{llm.UserText("Hi")}})
		same := func(cachewatch.Request) (cachewatch.Cause, string) { return "", "" }
		r := cachewatch.Request{Model: "a/b", At: at, First: first, LastSeq: 1, Usage: llm.Usage{Input: sent, CacheWrite: sent}}
		if _, missed, notice := l.Observe(r, p, facts, same); notice != "" || missed.Tokens != 0 {
			t.Errorf("%s: the first request is told as %q, %+v", test.name, notice, missed)
		}
		r.At, r.LastSeq, r.Usage = at.Add(test.after), 3, llm.Usage{Input: sent + 100, CacheRead: test.read, CacheWrite: sent + 100 - test.read}
		if test.model != "" {
			r.Model = test.model
		}
		e, _, notice := l.Observe(r, p, facts, same)
		if notice != test.want || e.Notified != (test.want != "") {
			t.Errorf("%s: %q, want %q", test.name, notice, test.want)
		}
		// The data stored with the response suffice to know the cache after a restart.
		var again cachewatch.Tracker
		again.Restore(r, e, cachewatch.Miss{})
		if n := again.CachedTokens(r, p, facts.Cache, same); n != sent+100 {
			t.Errorf("%s: %d tokens are known to be cached after a restart", test.name, n)
		}
	}
	// Short prompts are not told of.
	var l cachewatch.Tracker
	p, _ := cachewatch.PrefixOf(llm.Request{System: "s"})
	for range 2 {
		r := cachewatch.Request{Model: "a/b", At: time.Unix(1_800_000_000, 0), LastSeq: 1, Usage: llm.Usage{Input: 1024, CacheWrite: 1024}}
		if _, missed, notice := l.Observe(r, p, facts, func(cachewatch.Request) (cachewatch.Cause, string) { return "", "" }); notice != "" || missed.Tokens != 0 {
			t.Errorf("1024 tokens: %q, %+v", notice, missed)
		}
	}
}
