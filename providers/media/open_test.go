package media_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
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

// Models that are ready come first, in the order of the providers; the others say what they lack.
func TestChoices(t *testing.T) {
	c, getenv := providers.Default(), env("XAI_API_KEY", "GEMINI_API_KEY")
	choices := media.Images.Choices(c, getenv)
	ready := media.Images.Names(c, getenv)
	for i, choice := range choices {
		provider, id, _ := strings.Cut(choice.Name, "/")
		missing := ""
		if provider != "gemini" && provider != "xai" {
			missing = "set "
		}
		if (i < len(ready)) != (choice.Unavailable == "") || !strings.HasPrefix(choice.Unavailable, missing) || choice.Facts.ID != id {
			t.Errorf("choice %d of %d ready: %+v", i, len(ready), choice)
		}
		if i < len(ready) && ready[i] != choice.Name {
			t.Errorf("ready model %d is %s, want %s", i, ready[i], choice.Name)
		}
	}
	if len(ready) < 2 || !strings.HasPrefix(ready[0], "gemini/") || len(ready) == len(choices) {
		t.Errorf("of %d models %v are ready", len(choices), ready)
	}
}

// The embedding models of a server on this machine are found too.
func TestLocalEmbeddings(t *testing.T) {
	server := providers.LocalServer{Provider: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Embedded: []catalog.Facts{{ID: "mine:latest"}}}
	c := providers.Default().WithServers([]providers.LocalServer{server}, env())
	if got := media.Embeddings.Names(c, env()); !slices.Equal(got, []string{"ollama/mine:latest"}) {
		t.Errorf("got %v", got)
	}
	for _, name := range []string{"", "ollama", "ollama/mine", "mine"} {
		m, err := media.Embeddings.Open(t.Context(), c, name, providers.OpenOptions{Getenv: env()})
		if err != nil || !strings.HasPrefix(m.Name, "ollama/mine") || !m.Known || !m.Facts.Price.Free {
			t.Errorf("%q: got %s, %+v, %v", name, m.Name, m.Facts, err)
		}
	}
}

// A user's own server has no known models; a path is shortened to the name of its file.
func TestOwnServer(t *testing.T) {
	c := providers.Config{Providers: map[string]providers.Provider{"omni": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}}}
	find := func(ctx context.Context, name string, open func(providers.Config, string) error) error {
		return open(c, "omni/"+name)
	}
	m, err := media.Embeddings.Find(t.Context(), find, "/models/a.gguf", providers.OpenOptions{Getenv: env()})
	if err != nil || m.Name != "omni/a.gguf" || m.Known || m.Service == nil {
		t.Errorf("got %+v, %v", m, err)
	}
	_, err = media.Embeddings.Find(t.Context(), find, "", providers.OpenOptions{Getenv: env()})
	if err == nil || !strings.Contains(err.Error(), "omni has no default model: name one, as in omni/MODEL") {
		t.Errorf("got %v", err)
	}
}

// Keys are in the environment if nothing else is said.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "key")
	if m, err := media.Images.Open(t.Context(), providers.Default(), "openai", providers.OpenOptions{}); err != nil || !strings.HasPrefix(m.Name, "openai/") {
		t.Errorf("got %s, %v", m.Name, err)
	}
}

// A build without formats has no such models.
func TestWithoutFormats(t *testing.T) {
	media.Register(nil)
	defer formats.Register()
	o := providers.OpenOptions{Getenv: env("OPENAI_API_KEY")}
	if got := media.Images.Choices(providers.Default(), o.Getenv); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	for name, want := range map[string]llm.Fault{"": llm.Authentication, "openai": llm.Unsupported} {
		if _, err := media.Images.Open(t.Context(), providers.Default(), name, o); llm.FaultOf(err) != want {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
}

// A video that a model cannot make is refused before it is asked for, with the connected models that can.
func TestCheckVideo(t *testing.T) {
	sound := true
	for _, tt := range []struct {
		keys  []string
		r     works.VideoRequest
		words string // "" if it can
		able  string
	}{
		{[]string{"GEMINI_API_KEY"}, works.VideoRequest{Seconds: 8}, "", ""},
		{[]string{"GEMINI_API_KEY"}, works.VideoRequest{Seconds: 5}, "not 5", ""},
		{[]string{"GEMINI_API_KEY", "MINIMAX_API_KEY"}, works.VideoRequest{Seconds: 5}, "not 5", "; of the connected models, these can: minimax/"},
		{[]string{"GEMINI_API_KEY", "MINIMAX_API_KEY"}, works.VideoRequest{Seconds: 5, Audio: &sound}, "", ""},
	} {
		for _, key := range []string{"GEMINI_API_KEY", "MINIMAX_API_KEY", "XAI_API_KEY", "ZAI_API_KEY"} {
			t.Setenv(key, env(tt.keys...)(key))
		}
		m, err := media.Videos.Open(t.Context(), providers.Default(), "gemini", providers.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tt.r.Prompt = "a fox"
		err = media.CheckVideo(providers.Default(), m, tt.r, nil)
		if again := media.CheckVideo(providers.Default(), m, tt.r, env(tt.keys...)); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%+v: %v, but %v", tt.r, err, again)
		}
		said := fmt.Sprint(err)
		if tt.words == "" && tt.r.Audio == nil && err != nil || !strings.Contains(said, tt.words) || strings.Contains(said, "these can") != (tt.able != "") || !strings.Contains(said, tt.able) || strings.Count(said, "minimax/") > 1 {
			t.Errorf("%v, %+v: got %v, want %q%q", tt.keys, tt.r, err, tt.words, tt.able)
		}
	}
}

// Similar names are at most three, each once; providers with such models are named once each.
func TestOpenSuggests(t *testing.T) {
	for name, want := range map[string]string{"gpt-imag": "did you mean ", "": "those that have some are "} {
		_, err := media.Images.Open(t.Context(), providers.Default(), name, providers.OpenOptions{Getenv: env("ANTHROPIC_API_KEY")})
		_, list, _ := strings.Cut(fmt.Sprint(err), want)
		names := strings.Split(strings.TrimSuffix(list, "?"), ", ")
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) || len(names) < 2 || name != "" && len(names) != 3 {
			t.Errorf("%q: got %v", name, err)
		}
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
		{"opnai/x", "no provider \"opnai\"; did you mean openai\\?", []string{"OPENAI_API_KEY"}, llm.ModelNotFound},
		{"nothing-like-it", "no model \"nothing-like-it\"$", nil, llm.ModelNotFound},
		{"anthropic", "anthropic: unsupported: it has no image models; of the connected providers, these have: openai", []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}, llm.Unsupported},
		{"anthropic", "it has no image models$", []string{"ANTHROPIC_API_KEY"}, llm.Unsupported},
		{"openai", "no API key for OpenAI", nil, llm.Authentication},
	} {
		_, err := media.Images.Open(t.Context(), providers.Default(), tt.name, providers.OpenOptions{Getenv: env(tt.keys...)})
		var e *llm.Error
		if !errors.As(err, &e) || e.Purpose != "image" || !regexp.MustCompile(tt.want).MatchString(err.Error()) || llm.FaultOf(err) != tt.fault {
			t.Errorf("%q: got %v (%s), want %q (%s)", tt.name, err, llm.FaultOf(err), tt.want, tt.fault)
		}
	}
}
