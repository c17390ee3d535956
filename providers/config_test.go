package providers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

func TestConfigDecodes(t *testing.T) {
	var c Config
	_, err := toml.Decode(`
[providers.local]
kind = "vllm"
base_url = "http://127.0.0.1:8000/v1"
api_key_command = "pass show vllm"
strategy = "none"
max_retries = 0
stream = false
headers = { X-Team = "blue" }
options = { top_k = 20, chat_template_kwargs = { enable_thinking = false } }
models = ["a", "b"]
idle_timeout = "90s"
`, &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	p := c.Providers["local"]
	if p.IdleTimeout != 90*time.Second || *p.MaxRetries != 0 || *p.Stream || p.Headers["X-Team"] != "blue" || len(p.Models) != 2 ||
		p.Options["chat_template_kwargs"].(map[string]any)["enable_thinking"] != false {
		t.Errorf("decoded as %+v", p)
	}
}

func TestValidate(t *testing.T) {
	negative := -1
	for _, tt := range []struct {
		name string
		p    Provider
		want string // part of the error; "" for none
	}{
		{"openai", Provider{}, ""},
		{"box", Provider{Kind: "vllm", BaseURL: "https://box.example/v1"}, ""},
		{"zai", Provider{BaseURL: "coding-intl"}, ""},
		{"box", Provider{Kind: "vlm"}, `providers.box.kind: unknown "vlm", did you mean "vllm"?`},
		{"box", Provider{Kind: "quantum"}, "there are openai, grok"},
		{"box", Provider{Kind: "antropic"}, `did you mean "anthropic"?`},
		{"box", Provider{Strategy: "nativ"}, `strategy: unknown "nativ", did you mean "native"?`},
		{"box", Provider{BaseURL: "localhost:8000"}, "base_url: must be an http or https address"},
		{"box", Provider{BaseURL: "ftp://box"}, "base_url"},
		{"box", Provider{BaseURL: "http://"}, "base_url"},
		{"box", Provider{BaseURL: "coding-intl"}, "base_url"},
		{"zai", Provider{BaseURL: "coding"}, "one of china, coding-china, coding-intl"},
		{"box", Provider{BaseURL: "https://me:" + canary + "@box/v1"}, "must not hold a password"},
		{"box", Provider{BaseURL: "https://box/v1?key=" + canary}, "must not hold a query"},
		{"box", Provider{MaxRetries: &negative}, "max_retries: -1 is negative"},
		{"box", Provider{IdleTimeout: -time.Second}, "idle_timeout: -1s is negative"},
		{"box", Provider{APIKey: canary, APIKeyEnv: "BOX_KEY"}, "set one of api_key, api_key_env, not both"},
		{"a/b", Provider{}, "must not be empty or hold a slash"},
	} {
		c := Config{Providers: map[string]Provider{tt.name: tt.p}}
		err := c.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s %+v: %v, want no error", tt.name, tt.p, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s %+v: %v, want %q", tt.name, tt.p, err, tt.want)
		case err != nil && leaks(err.Error()) != "":
			t.Errorf("%s: the error shows a secret: %v", tt.name, err)
		}
	}
	both := Config{Providers: map[string]Provider{"a": {Kind: "x"}, "b": {Strategy: "y"}}}
	if err := both.Validate(); err == nil || !strings.Contains(err.Error(), "providers.a.kind") || !strings.Contains(err.Error(), "providers.b.strategy") {
		t.Errorf("two faults: %v, want both", err)
	}
	standard := Default()
	if err := standard.Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
}

func TestKinds(t *testing.T) {
	kinds := Kinds()
	for _, kind := range kinds {
		if f, ok := familyOf(kind); !ok || f.open == nil || f.origin(kind, "m") == "" {
			t.Errorf("kind %s: no family that opens it", kind)
		}
	}
	slices.Sort(kinds)
	if unique := slices.Compact(slices.Clone(kinds)); len(unique) != len(kinds) {
		t.Errorf("a kind belongs to two families: %v", kinds)
	}
}
