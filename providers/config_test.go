package providers

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
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
		{"box", Provider{BaseURL: "https://me:" + canary + "@box/v1"}, "must not contain a password"},
		{"box", Provider{BaseURL: "https://box/v1?key=" + canary}, "must not contain a query"},
		{"box", Provider{MaxRetries: &negative}, "max_retries: -1 is negative"},
		{"box", Provider{IdleTimeout: -time.Second}, "idle_timeout: -1s is negative"},
		{"box", Provider{APIKey: canary, APIKeyEnv: "BOX_KEY"}, "set one of api_key, api_key_env, not both"},
		{"a/b", Provider{}, "must not be empty or contain a slash"},
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
		if f, ok := familyOf(kind); !ok || f.New == nil && f.Programs == nil || f.Traits(adapter.Options{Kind: kind, Model: "m"}).Origin == "" {
			t.Errorf("kind %s: no family that opens it", kind)
		}
	}
	slices.Sort(kinds)
	if unique := slices.Compact(slices.Clone(kinds)); len(unique) != len(kinds) {
		t.Errorf("a kind belongs to two families: %v", kinds)
	}
}

// A model's table takes precedence over the provider's, and the request over both.
func TestSettings(t *testing.T) {
	var c Config
	meta, err := toml.Decode(`
[providers.box]
base_url = "http://box/v1"
temperature = 0.5
top_p = 0.9
max_tokens = 100
stop = ["END"]
seed = 7
verbosity = "low"
effort = "low"
tool_choice = "required"
options = { top_k = 20, a = 1 }
[providers.box.model."org/m:8b"]
temperature = 0.0
budget = 2000
tool_choice = "read"
parallel_tools = false
strategy = "prompt"
context = 4096
options = { top_k = 40 }
price = { input = 1.0, output = 2.0 }
`, &c)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	s, _ := c.service("box", env())
	set := s.modelTable("org/m:8b").Settings.withDefaults(s.conf.Settings)
	hot := 1.5
	read, write := llm.Tool{Name: "read"}, llm.Tool{Name: "write"}
	for _, tt := range []struct {
		name string
		set  Settings
		req  llm.Request
		want llm.Request
	}{
		{"the provider's", s.conf.Settings, llm.Request{}, llm.Request{
			Effort:   "low",
			Settings: llm.Settings{Temperature: ptr(0.5), TopP: ptr(0.9), MaxTokens: 100, Stop: []string{"END"}, Seed: ptr(int64(7)), Verbosity: "low", ToolChoice: "required"},
		}},
		{"the model's over it: a budget takes the place of an effort", set, llm.Request{Tools: []llm.Tool{read}}, llm.Request{
			Tools:    []llm.Tool{read},
			Settings: llm.Settings{Budget: 2000, Temperature: ptr(0.0), TopP: ptr(0.9), MaxTokens: 100, Stop: []string{"END"}, Seed: ptr(int64(7)), Verbosity: "low", ToolChoice: "read", Parallel: ptr(false)},
		}},
		{"the request's over both: an effort takes the place of a budget", set,
			llm.Request{Effort: "high", Tools: []llm.Tool{write}, Settings: llm.Settings{Temperature: &hot, Stop: []string{}, User: "u"}},
			llm.Request{
				Effort: "high", Tools: []llm.Tool{write},
				Settings: llm.Settings{Temperature: &hot, TopP: ptr(0.9), MaxTokens: 100, Stop: []string{}, Seed: ptr(int64(7)), User: "u", Verbosity: "low", Parallel: ptr(false)},
			}},
		{"nothing", Settings{}, llm.Request{Settings: llm.Settings{ToolChoice: "none"}}, llm.Request{Settings: llm.Settings{ToolChoice: "none"}}},
	} {
		if got := tt.set.applyTo(tt.req); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n%+v, want\n%+v", tt.name, got, tt.want)
		}
	}
	if got := s.options("org/m:8b"); got["top_k"] != int64(40) || got["a"] != int64(1) || s.conf.Options["top_k"] != int64(20) {
		t.Errorf("options %v, of the provider %v", got, s.conf.Options)
	}
	e, err := Open(c, "box/org/m:8b", OpenOptions{Getenv: env()})
	if err != nil || e.Context != 4096 || e.Strategy != "prompt" {
		t.Errorf("opened as %+v, %v", e, err)
	}
	choices := Choices(c, env())
	if i := slices.IndexFunc(choices, func(c Choice) bool { return c.Name == "box/org/m:8b" }); i < 0 || choices[i].Price.Input != 1 {
		t.Errorf("a model with a table of its own is not offered with its price")
	}
}

func ptr[T any](v T) *T { return &v }

func TestValidateSettings(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		p    Provider
		want string
	}{
		{Provider{Settings: Settings{Settings: llm.Settings{Temperature: ptr(2.5)}}}, "providers.box.temperature: 2.5 is not between 0 and 2"},
		{Provider{Settings: Settings{Settings: llm.Settings{TopP: &nan}}}, "top_p: NaN"},
		{Provider{Settings: Settings{Settings: llm.Settings{PresencePenalty: ptr(-3.0)}}}, "presence_penalty: -3"},
		{Provider{Settings: Settings{Settings: llm.Settings{MaxTokens: -1}}}, "max_tokens: -1 is negative"},
		{Provider{Settings: Settings{Settings: llm.Settings{Budget: -1}}}, "budget: -1 is negative"},
		{Provider{Settings: Settings{Settings: llm.Settings{Stop: []string{"x", ""}}}}, "stop: an empty text"},
		{Provider{Settings: Settings{Effort: "hihg"}}, `effort: unknown "hihg", did you mean "high"?`},
		{Provider{Settings: Settings{Settings: llm.Settings{Verbosity: "loud"}}}, "verbosity: unknown"},
		{Provider{Model: map[string]Model{"a.b": {Strategy: "promt"}}}, `providers.box.model."a.b".strategy: unknown "promt", did you mean "prompt"?`},
		{Provider{Model: map[string]Model{"m": {Context: -1}}}, `model."m".context: -1`},
		{Provider{Model: map[string]Model{"m": {Price: &catalog.Price{Output: nan}}}}, `model."m".price: NaN`},
		{Provider{Model: map[string]Model{"": {}}}, "lacks the id"},
	} {
		c := Config{Providers: map[string]Provider{"box": tt.p}}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.p, err, tt.want)
		}
	}
}
