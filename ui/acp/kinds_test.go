package acp_test

import (
	"encoding/json"
	"testing"

	"parley/providers/llmtest"
	"parley/session"
)

// TestKinds: an editor gets every kind of part.
func TestKinds(t *testing.T) {
	e := newEditor(t, session.Options{}, llmtest.KindsTurns()...)
	e.prompt(e.begin(), text("hi"))
	e.mu.Lock()
	defer e.mu.Unlock()
	told, err := json.Marshal(e.told)
	if err != nil {
		t.Fatal(err)
	}
	llmtest.CheckKinds(t, llmtest.ACP, string(told))
}
