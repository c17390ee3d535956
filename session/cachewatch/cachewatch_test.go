package cachewatch_test

import (
	"math"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// TestMisses checks which misses are found, and their causes, at the boundaries of their size and age.
func TestMisses(t *testing.T) {
	facts := cachewatch.Facts{Cache: llm.Cache{Lifetime: 5 * time.Minute}, Cost: func(u llm.Usage) (float64, bool) {
		return float64(u.Input-u.CacheRead) / 1e6, true
	}}
	const sent = 10_000 // tokens of the first request, all written to the cache
	for _, test := range []struct {
		name  string
		model string // of the second request; "" is a/b
		after time.Duration
		read  int // tokens that the second request reads
		want  cachewatch.Miss
	}{
		{"all read", "", time.Minute, sent, cachewatch.Miss{}},
		{"1024 tokens missed", "", time.Minute, sent - 1024, cachewatch.Miss{}},
		{"more", "", time.Minute, sent - 1025, cachewatch.Miss{Tokens: 1025, Cause: cachewatch.Unexplained, Cost: 0.001025}},
		{"nothing read", "", time.Minute, 0, cachewatch.Miss{Tokens: sent, Cause: cachewatch.Unexplained, Cost: 0.01}},
		{"as old as it is kept", "", 5 * time.Minute, 0, cachewatch.Miss{Tokens: sent, Cause: cachewatch.Unexplained, Cost: 0.01}},
		{"expired", "", 5*time.Minute + time.Second, 0, cachewatch.Miss{Tokens: sent, Cause: cachewatch.Expired, Cost: 0.01}},
		{"another model", "a/c", time.Minute, 0, cachewatch.Miss{Tokens: sent, Cause: cachewatch.ModelSwitched, Cost: 0.01}},
	} {
		var l cachewatch.Tracker
		at := time.Unix(1_800_000_000, 0)
		p, first := cachewatch.PrefixOf(llm.Request{System: "s", Messages: []llm.Message{llm.UserText("Hi")}})
		same := func(cachewatch.Request) cachewatch.Cause { return "" }
		r := cachewatch.Request{Model: "a/b", At: at, First: first, LastSeq: 1, Usage: llm.Usage{Input: sent, CacheWrite: sent}}
		if _, missed := l.Observe(r, p, facts, same); missed.Tokens != 0 {
			t.Errorf("%s: the first request missed %+v", test.name, missed)
		}
		r.At, r.LastSeq, r.Usage = at.Add(test.after), 3, llm.Usage{Input: sent + 100, CacheRead: test.read, CacheWrite: sent + 100 - test.read}
		if test.model != "" {
			r.Model = test.model
		}
		e, missed := l.Observe(r, p, facts, same)
		if missed.Cost = math.Round(missed.Cost*1e6) / 1e6; missed != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, missed, test.want)
		}
		// The data stored with the response suffice to know the cache after a restart.
		var again cachewatch.Tracker
		again.Restore(r, e)
		if n := again.CachedTokens(r, p, facts.Cache, same); n != sent+100 {
			t.Errorf("%s: %d tokens are known to be cached after a restart", test.name, n)
		}
	}
	// Short prompts are not cached.
	var l cachewatch.Tracker
	p, _ := cachewatch.PrefixOf(llm.Request{System: "s"})
	for range 2 {
		r := cachewatch.Request{Model: "a/b", At: time.Unix(1_800_000_000, 0), LastSeq: 1, Usage: llm.Usage{Input: 1024, CacheWrite: 1024}}
		if _, missed := l.Observe(r, p, facts, func(cachewatch.Request) cachewatch.Cause { return "" }); missed.Tokens != 0 {
			t.Errorf("1024 tokens: %+v", missed)
		}
	}
}
