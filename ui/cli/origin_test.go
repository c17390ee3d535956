package cli_test

import (
	"strings"
	"testing"

	"parley/providers/openai"
	"parley/session/archive"
)

// What a conversation of Codex kept for its provider carries the name that the adapter looks for.
func TestOriginOfCodex(t *testing.T) {
	list, _, err := archive.Read(strings.NewReader(`{"type":"turn_context","payload":{"model":"gpt-5.2-codex"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	want := openai.NewResponses(openai.Options{Model: "gpt-5.2-codex"}).Origin()
	if got := list[0].Nodes[0].Origin; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
