package providers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llmtest/closed"
	"parley/tools/process"
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
		{"a key in the configuration", Config{Providers: map[string]Provider{"xai": {APIKey: "k"}}}, nil, "xai/grok-4.7"},
		{"a command for a key", Config{Providers: map[string]Provider{"xai": {APIKeyCommand: "exit 1"}}}, nil, "xai/grok-4.7"},
		{"models of one's own", Config{Providers: map[string]Provider{"xai": {APIKey: "k", Models: []string{"grok-9"}}}}, nil, "xai/grok-9"},
		{"a local server", Config{Providers: map[string]Provider{"box": local}}, nil, "box/qwen3:8b"},
		{"a local server whose models are unknown", Config{Providers: map[string]Provider{"ollama": {}}}, nil, "demo/parley"},
		{"a key before a local server", Config{Providers: map[string]Provider{"box": local}}, []string{"GROQ_API_KEY", "k"}, "groq/openai/gpt-oss-120b"},
		{"no key, though configured", Config{Providers: map[string]Provider{"openai": {Strategy: "native"}}}, nil, "demo/parley"},
	} {
		if got := DefaultModel(tt.c, env(tt.env...)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestUnusable: a provider that the user set up is named if it has no model, so that no script
// silently gets the demo's answers.
func TestUnusable(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Config
		env  []string
		want string
	}{
		{"nothing", Config{}, nil, ""},
		{"the demo itself", Config{Providers: map[string]Provider{"demo": {}}}, nil, ""},
		{"no key", Config{Providers: map[string]Provider{"openai": {Strategy: "native"}}}, nil, "Provider openai cannot be used yet: add its key with /connect or parley connect, or set OPENAI_API_KEY"},
		{"an alias", Config{Providers: map[string]Provider{"xai": {}}}, nil, "Provider xai cannot be used yet: add its key with /connect or parley connect, or set XAI_API_KEY"},
		{"a variable of one's own", Config{Providers: map[string]Provider{"box": {BaseURL: "http://h/v1", APIKeyEnv: "BOX"}}}, nil, "Provider box cannot be used yet: add its key with /connect or parley connect, or set BOX"},
		{"an empty key", Config{}, []string{"ANTHROPIC_API_KEY", " "}, "Provider anthropic cannot be used yet: ANTHROPIC_API_KEY is set but empty"},
		{"no model", Config{Providers: map[string]Provider{"ollama": {}}}, nil, "Provider ollama has no default model: choose one with -m ollama/MODEL, or set model in config.toml"},
	} {
		if got := ExplainNoDefault(tt.c, env(tt.env...)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestChoices(t *testing.T) {
	c := Config{Providers: map[string]Provider{"box": {BaseURL: "http://127.0.0.1:8000/v1", Models: []string{"never-heard-of"}}}}
	choices := Choices(c, env("DEEPSEEK_API_KEY", "k"))
	find := func(name string) Choice {
		t.Helper()
		i := slices.IndexFunc(choices, func(c Choice) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("%s is not among the choices", name)
		}
		return choices[i]
	}
	if got := find("deepseek/deepseek-v4-pro"); !got.Ready || got.Unavailable != "" || got.Context != 1_000_000 || !got.Tools || !got.Thinks || got.Title != "DeepSeek V4 Pro" {
		t.Errorf("%+v", got)
	}
	if got := find("zai/glm-5.3"); got.Ready || got.Unavailable != "set ZAI_API_KEY or ZHIPU_API_KEY" {
		t.Errorf("%+v", got)
	}
	if got := find("box/never-heard-of"); !got.Ready || got.Context != 0 || !got.Tools || got.Price.Known() || got.Title != "never-heard-of" {
		t.Errorf("%+v", got)
	}
	if got := find("demo/parley"); !got.Ready || !got.Price.Free {
		t.Errorf("%+v", got)
	}
	for _, choice := range choices { // the picker has the same facts as Open
		if !choice.Ready {
			continue
		}
		e, err := Open(c, choice.Name, OpenOptions{Getenv: env("DEEPSEEK_API_KEY", "k")})
		if err != nil {
			t.Fatal(err)
		}
		f := choice.Facts
		usage := llm.Usage{Input: 300_000, CacheRead: 1000, Output: 10}
		cost, known := e.Cost(usage)
		if listed, ok := f.Cost(usage); listed != cost || ok != known {
			t.Errorf("%s: listed at $%v, opened at $%v", choice.Name, listed, cost)
		}
		e.Model, e.Cost, f.Cost = nil, nil, nil
		if !reflect.DeepEqual(e, f) {
			t.Errorf("%s:\nopened %+v\nlisted %+v", choice.Name, e, f)
		}
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
		if last = choice.Ready; choice.Ready == (choice.Unavailable != "") {
			t.Errorf("%s: ready %v, why %q", choice.Name, choice.Ready, choice.Unavailable)
		}
	}
}

// A choice marked as ready can be opened under the same name.
func TestReadyChoicesOpen(t *testing.T) {
	all := func(name string) string { return "k" }
	for _, choice := range Choices(Default(), all) {
		e, err := Open(Default(), choice.Name, OpenOptions{Getenv: all})
		if err != nil {
			t.Errorf("%s: %v", choice.Name, err)
			continue
		}
		if m, _ := catalog.FindExact(choice.Provider, choice.Model); e.Name != choice.Name && m.ReplacedBy == "" {
			t.Errorf("%s opens as %s", choice.Name, e.Name)
		}
	}
}

func TestUnlisted(t *testing.T) {
	c := Config{Providers: map[string]Provider{"vllm": {}, "office": {BaseURL: "http://office/v1", Models: []string{"m"}}}}
	if got := UnlistedProviders(c, env("OLLAMA_HOST", "box")); !slices.Equal(got, []string{"ollama", "vllm", "office"}) {
		t.Errorf("%v, want ollama, vllm, office", got)
	}
	if got := UnlistedProviders(Default(), env()); len(got) > 0 {
		t.Errorf("%v, though nobody configured them", got)
	}
	if s, _ := c.service("ollama", env()); !strings.Contains(s.missing(), "OLLAMA_HOST") {
		t.Errorf("not ready: %q", s.missing())
	}
}

// Servers whose models only they know are asked at the same time; a failing one only loses its own
// lines. With all, the other servers are asked too.
func TestLive(t *testing.T) {
	var asked atomic.Int32
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for asked.Add(1); asked.Load() < 2 && r.Context().Err() == nil; { // both are asked at the same time
			time.Sleep(time.Millisecond)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"data":[{"id":"`+strings.Split(r.URL.Path, "/")[1]+`-new","max_model_len":4096},{"id":"own","max_model_len":2048}]}`)
	}))
	defer local.Close()
	gone := "http://" + closed.Address(t)
	hosted := pages(t, map[string]string{"/v1/models": `{"data":[{"id":"deepseek-v9"},{"id":"deepseek-v4-pro"}]}`})
	c := Config{Providers: map[string]Provider{
		"a":        {Kind: "vllm", BaseURL: local.URL + "/a", Models: []string{"own"}},
		"b":        {Kind: "vllm", BaseURL: local.URL + "/b"},
		"gone":     {Kind: "vllm", BaseURL: gone, Models: []string{"kept"}},
		"deepseek": {BaseURL: hosted.URL + "/v1", APIKey: "k"},
	}}
	o := OpenOptions{Getenv: env(), Memory: &Memory{}}
	names := func(choices []Choice) (ready []string) {
		for _, choice := range choices {
			if choice.Ready && choice.Provider != "demo" && choice.Provider != "deepseek" || choice.Model == "deepseek-v9" {
				ready = append(ready, choice.Name)
			}
		}
		return ready
	}
	got, err := LiveChoices(t.Context(), c, o, false)
	if want := []string{"a/own", "a/a-new", "b/b-new", "b/own", "gone/kept"}; !slices.Equal(names(got), want) {
		t.Errorf("%q, want %q", names(got), want)
	}
	if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), "gone: network") {
		t.Errorf("error %v, want that of the server that is gone", err)
	}
	if i := slices.IndexFunc(got, func(c Choice) bool { return c.Name == "a/own" }); got[i].Context != 2048 {
		t.Errorf("what the server tells of a configured model: %+v", got[i])
	}
	if e, err := Open(c, "a/a-new", o); err != nil || e.Context != 4096 {
		t.Errorf("opens as %+v, %v", e, err)
	}
	if last := got[len(got)-1]; last.Ready {
		t.Errorf("%s is ready, and stands behind those that are not", last.Name)
	}
	got, _ = LiveChoices(t.Context(), c, o, true)
	if !slices.Contains(names(got), "deepseek/deepseek-v9") {
		t.Errorf("with all: %q", names(got))
	}
	ctx, cancel := contextUntil(t, func() {})
	defer cancel()
	<-ctx.Done()
	if got, err := LiveChoices(ctx, c, o, false); err == nil || !slices.Contains(names(got), "gone/kept") {
		t.Errorf("canceled: %q, %v", names(got), err)
	}
}

// TestLearnModel: facts that a server reports about its models count from then on. A server is not
// asked if the catalog has all facts, or if a command would print its key.
func TestLearnModel(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"data":[{"id":"m","context_length":32000}]}`)
	}))
	defer server.Close()
	gone := "http://" + closed.Address(t)
	ran := filepath.Join(t.TempDir(), "ran")
	c := Config{Providers: map[string]Provider{
		"box":      {BaseURL: server.URL, APIKey: canary},
		"locked":   {BaseURL: server.URL, APIKeyCommand: process.ShellText("echo key | tee '" + ran + "'")},
		"deepseek": {BaseURL: server.URL, APIKey: canary},
		"gone":     {BaseURL: gone, APIKey: canary},
	}}
	for _, tt := range []struct {
		model   string
		context int
		asks    int32
		fault   llm.Fault
	}{
		{"box/m", 32_000, 1, llm.Unknown},
		{"box/other", 0, 1, llm.Unknown},
		{"locked/m", 0, 0, llm.Unknown},
		{"deepseek/deepseek-v9", 0, 0, llm.Unknown},
		{"demo/parley", 32_768, 0, llm.Unknown},
		{"gone/m", 0, 0, llm.Network},
		{"nobody/m", 0, 0, llm.ModelNotFound},
	} {
		asked.Store(0)
		o := OpenOptions{Getenv: env(), Memory: &Memory{}}
		if err := LearnModel(t.Context(), c, tt.model, o); llm.FaultOf(err) != tt.fault || (err != nil) != (tt.fault != llm.Unknown) || asked.Load() != tt.asks {
			t.Errorf("%s: %v, asked %d times, want %d", tt.model, err, asked.Load(), tt.asks)
		}
		if e, _ := Open(c, tt.model, o); e.Context != tt.context {
			t.Errorf("%s: the context window is %d, want %d", tt.model, e.Context, tt.context)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command that prints a key was run")
	}
}
