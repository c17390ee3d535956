package cli

import (
	"slices"
	"testing"

	"parley/providers"
)

// The names of the providers are aligned in a column for IDs of any length.
func TestProviderRows(t *testing.T) {
	got := providerRows([]providers.Connection{
		{Provider: "openai", Name: "OpenAI", From: "OPENAI_API_KEY"}, {Provider: "antigravity-cli", Name: "Antigravity CLI", Keyless: true},
		{Provider: "ollama", Name: "Ollama", Keyless: true, Local: true}, {Provider: "x\x1b[2J", Name: "X"},
	})
	want := []string{
		"  1  openai           OpenAI                                   connected",
		"  2  antigravity-cli  Antigravity CLI                          own login",
		"  3  ollama           Ollama                                   this machine",
		"  4  x␛[2J            X",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
