package providers

import (
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
)

// An alias opens its model, which keeps its own name from then on. In the picker the alias has a
// row before the models, with the name of its model.
func TestAlias(t *testing.T) {
	getenv := env("GROQ_API_KEY", "k-groq-123")
	c := Config{
		Aliases:   map[string]string{"fast": "groq/openai/gpt-oss-120b", "mine": "box/m", "house": "groq", "far": "anthropic/claude-opus-5-5"},
		Providers: map[string]Provider{"box": {BaseURL: "http://box/v1", APIKey: "k", Model: map[string]Model{"m": {Price: &catalog.Price{Input: 1, Output: 2}}}}},
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	for alias, want := range map[string]string{"fast": "groq/openai/gpt-oss-120b", "mine": "box/m", "house": "groq/" + defaultOf(t, "groq")} {
		for _, exact := range []bool{false, true} {
			if e, err := Open(c, alias, OpenOptions{Getenv: getenv, ExactNames: exact}); err != nil || e.Name != want {
				t.Errorf("%s: %q, %v; want %q", alias, e.Name, err, want)
			}
		}
	}
	all := Choices(c, getenv)
	var ready, not []string
	for _, row := range all {
		switch {
		case row.Alias != "" && row.Ready:
			ready = append(ready, row.Name+" "+row.Alias)
		case row.Alias != "":
			not = append(not, row.Name+" "+row.Alias+" "+row.Unavailable)
		}
	}
	if want := []string{"fast groq/openai/gpt-oss-120b", "house groq/" + defaultOf(t, "groq"), "mine box/m"}; !slices.Equal(ready, want) || all[0].Name != "fast" || all[0].Context == 0 {
		t.Errorf("rows of aliases: %q, want %q; the first is %+v", ready, want, all[0])
	}
	if !slices.Equal(not, []string{"far anthropic/claude-opus-5-5 set ANTHROPIC_API_KEY"}) {
		t.Errorf("not ready: %q", not)
	}
	if _, err := Open(c, "fats", OpenOptions{Getenv: getenv}); err == nil || !strings.Contains(err.Error(), "did you mean fast") {
		t.Errorf("a typing error: %v", err)
	}
}

func defaultOf(t *testing.T, provider string) string {
	t.Helper()
	p, ok := catalog.Head(provider)
	if !ok {
		t.Fatal(provider)
	}
	return p.Default
}

// An alias that hides an existing name, or stands for no model, is rejected.
func TestAliasRefused(t *testing.T) {
	for _, tt := range []struct{ alias, stands, want string }{
		{"fast", "groq/any-model", ""},
		{"fast", "gpt-4o", ""},
		{"groq", "openai/gpt-4o", `aliases.groq = "openai/gpt-4o": it would hide the provider groq`},
		{"grok", "openai/gpt-4o", "it would hide the provider grok"},
		{"box", "openai/gpt-4o", "it would hide the provider box"},
		{"gpt-4o", "groq/m", "it would hide the model openai/gpt-4o"},
		{"own", "groq/m", "it would hide the model box/own"},
		{"fast", "other", "this is an alias too: name the model"},
		{"fast", "fast", "this is an alias too: name the model"},
		{"fast", "", "name a model, as provider/model"},
		{"fast", "groq/", "name a model of groq"},
		{"fast", "groc/m", `no provider "groc"; did you mean`},
		{"fast", "no-such-model-anywhere", "no such model"},
		{"a/b", "groq/m", `aliases: "a/b" must be one word`},
		{"a b", "groq/m", `aliases: "a b" must be one word`},
		{"\x1b", "groq/m", `aliases: "\x1b" must be one word`},
		{"", "groq/m", `aliases: "" must be one word`},
	} {
		c := Config{
			Aliases:   map[string]string{"other": "groq/m", tt.alias: tt.stands},
			Providers: map[string]Provider{"box": {BaseURL: "http://box/v1", Models: []string{"own"}}},
		}
		err := c.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %q: %v, want %s", tt.alias, tt.stands, err, tt.want)
		}
	}
}
