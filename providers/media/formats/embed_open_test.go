package formats

import (
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/media"
)

// keys returns an environment in which the named variables contain keys.
func keys(names ...string) func(string) string {
	return func(name string) string {
		for _, n := range names {
			if n == name {
				return "secret-key"
			}
		}
		return ""
	}
}

// A provider without embeddings returns an error before any request, and names those that have a
// key and can.
func TestNoEmbeddings(t *testing.T) {
	getenv := keys("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY", "GROQ_API_KEY", "XAI_API_KEY", "MISTRAL_API_KEY")
	for _, name := range []string{"anthropic", "deepseek/deepseek-chat", "groq", "xai", "moonshot", "cerebras", "claude-cli"} {
		_, err := media.Embeddings.Open(t.Context(), providers.Config{}, name, providers.OpenOptions{Getenv: getenv})
		if llm.FaultOf(err) != llm.Unsupported || !strings.Contains(err.Error(), "no embedding models") || !strings.Contains(err.Error(), "openai, mistral") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := media.Embeddings.Open(t.Context(), providers.Config{}, "", providers.OpenOptions{Getenv: keys("ANTHROPIC_API_KEY")})
	if llm.FaultOf(err) != llm.Authentication || !strings.Contains(err.Error(), "gemini") {
		t.Errorf("without any: %v", err)
	}
}

// The empty name is the first model with a key; a provider alone is its first model; a user's own
// server gets requests for any model.
func TestOpenEmbedding(t *testing.T) {
	own := providers.Config{Providers: map[string]providers.Provider{"mine": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}}}
	for name, want := range map[string]string{
		"":                                 "gemini/gemini-embedding-001",
		"gemini":                           "gemini/gemini-embedding-001",
		"gemini-embedding-2":               "gemini/gemini-embedding-2",
		"mine/BAAI/bge-m3":                 "mine/BAAI/bge-m3",
		"openrouter/qwen/qwen3-embedding":  "openrouter/qwen/qwen3-embedding",
		"minimax":                          "minimax/embo-01",
		"openrouter/google/gemini-embed-2": "openrouter/google/gemini-embed-2",
	} {
		m, err := media.Embeddings.Open(t.Context(), own, name, providers.OpenOptions{Getenv: keys("GEMINI_API_KEY", "OPENROUTER_API_KEY", "MINIMAX_API_KEY")})
		if err != nil || m.Name != want {
			t.Errorf("%q: opened %q, %v, want %q", name, m.Name, err, want)
		}
	}
	if _, err := media.Embeddings.Open(t.Context(), own, "mine", providers.OpenOptions{Getenv: keys()}); err == nil || !strings.Contains(err.Error(), "mine/MODEL") {
		t.Errorf("a server without a model: %v", err)
	}
}
