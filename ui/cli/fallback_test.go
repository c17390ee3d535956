package cli

import (
	"slices"
	"testing"

	"parley/providers"
	"parley/providers/catalog"
)

// Auto stands for models of other providers that can do the same, the nearest price first;
// where a conversation does not fit, for those with a larger window.
func TestAlternatives(t *testing.T) {
	choice := func(provider, model string, dollars float64, window int) providers.Choice {
		return providers.Choice{Name: provider + "/" + model, Provider: provider, Model: model, Ready: true, Tools: true, Vision: true, Context: window, Price: catalog.Price{Input: dollars, Output: 3 * dollars}}
	}
	blind, locked, old := choice("blind", "m", 1, 900), choice("locked", "m", 1, 900), choice("old", "m", 1, 900)
	blind.Vision, locked.Ready, old.Deprecated = false, false, true
	choices := []providers.Choice{
		choice("a", "m", 1, 100), choice("a", "large", 1, 1000), choice("cheap", "m", 0.1, 200), choice("near", "far", 50, 50), choice("near", "m", 1.2, 50),
		choice("dear", "m", 5, 500), choice("unknown", "m", 0, 100), choice("demo", "demo", 0, 900), blind, locked, old,
	}
	for _, tt := range []struct {
		model   string
		roomier bool
		want    []string
	}{
		{"a/m", false, []string{"near/m", "dear/m", "cheap/m"}},
		{"a/m", true, []string{"a/large", "dear/m", "cheap/m"}},
		{"a/not-listed", false, []string{"near/m", "dear/m", "cheap/m"}},
		{"b/m", false, nil},
		{"cheap/m", false, []string{"a/m", "near/m", "dear/m"}},
	} {
		if got := alternatives(choices, tt.model, tt.roomier); !slices.Equal(got, tt.want) {
			t.Errorf("%s, roomier %v: %q, want %q", tt.model, tt.roomier, got, tt.want)
		}
	}
}

// The chain of a model counts, or else that of its provider, or else the general one, behind
// what the command line says.
func TestFallbacks(t *testing.T) {
	a := newProgram()
	a.config.Fallback = []string{"g/1"}
	a.config.Fallbacks = map[string][]string{"p": {"p/2"}, "p/x": {"x/3", "x/4"}, "q/none": {}}
	for model, want := range map[string][]string{"p/x": {"x/3", "x/4"}, "p/y": {"p/2"}, "z/y": {"g/1"}, "q/none": nil} {
		if got := fallbacks(a)(model); !slices.Equal(got, want) {
			t.Errorf("%s: %q", model, got)
		}
	}
	a.fallback = []string{"f/0"}
	if got := fallbacks(a)("p/y"); !slices.Equal(got, []string{"f/0", "p/2"}) {
		t.Errorf("%q", got)
	}
	a.noFallback = true
	if got := fallbacks(a)("p/y"); got != nil {
		t.Errorf("%q", got)
	}
}

// Aliases stand in chains, and name the models that chains are of; a chain of the model itself
// comes before one of its alias.
func TestFallbackAliases(t *testing.T) {
	a := newProgram()
	a.config.Aliases = map[string]string{"fast": "p/small", "best": "q/large", "old": "q/old"}
	a.config.Fallbacks = map[string][]string{"best": {"fast", "auto/x"}, "q/old": {"r/own"}, "old": {"fast"}, "p": {"best"}}
	resolveAliases(a)
	for model, want := range map[string][]string{"q/large": {"p/small", "auto/x"}, "q/old": {"r/own"}, "p/small": {"q/large"}} {
		if got := fallbacks(a)(model); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
}
