package catalog

import (
	"cmp"

	"parley/providers/llm"
)

// A Price is in US dollars per million tokens. The zero value is unknown.
// Cached tokens without a price of their own cost as much as fresh ones.
type Price struct {
	Free       bool    `toml:"free"` // known to cost nothing
	Input      float64 `toml:"input"`
	Output     float64 `toml:"output"` // thinking included
	CacheRead  float64 `toml:"cache_read"`
	CacheWrite float64 `toml:"cache_write"`
	Tiers      []Tier  `toml:"tiers"` // for long prompts, rising
}

// A Tier replaces the price of a request whose prompt has more than Above
// tokens, for the whole of the request.
type Tier struct {
	Above      int     `toml:"above"`
	Input      float64 `toml:"input"`
	Output     float64 `toml:"output"`
	CacheRead  float64 `toml:"cache_read"`
	CacheWrite float64 `toml:"cache_write"`
}

// Known reports whether p says anything.
func (p Price) Known() bool { return p.Free || p.Input != 0 || p.Output != 0 }

// Cost returns what one request cost in US dollars, and whether that is known.
func (p Price) Cost(u llm.Usage) (float64, bool) {
	if !p.Known() {
		return 0, false
	}
	rate := Tier{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	for _, tier := range p.Tiers {
		if u.Input > tier.Above {
			rate = tier
		}
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	cost := float64(fresh)*rate.Input +
		float64(u.CacheRead)*cmp.Or(rate.CacheRead, rate.Input) +
		float64(u.CacheWrite)*cmp.Or(rate.CacheWrite, rate.Input) +
		float64(u.Output)*rate.Output
	return cost / 1e6, true
}
