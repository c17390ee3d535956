package openai_test

import (
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// TestKinds: the next request to another provider has every kind of part that it can have.
func TestKinds(t *testing.T) {
	history, _ := llm.Portable(llmtest.KindsHistory(), "chat")
	body, err := build(t, "openai", "gpt-5.2").Body(llm.Request{Messages: history})
	if err != nil {
		t.Fatal(err)
	}
	llmtest.CheckKinds(t, llmtest.Request, string(body))
}
