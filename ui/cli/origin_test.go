package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley/providers/anthropic"
	"parley/providers/openai"
	"parley/session/archive"
)

// importedOrigin returns the Origin of the last message of an imported conversation.
func importedOrigin(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conversation.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var origin string
	_, err := archive.ReadFile(t.Context(), path, nil, func(c archive.Conversation) error {
		origin = c.Nodes[len(c.Nodes)-1].Origin
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return origin
}

// TestOriginOfCodex: state is imported with the Origin that the provider's adapter expects.
func TestOriginOfCodex(t *testing.T) {
	got := importedOrigin(t, `{"type":"turn_context","payload":{"model":"gpt-5.2-codex"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}`)
	if want := openai.NewResponses(openai.Options{Model: "gpt-5.2-codex"}).Origin(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOriginOfClaude: the same for Claude Code, for all forms of model ids.
func TestOriginOfClaude(t *testing.T) {
	for _, id := range []string{
		"claude-opus-4-5-20251101", "claude-sonnet-4-5", "claude-3-5-sonnet-20241022", "claude-3-opus-20240229",
		"claude-haiku-4-5-20251001", "claude-sonnet-4-20250514", "claude-opus-4-1-20250805", "Claude-Opus-5",
	} {
		got := importedOrigin(t, fmt.Sprintf(`{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","message":{"id":"m","role":"assistant","model":%q,"content":[{"type":"text","text":"hello"}]}}`, id))
		if want := anthropic.Family.Traits(anthropic.Options{Model: id}).Origin; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
