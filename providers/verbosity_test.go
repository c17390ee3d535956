package providers

import (
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/tools/process"
)

// TestVerbosity checks that every wire format sends every verbosity: in a field if the model has
// one, otherwise as a line of the system prompt.
func TestVerbosity(t *testing.T) {
	dir, getenv := installed(t, "claude")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := Config{Providers: map[string]Provider{"gate": {BaseURL: "http://127.0.0.1:9/v1", APIKey: "k"}}}
	c.Providers["claude-cli"] = Provider{Command: process.CommandLine{Words: []string{filepath.Join(dir, "claude")}}}
	for _, p := range []string{"openai", "anthropic", "gemini", "deepseek", "openrouter", "xai"} {
		c.Providers[p] = Provider{APIKey: "k"}
	}
	spoken := map[string]string{"low": "Keep your answers short.", "medium": "Answer at medium length", "high": "Answer at length"}
	for name, field := range map[string]string{
		"openai/gpt-6-sol": `"verbosity": "LEVEL"`, "openrouter/openai/gpt-6-sol": `"verbosity": "LEVEL"`,
		"openai/o3": "", "openai/gpt-4o": "", "openrouter/qwen/qwen3.7-max": "", "anthropic/claude-sonnet-5-5": "", "gemini/gemini-3.5-flash": "",
		"gemini/gemma-4-31b-it": "", "deepseek/deepseek-flash": "", "xai/grok-4.7": "", "gate/some-model": "", "claude-cli/opus": "",
	} {
		for level, line := range spoken {
			body, notices, err := Preview(c, name, OpenOptions{Getenv: getenv}, func(llm.Endpoint) llm.Request {
				return llm.Request{System: "Be kind.", Messages: []llm.Message{llm.UserText("hi")}, Settings: llm.Settings{Verbosity: level}}
			})
			want, not := line, `"verbosity"`
			if field != "" {
				want, not = strings.ReplaceAll(field, "LEVEL", level), line
			}
			if err != nil || strings.Count(body, want) != 1 || strings.Contains(body, not) {
				t.Errorf("%s, %s: %v, told %v, want %s in\n%s", name, level, err, notices, want, body)
			}
		}
	}
}
