package providers

import (
	"os"
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultModel(t *testing.T) {
	local := Provider{BaseURL: "http://127.0.0.1:8000/v1", Models: []string{"qwen3:8b"}}
	for _, tt := range []struct {
		name string
		c    Config
		env  []string
		want string
	}{
		{"nothing", Config{}, nil, "demo/parley"},
		{"a key", Config{}, []string{"GROQ_API_KEY", "k"}, "groq/openai/gpt-oss-120b"},
		{"two keys", Config{}, []string{"GROQ_API_KEY", "k", "OPENAI_API_KEY", "k"}, "openai/gpt-6.1-sol"},
		{"a key of another family", Config{}, []string{"ANTHROPIC_API_KEY", "k"}, "anthropic/claude-sonnet-5-5"},
		{"a key in the configuration", Config{map[string]Provider{"xai": {APIKey: "k"}}}, nil, "xai/grok-4.7"},
		{"a command for a key", Config{map[string]Provider{"xai": {APIKeyCommand: "exit 1"}}}, nil, "xai/grok-4.7"},
		{"models of one's own", Config{map[string]Provider{"xai": {APIKey: "k", Models: []string{"grok-9"}}}}, nil, "xai/grok-9"},
		{"a local server", Config{map[string]Provider{"box": local}}, nil, "box/qwen3:8b"},
		{"a local server whose models are unknown", Config{map[string]Provider{"ollama": {}}}, nil, "demo/parley"},
		{"a key before a local server", Config{map[string]Provider{"box": local}}, []string{"GROQ_API_KEY", "k"}, "groq/openai/gpt-oss-120b"},
		{"no key, though configured", Config{map[string]Provider{"openai": {Strategy: "native"}}}, nil, "demo/parley"},
	} {
		if got := DefaultModel(tt.c, env(tt.env...)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestChoices(t *testing.T) {
	c := Config{map[string]Provider{"box": {BaseURL: "http://127.0.0.1:8000/v1", Models: []string{"never-heard-of"}}}}
	choices := Choices(c, env("DEEPSEEK_API_KEY", "k"))
	find := func(name string) Choice {
		t.Helper()
		i := slices.IndexFunc(choices, func(c Choice) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("%s is not among the choices", name)
		}
		return choices[i]
	}
	if got := find("deepseek/deepseek-v4-pro"); !got.Ready || got.Why != "" || got.Context != 1_000_000 || !got.Tools || !got.Thinks || got.Title != "DeepSeek V4 Pro" {
		t.Errorf("%+v", got)
	}
	if got := find("zai/glm-5.3"); got.Ready || got.Why != "set ZAI_API_KEY or ZHIPU_API_KEY" {
		t.Errorf("%+v", got)
	}
	if got := find("box/never-heard-of"); !got.Ready || got.Context != 0 || !got.Tools || got.Price.Known() || got.Title != "never-heard-of" {
		t.Errorf("%+v", got)
	}
	if got := find("demo/parley"); !got.Ready || !got.Price.Free {
		t.Errorf("%+v", got)
	}
	seen := map[string]bool{}
	last := true
	for _, choice := range choices {
		if seen[choice.Name] {
			t.Errorf("%s is there twice", choice.Name)
		}
		if seen[choice.Name] = true; choice.Ready && !last {
			t.Errorf("%s is ready, behind some that are not", choice.Name)
		}
		if last = choice.Ready; choice.Ready == (choice.Why != "") {
			t.Errorf("%s: ready %v, why %q", choice.Name, choice.Ready, choice.Why)
		}
	}
}

// What is called ready opens, under the same name.
func TestReadyChoicesOpen(t *testing.T) {
	all := func(name string) string { return "k" }
	for _, choice := range Choices(Default(), all) {
		e, err := Open(Default(), choice.Name, OpenOptions{Getenv: all})
		if err != nil {
			t.Errorf("%s: %v", choice.Name, err)
			continue
		}
		if m, _ := catalog.Row(choice.Provider, choice.Model); e.Name != choice.Name && m.ReplacedBy == "" {
			t.Errorf("%s opens as %s", choice.Name, e.Name)
		}
	}
}

func TestUnlisted(t *testing.T) {
	c := Config{map[string]Provider{"vllm": {}, "work": {BaseURL: "http://work/v1", Models: []string{"m"}}}}
	if got := Unlisted(c, env("OLLAMA_HOST", "box")); !slices.Equal(got, []string{"ollama", "vllm", "work"}) {
		t.Errorf("%v, want ollama, vllm, work", got)
	}
	if got := Unlisted(Default(), env()); len(got) > 0 {
		t.Errorf("%v, though nobody configured them", got)
	}
	if s, _ := c.service("ollama", env()); !strings.Contains(s.ready(c, env()), "OLLAMA_HOST") {
		t.Errorf("not ready: %q", s.ready(c, env()))
	}
}
