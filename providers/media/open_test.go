package media_test

import (
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/media"
	"parley/providers/media/formats"
)

func init() { formats.Register() }

// env returns an environment with keys of these providers.
func env(names ...string) func(string) string {
	return func(name string) string {
		for _, n := range names {
			if name == n {
				return "key"
			}
		}
		return ""
	}
}

// A model is found by its full name, by its provider, and by its id alone, with its known facts.
func TestOpen(t *testing.T) {
	c, getenv := providers.Default(), env("OPENAI_API_KEY")
	o := providers.OpenOptions{Getenv: getenv}
	first := media.Images.Choices(c, getenv)[0]
	_, id, _ := strings.Cut(first.Name, "/")
	for _, name := range []string{"", first.Name, "openai", id} {
		m, err := media.Images.Open(t.Context(), c, name, o)
		if err != nil || m.Name != first.Name || !m.Known || m.Facts.ID != first.Facts.ID || m.Service == nil {
			t.Errorf("%q: got %s, known %t, %v, want %s", name, m.Name, m.Known, err, first.Name)
		}
	}
	if m, err := media.Images.Open(t.Context(), c, "openai/unheard-of", o); err != nil || m.Known || m.Name != "openai/unheard-of" {
		t.Errorf("a model that nothing is known of: got %s, known %t, %v", m.Name, m.Known, err)
	}
}

// An error names the request and the next step.
func TestOpenErrors(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		keys       []string
		fault      llm.Fault
	}{
		{"", "no provider with image models is connected; those that have some are openai, ", nil, llm.Authentication},
		{"gpt-imag-1", "gpt-image-1", []string{"OPENAI_API_KEY"}, llm.ModelNotFound},
		{"opnai/x", "openai", []string{"OPENAI_API_KEY"}, llm.ModelNotFound},
		{"anthropic", "image", []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}, llm.Unsupported},
	} {
		_, err := media.Images.Open(t.Context(), providers.Default(), tt.name, providers.OpenOptions{Getenv: env(tt.keys...)})
		if err == nil || !strings.Contains(err.Error(), tt.want) || llm.FaultOf(err) != tt.fault {
			t.Errorf("%q: got %v (%s), want %q (%s)", tt.name, err, llm.FaultOf(err), tt.want, tt.fault)
		}
	}
}
