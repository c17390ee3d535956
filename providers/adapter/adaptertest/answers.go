package adaptertest

import "parley/providers/llm"

// Answers holds sample responses by name.
var Answers = func() map[string]Answer {
	text := llm.Part{Kind: llm.Text, Text: "Grüß dich, 世界 🌍.\nTwo \"lines\"."}
	thinking := llm.Part{Kind: llm.Thinking, Text: "A greeting.\n\nKeep it short."}
	read := llm.Part{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a/b \"c\".go"}`}
	bare := llm.Part{Kind: llm.Call, ID: "call_2", Name: "list", Input: `{}`}
	return map[string]Answer{
		"text":                    {Parts: []llm.Part{text}, Reason: llm.Stop, Usage: llm.Usage{Input: 12, Output: 7}},
		"thinking":                {Parts: []llm.Part{thinking, text}, Reason: llm.Stop},
		"one call":                {Parts: []llm.Part{read}, Reason: llm.Calls},
		"text and parallel calls": {Parts: []llm.Part{text, read, bare}, Reason: llm.Calls},
		"thinking and call":       {Parts: []llm.Part{thinking, read}, Reason: llm.Calls},
		"length":                  {Parts: []llm.Part{text}, Reason: llm.Length},
		"refusal":                 {Parts: []llm.Part{text}, Reason: llm.Refused},
	}
}()
