package gemini

import (
	"parley/providers/adapter"
	"parley/providers/llm"
)

// usage holds the token counts of one request. Each chunk contains running totals, but not always
// all of them, so all chunks are decoded into the same usage: the last value of each count applies.
// Numbers are floats because gateways write them so.
type usage struct {
	Prompt   float64 `json:"promptTokenCount"` // including cached tokens
	Cached   float64 `json:"cachedContentTokenCount"`
	Tools    float64 `json:"toolUsePromptTokenCount"` // results of tools that Google ran, in addition to the prompt
	Output   float64 `json:"candidatesTokenCount"`    // without thinking
	Thoughts float64 `json:"thoughtsTokenCount"`
}

// toLLM converts u to parley's counts. Impossible numbers are ignored.
func (u usage) toLLM() llm.Usage {
	thinking := adapter.TokenCount(u.Thoughts)
	return llm.Usage{
		Input:     adapter.TokenCount(u.Prompt) + adapter.TokenCount(u.Tools),
		CacheRead: min(adapter.TokenCount(u.Cached), adapter.TokenCount(u.Prompt)),
		Output:    adapter.TokenCount(u.Output) + thinking,
		Thinking:  thinking,
	}
}
