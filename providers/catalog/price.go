package catalog

import (
	"cmp"

	"parley/providers/llm"
)

// A Price is in US dollars per million tokens, unless a field says otherwise. The zero value is
// unknown. Cached tokens without a separate price cost as much as others.
type Price struct {
	Free       bool    `toml:"free" json:"free,omitempty"` // known to cost nothing
	Input      float64 `toml:"input" json:"input,omitempty"`
	Output     float64 `toml:"output" json:"output,omitempty"` // including thinking
	CacheRead  float64 `toml:"cache_read" json:"cache_read,omitempty"`
	CacheWrite float64 `toml:"cache_write" json:"cache_write,omitempty"`
	Search     float64 `toml:"search" json:"search,omitempty"` // per thousand web searches by the provider
	Tiers      []Tier  `toml:"tiers" json:"tiers,omitempty"`   // for long prompts, by ascending Above
	Configured bool    `toml:"-" json:"-"`                     // set by the user; takes precedence over a cost of 0 from the server
}

// A Tier replaces the price of a whole request whose prompt has more than Above tokens.
type Tier struct {
	Above      int     `toml:"above" json:"above,omitempty"`
	Input      float64 `toml:"input" json:"input,omitempty"`
	Output     float64 `toml:"output" json:"output,omitempty"`
	CacheRead  float64 `toml:"cache_read" json:"cache_read,omitempty"`
	CacheWrite float64 `toml:"cache_write" json:"cache_write,omitempty"`
}

// Known reports whether p holds a price or is free.
func (p Price) Known() bool { return p.Free || p.Input != 0 || p.Output != 0 }

// Cost returns the cost of one request in US dollars; false if it is unknown.
func (p Price) Cost(u llm.Usage) (float64, bool) {
	if !p.Known() {
		return 0, false
	}
	rate := Tier{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	for _, tier := range p.Tiers {
		if u.Prompt() > tier.Above {
			rate = tier
		}
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	cost := float64(fresh)*rate.Input +
		float64(u.CacheRead)*cmp.Or(rate.CacheRead, rate.Input) +
		float64(u.CacheWrite-u.HourWrite)*cmp.Or(rate.CacheWrite, rate.Input) +
		float64(u.HourWrite)*2*rate.Input + // Anthropic's price, used for every model
		float64(u.Output)*rate.Output
	return cost/1e6 + float64(u.Searches)*p.Search/1e3, true
}
