package connect

import (
	"slices"
	"testing"

	"parley/ui/app/access"
)

// The names of the providers are aligned in a column for IDs of any length.
func TestProviderRows(t *testing.T) {
	got := providerRows([]access.Connection{
		{Provider: "openai", Name: "OpenAI", From: "OPENAI_API_KEY"}, {Provider: "antigravity-cli", Name: "Antigravity CLI", Keyless: true},
		{Provider: "ollama", Name: "Ollama", Keyless: true, Local: true}, {Provider: "x\x1b[2J", Name: "X"},
	})
	want := []string{
		"  1  openai           OpenAI                                   connected: OPENAI_API_KEY",
		"  2  antigravity-cli  Antigravity CLI                          uses its own login",
		"  3  ollama           Ollama                                   local server, needs no key",
		"  4  x␛[2J            X                                        no key yet",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
