package openai

import (
	"parley/providers/adapter"
	"parley/providers/llm"
)

// usage counts tokens in every dialect there is. Numbers are floats, because
// some servers write them so.
type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`
	PromptOf   struct {
		Cached   float64 `json:"cached_tokens"`
		Written  float64 `json:"cache_write_tokens"`          // OpenRouter
		Creation float64 `json:"cache_creation_input_tokens"` // Qwen
	} `json:"prompt_tokens_details"`
	CompletionOf struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cached float64  `json:"cached_tokens"`           // Kimi
	Hit    float64  `json:"prompt_cache_hit_tokens"` // DeepSeek, whose misses are the rest of the prompt
	Cost   *float64 `json:"cost"`                    // OpenRouter, US dollars
	Ticks  *float64 `json:"cost_in_usd_ticks"`       // xAI, 1e-10 US dollars
	BYOK   bool     `json:"is_byok"`                 // then the upstream's cost comes on top
	CostOf struct {
		Upstream float64 `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// toLLM is u as parley counts. Of an impossible number nothing is taken over.
func (u *usage) toLLM() llm.Usage {
	n := llm.Usage{
		Input:      adapter.TokenCount(u.Prompt),
		Output:     adapter.TokenCount(u.Completion),
		CacheRead:  adapter.TokenCount(max(u.PromptOf.Cached, u.Cached, u.Hit)),
		CacheWrite: adapter.TokenCount(max(u.PromptOf.Written, u.PromptOf.Creation)),
		Thinking:   adapter.TokenCount(u.CompletionOf.Reasoning),
	}
	// xAI does not count thinking as completion, as its total shows; nor does
	// Gemini behind some gateways, as there is more of it than completion.
	if n.Thinking > n.Output || n.Thinking > 0 && adapter.TokenCount(u.Total) == n.Input+n.Output+n.Thinking {
		n.Output += n.Thinking
	}
	if n.CacheRead > n.Input { // not counted as prompt either
		n.Input += n.CacheRead
	}
	switch {
	case u.Cost != nil && *u.Cost >= 0:
		n.Cost, n.Priced = *u.Cost, true
		if u.BYOK && u.CostOf.Upstream > 0 {
			n.Cost += u.CostOf.Upstream
		}
	case u.Ticks != nil && *u.Ticks >= 0:
		n.Cost, n.Priced = *u.Ticks/1e10, true
	}
	return n
}
