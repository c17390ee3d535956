package gemini

import "parley/providers/llm"

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

// toLLM is u as parley counts. Of an impossible number nothing is taken over.
func (u usage) toLLM() llm.Usage {
	thinking := tokenCount(u.Thoughts)
	return llm.Usage{
		Input:     tokenCount(u.Prompt) + tokenCount(u.Tools),
		CacheRead: min(tokenCount(u.Cached), tokenCount(u.Prompt)),
		Output:    tokenCount(u.Output) + thinking,
		Thinking:  thinking,
	}
}

// tokenCount is a number of tokens, 0 if it cannot be one.
func tokenCount(n float64) int {
	if !(n > 0 && n < 1<<40) {
		return 0
	}
	return int(n)
}
