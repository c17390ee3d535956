package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/access"
)

// "auto" stands for models of other providers with the same abilities, the nearest price first. If a conversation does
// not fit, it stands for models of any provider with a larger window. Models whose window is too small are never
// proposed.
func TestAlternatives(t *testing.T) {
	choice := func(provider, model string, dollars float64, window int) providers.Choice {
		return providers.Choice{Name: provider + "/" + model, Provider: provider, Model: model, Ready: true, Tools: true, Vision: true, Context: window, Price: catalog.Price{Input: dollars, Output: 3 * dollars}}
	}
	blind, locked, old := choice("blind", "m", 1, 900), choice("locked", "m", 1, 900), choice("old", "m", 1, 900)
	blind.Vision, locked.Ready, old.Lifecycle.Deprecated = false, false, true
	choices := []providers.Choice{
		choice("a", "m", 1, 100), choice("a", "large", 1, 1000), choice("cheap", "m", 0.1, 200), choice("near", "far", 50, 50), choice("near", "m", 1.2, 50),
		choice("dear", "m", 5, 500), choice("unknown", "m", 0, 100), choice("demo", "demo", 0, 900), blind, locked, old,
	}
	for _, tt := range []struct {
		model  string
		fault  llm.Fault
		tokens int
		want   []string
	}{
		{"a/m", llm.Server, 0, []string{"near/m", "dear/m", "cheap/m"}},
		{"a/m", llm.ContextOverflow, 0, []string{"a/large", "dear/m", "cheap/m"}},
		{"a/not-listed", llm.Quota, 0, []string{"near/m", "dear/m", "cheap/m"}},
		{"b/m", llm.Server, 0, nil},
		{"cheap/m", llm.Server, 0, []string{"a/m", "near/m", "dear/m"}},
		{"a/m", llm.RateLimit, 60, []string{"dear/m", "cheap/m", "unknown/m"}}, // near/m's window is too small
		{"a/m", llm.Server, 400, []string{"dear/m"}},
		{"a/m", llm.ContextOverflow, 300, []string{"a/large", "dear/m"}},
		{"a/m", llm.ContextOverflow, 900, []string{"a/large"}}, // 95 % of the window
		{"a/m", llm.ContextOverflow, 960, nil},
	} {
		if got := alternatives(choices, session.FallbackNeed{Model: tt.model, Fault: tt.fault, Tokens: tt.tokens}, catalog.Revised()); !slices.Equal(got, tt.want) {
			t.Errorf("%s, %s of %d tokens: %q, want %q", tt.model, tt.fault, tt.tokens, got, tt.want)
		}
	}
}

// The chain of a model takes precedence over that of its provider, and that over the general one. The command line
// overrides all of them.
func TestFallbacks(t *testing.T) {
	a := newProgram()
	a.config.Fallback = []string{"g/1"}
	a.config.Fallbacks = map[string][]string{"p": {"p/2"}, "p/x": {"x/3", "x/4"}, "q/none": {}}
	for model, want := range map[string][]string{"p/x": {"x/3", "x/4"}, "p/y": {"p/2"}, "z/y": {"g/1"}, "q/none": nil} {
		if got := fallbacks(a)(session.FallbackNeed{Model: model}); !slices.Equal(got, want) {
			t.Errorf("%s: %q", model, got)
		}
	}
	a.flags.fallback = []string{"f/0"}
	if got := fallbacks(a)(session.FallbackNeed{Model: "p/y"}); !slices.Equal(got, []string{"f/0"}) {
		t.Errorf("%q", got)
	}
	a.flags.noFallback = true
	if got := fallbacks(a)(session.FallbackNeed{Model: "p/y"}); got != nil {
		t.Errorf("%q", got)
	}
}

// Chains may contain aliases, and may belong to an alias. A chain of the model itself takes precedence over one of its
// alias.
func TestFallbackAliases(t *testing.T) {
	a := newProgram()
	a.config.Aliases = map[string]string{"fast": "p/small", "best": "q/large", "old": "q/old"}
	a.config.Fallbacks = map[string][]string{"best": {"fast", "auto/x"}, "q/old": {"r/own"}, "old": {"fast"}, "p": {"best"}}
	a.config.resolveAliases(&a.flags)
	for model, want := range map[string][]string{"q/large": {"p/small", "auto/x"}, "q/old": {"r/own"}, "p/small": {"q/large"}} {
		if got := fallbacks(a)(session.FallbackNeed{Model: model}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
}

// A model that was only found on this machine (a program, a server, a login of another program) is not used in chains,
// offers and folders until the user connects it.
func TestFoundIsNotConnected(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"codex", "claude"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range catalog.Heads() {
		for _, name := range append(slices.Clone(p.KeyEnv), p.URLEnv...) {
			t.Setenv(name, "")
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("HOME", bin)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(bin, "adc.json"))
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	t.Setenv("GOOGLE_CLOUD_LOCATION", "global")
	t.Setenv("DEEPSEEK_API_KEY", "sk-0123456789")
	a := newProgram()
	a.library = session.MemoryStore()
	a.local.found.Store(&[]providers.LocalServer{{Provider: "ollama", Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1"}})
	ready := func() (names []string) {
		for _, c := range providers.Choices(a.local.services(), os.Getenv) {
			if c.Ready && c.Provider != "demo" {
				names = append(names, c.Provider)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	connected := func() (names []string) {
		for _, c := range connectedChoices(a) {
			if c.Ready && c.Provider != "demo" {
				names = append(names, c.Provider)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	if got := ready(); !slices.Contains(got, "codex-cli") || !slices.Contains(got, "vertex") {
		t.Fatalf("the test finds only %q", got)
	}
	if got := connected(); !slices.Equal(got, []string{"deepseek"}) {
		t.Errorf("connected: %q", got)
	}
	a.config.Fallback = []string{autoFallback}
	for _, names := range [][]string{fallbacks(a)(session.FallbackNeed{Model: "demo/parley"}), largerModels(a)(session.FallbackNeed{Model: "demo/parley", Fault: llm.ContextOverflow})} {
		for _, name := range names {
			if filepath.Dir(name) != "deepseek" {
				t.Errorf("%s is offered", name)
			}
		}
	}
	if providerReady(a, "codex-cli/gpt-6-luna") || providerReady(a, "vertex/gemini-4-argon") || !providerReady(a, "deepseek/x") {
		t.Error("a folder can choose what was merely found")
	}
	if err := access.SaveAnswer(a.library, "codex-cli", true); err != nil {
		t.Fatal(err)
	}
	a.config.Providers = map[string]providers.Provider{"claude-cli": {}}
	if got := connected(); !slices.Equal(got, []string{"claude-cli", "codex-cli", "deepseek"}) {
		t.Errorf("connected after the user agreed: %q", got)
	}
}
