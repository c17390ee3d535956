package gemini

import (
	"parley/providers/adapter"
	"parley/providers/llm"
)

// usage counts the tokens of one request. Each chunk holds running totals, not
// always all of them, so that chunks are decoded into the same usage: the last
// word on each number counts. Numbers are floats, because gateways write them
// so.
type usage struct {
	Prompt   float64 `json:"promptTokenCount"` // cached ones included
	Cached   float64 `json:"cachedContentTokenCount"`
	Tools    float64 `json:"toolUsePromptTokenCount"` // results of tools that Google ran, beside the prompt
	Output   float64 `json:"candidatesTokenCount"`    // without thinking
	Thoughts float64 `json:"thoughtsTokenCount"`
}

// toLLM returns u as parley counts. Of an impossible number nothing is taken over.
func (u usage) toLLM() llm.Usage {
	thinking := adapter.TokenCount(u.Thoughts)
	return llm.Usage{
		Input:     adapter.TokenCount(u.Prompt) + adapter.TokenCount(u.Tools),
		CacheRead: min(adapter.TokenCount(u.Cached), adapter.TokenCount(u.Prompt)),
		Output:    adapter.TokenCount(u.Output) + thinking,
		Thinking:  thinking,
	}
}
