package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/tools/process"
)

func TestOpenNames(t *testing.T) {
	c := Config{Providers: map[string]Provider{
		"local":  {Kind: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Models: []string{"qwen3:8b", "org/other"}},
		"empty":  {BaseURL: "http://127.0.0.1:9000/v1"},
		"ollama": {},
	}}
	keys := env("OPENAI_API_KEY", "k", "XAI_API_KEY", "k", "ZAI_API_KEY", "k", "OPENROUTER_API_KEY", "k", "GROQ_API_KEY", "k", "DEEPSEEK_API_KEY", "k")
	for _, tt := range []struct{ name, want, err string }{
		{"openai/gpt-6.1-sol", "openai/gpt-6.1-sol", ""},
		{"openai", "openai/gpt-6.1-sol", ""},
		{"gpt-4o", "openai/gpt-4o", ""},
		{"openai/o1-mini", "openai/gpt-6-luna", ""},
		{"openai/gpt-9-unheard-of", "openai/gpt-9-unheard-of", ""},
		{"grok", "xai/grok-4.7", ""},
		{"grok/grok-4.3", "xai/grok-4.3", ""},
		{"glm/glm-5.3", "zai/glm-5.3", ""},
		{"openrouter/openai/gpt-6-luna", "openrouter/openai/gpt-6-luna", ""},
		{"meta-llama/llama-3.3-70b-instruct", "openrouter/meta-llama/llama-3.3-70b-instruct", ""},
		{"openai/gpt-oss-120b", "openai/gpt-oss-120b", ""}, // a known provider before the slash is the provider
		{"local", "local/qwen3:8b", ""},
		{"local/anything", "local/anything", ""},
		{"qwen3:8b", "local/qwen3:8b", ""},
		{"org/other", "local/org/other", ""},
		{"ollama/llama3.3:70b", "ollama/llama3.3:70b", ""},
		{"demo", "demo/parley", ""},
		{"demo/parley", "demo/parley", ""},

		{"", "", `no model ""`},
		{"opnai/gpt-4o", "", `no provider "opnai"; did you mean openai?`},
		{"quantum/q1", "", `no provider "quantum"`},
		{"gpt-4oo", "", "did you mean openai/gpt-4o"},
		{"zzzzzzzzzz", "", `no model "zzzzzzzzzz"`},
		{"demo/parlay", "", "did you mean parley?"},
		{"ollama", "", "ollama has no default model: name one, as in ollama/MODEL"},
		{"empty", "", "empty has no default model: name one"},
		{"anthropc/claude-opus-5-5", "", `no provider "anthropc"; did you mean anthropic?`},
	} {
		e, err := Open(c, tt.name, OpenOptions{Getenv: keys})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || llm.FaultOf(err) != llm.ModelNotFound {
				t.Errorf("Open(%q): %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		format := "chat/"
		if strings.HasPrefix(tt.want, "openai/") {
			format = "responses/"
		}
		if err != nil || e.Name != tt.want || e.Model == nil || !strings.HasPrefix(e.Origin, format) {
			t.Errorf("Open(%q) = %q of %q, %v; want %q", tt.name, e.Name, e.Origin, err, tt.want)
		}
	}
}

// TestRetirementNotice: the day and the successor are reported once, by the clock of the memory, and
// not for another server in the service's place.
func TestRetirementNotice(t *testing.T) {
	notices := func(url string, now time.Time) (texts []string) {
		c := Config{Providers: map[string]Provider{"openai": {BaseURL: url, MaxRetries: new(int)}}}
		o := OpenOptions{
			Getenv: env("OPENAI_API_KEY", "k"), Memory: &Memory{now: func() time.Time { return now }},
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }),
		}
		e, err := Open(c, "openai/gpt-5", o)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for event := range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}) {
				if n, ok := event.(llm.Notice); ok {
					texts = append(texts, n.Text)
				}
			}
		}
		return texts
	}
	day := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)
	want := []string{"gpt-5 retires on 2026-12-11; use gpt-6.1-sol instead"}
	if got := notices("", day); !slices.Equal(got, want) {
		t.Errorf("notices: %q, want %q", got, want)
	}
	if got := notices("", day.AddDate(0, -2, 0)); got != nil {
		t.Errorf("notices two months before: %q, want none", got)
	}
	if got := notices("http://127.0.0.1:9/v1", day); got != nil {
		t.Errorf("notices of another server: %q, want none", got)
	}
}

func TestOpenWithoutKey(t *testing.T) {
	_, err := Open(Default(), "zai/glm-5.3", OpenOptions{Getenv: env()})
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.Authentication {
		t.Fatalf("%v, want an authentication error", err)
	}
	if !strings.Contains(err.Error(), "no API key for GLM (Z.AI") || strings.Contains(err.Error(), "ZAI_API_KEY") {
		t.Errorf("%q does not name the provider, or says what its hint says", err)
	}
	if hint, want := llm.InShell.Hint(err), "Set ZAI_API_KEY or ZHIPU_API_KEY, or run parley connect zai"; hint != want {
		t.Errorf("hint %q, want %q", hint, want)
	}
}

func TestOpenFacts(t *testing.T) {
	c := Config{Providers: map[string]Provider{
		"gate":   {BaseURL: "http://gate/v1"},
		"ollama": {},
		"plain":  {BaseURL: "http://plain/v1", Strategy: "none"},
	}}
	all := func(string) string { return "k" }
	for _, tt := range []struct {
		name     string
		known    bool
		context  int
		vision   bool
		strategy string
		efforts  string
	}{
		{"openai/gpt-6.1-sol", true, 1_050_000, true, "native", "low medium high max"},
		{"openai/gpt-6-luna", true, 1_050_000, true, "native", "off low medium high max"},
		{"openai/gpt-5", true, 400_000, true, "native", "minimal low medium high"},
		{"openai/gpt-4o", true, 128_000, true, "native", ""},
		{"openai/gpt-5-chat-latest", true, 128_000, true, "prompt", ""},
		{"zai/glm-5.3", true, 1_000_000, false, "native", "low high max"},
		{"zai/glm-5", true, 204_800, false, "native", "off high"},
		{"qwen/qwen3.8-max", true, 1_000_000, true, "native", "low medium high"},
		{"qwen/qwen-plus", true, 1_000_000, false, "native", "off minimal low medium high max"},
		{"xai/grok-4.20-0309-reasoning", true, 1_000_000, true, "native", ""},
		{"groq/qwen/qwen3.6-27b", true, 131_072, true, "native", "off medium"},
		{"gate/deepseek/deepseek-v4-pro", true, 1_000_000, false, "native", "off high max"},
		{"gate/never-heard-of", false, 0, false, "native", ""},
		{"ollama/gpt-oss:20b", true, 0, false, "native", "low medium high"}, // the server decides the context window
		{"plain/gpt-4o", true, 128_000, true, "none", ""},
		{"demo", true, 32_768, false, "native", "off low medium high"},
	} {
		e, err := Open(c, tt.name, OpenOptions{Getenv: all})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var efforts []string
		for _, effort := range e.Efforts {
			efforts = append(efforts, string(effort))
		}
		if got := strings.Join(efforts, " "); got != tt.efforts {
			t.Errorf("%s: efforts %q, want %q", tt.name, got, tt.efforts)
		}
		if e.Known != tt.known || e.Context != tt.context || e.Vision != tt.vision || e.Strategy != tt.strategy {
			t.Errorf("%s: known %v, context %d, vision %v, %s; want %v, %d, %v, %s", tt.name,
				e.Known, e.Context, e.Vision, e.Strategy, tt.known, tt.context, tt.vision, tt.strategy)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		name string
		conf Provider
		env  []string
		want string
	}{
		{"openai", Provider{}, nil, "https://api.openai.com/v1"},
		{"openai", Provider{}, []string{"OPENAI_BASE_URL", "http://proxy:8080/v1/"}, "http://proxy:8080/v1"},
		{"openai", Provider{BaseURL: "https://mine/v1/"}, []string{"OPENAI_BASE_URL", "http://proxy/v1"}, "https://mine/v1"},
		{"mine", Provider{Kind: "openai"}, nil, "https://api.openai.com/v1"},
		{"zai", Provider{BaseURL: "coding-intl"}, nil, "https://api.z.ai/api/coding/paas/v4"},
		{"mine", Provider{Kind: "glm"}, []string{"OPENAI_BASE_URL", "http://proxy/v1"}, "https://api.z.ai/api/paas/v4"},
		{"ollama", Provider{}, nil, "http://localhost:11434/v1"},
		{"ollama", Provider{}, []string{"OLLAMA_HOST", "box"}, "http://box:11434/v1"},
		{"ollama", Provider{}, []string{"OLLAMA_HOST", "box:99"}, "http://box:99/v1"},
		{"ollama", Provider{}, []string{"OLLAMA_HOST", "https://box"}, "https://box/v1"},
		{"ollama", Provider{}, []string{"OLLAMA_HOST", "http://box:99/prefix/"}, "http://box:99/prefix"},
	} {
		c := Config{Providers: map[string]Provider{tt.name: tt.conf}}
		s, ok := c.service(tt.name, env(tt.env...))
		if !ok || s.url != tt.want {
			t.Errorf("%s %q %v: %q, want %q", tt.name, tt.conf.BaseURL, tt.env, s.url, tt.want)
		}
	}
}

// recorder is a server that stores the last request.
type recorder struct {
	*httptest.Server
	header http.Header
	body   map[string]any
}

func serve(t *testing.T, status int, contentType, answer string) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.header = req.Header
		text, _ := io.ReadAll(req.Body)
		r.body = nil
		_ = json.Unmarshal(text, &r.body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, strings.ReplaceAll(answer, "$KEY", req.Header.Get("Authorization")))
	}))
	t.Cleanup(r.Close)
	return r
}

const said = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n" +
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000000,\"completion_tokens\":100000,\"total_tokens\":1100000}}\n\ndata: [DONE]\n\n"

// ask opens name and sends one request.
func ask(t *testing.T, c Config, name string, req llm.Request, getenv func(string) string) (text string, usage llm.Usage, err error) {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	e, err := Open(c, name, OpenOptions{Getenv: getenv, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	if req.Messages == nil {
		req.Messages = []llm.Message{llm.UserText("hello")}
	}
	var d llm.Draft
	for event, fault := range e.Stream(t.Context(), req) {
		switch event := event.(type) {
		case llm.Delta:
			d.Add(event)
		case llm.Usage:
			usage = event
		}
		err = fault
	}
	return llm.Message{Parts: d.Complete()}.Text(), usage, err
}

func TestRequestCarriesTheConfiguration(t *testing.T) {
	server := serve(t, 200, "text/event-stream", said)
	c := Config{Providers: map[string]Provider{"work": {
		BaseURL: server.URL + "/v1", APIKey: canary,
		Headers: map[string]string{"X-Team": "blue"}, Options: map[string]any{"top_k": 20},
	}}}
	text, usage, err := ask(t, c, "work/some-model", llm.Request{}, env())
	if err != nil || text != "hi" {
		t.Fatalf("%q, %v", text, err)
	}
	if usage.Priced {
		t.Errorf("a price of %v for a model that nobody knows", usage.Cost)
	}
	if got := server.header.Get("Authorization"); got != "Bearer "+canary {
		t.Errorf("Authorization %q", got)
	}
	if server.header.Get("X-Team") != "blue" || server.body["top_k"] != 20.0 || server.body["model"] != "some-model" || server.body["stream"] != true {
		t.Errorf("headers %v, body %v", server.header, server.body)
	}
}

func TestCosts(t *testing.T) {
	reported := strings.Replace(said, `"total_tokens"`, `"cost":0.25,"total_tokens"`, 1)
	for _, tt := range []struct {
		name, provider, model, answer string
		cost                          float64
		priced                        bool
	}{
		{"from the catalog", "deepseek", "deepseek-v4-pro", said, 1.32 + 0.396, true},
		{"tier of a long prompt", "openai", "gpt-6.1-sol", said, 4 + 1.5, true},
		{"by a dated name", "openai", "gpt-4o-2026-01-01", said, 2.5 + 1, true},
		{"reported by the provider", "openrouter", "openai/gpt-6-luna", reported, 0.25, true},
		{"a gateway has prices of its own", "gate", "deepseek/deepseek-v4-pro", said, 0, false},
		{"a local model is free", "vllm", "whatever", said, 0, true},
	} {
		server := serve(t, 200, "text/event-stream", tt.answer)
		conf := Provider{BaseURL: server.URL, APIKey: "k"}
		if tt.provider == "openai" {
			conf.Kind = "openai" // the answer is one of chat completions
		}
		c := Config{Providers: map[string]Provider{tt.provider: conf}}
		_, usage, err := ask(t, c, tt.provider+"/"+tt.model, llm.Request{}, env())
		if err != nil || usage.Priced != tt.priced || usage.Cost < tt.cost-1e-9 || usage.Cost > tt.cost+1e-9 {
			t.Errorf("%s: %v (known: %v), %v; want %v (%v)", tt.name, usage.Cost, usage.Priced, err, tt.cost, tt.priced)
		}
	}
}

// The names of DeepSeek's older models select thinking or no thinking of one current model.
func TestNameStandsForEffort(t *testing.T) {
	for _, tt := range []struct {
		model  string
		effort llm.Effort
		want   any
	}{
		{"deepseek-chat", "", "disabled"},
		{"deepseek-reasoner", "", "enabled"},
		{"deepseek-chat", llm.EffortHigh, "enabled"},
	} {
		server := serve(t, 200, "text/event-stream", said)
		c := Config{Providers: map[string]Provider{"deepseek": {BaseURL: server.URL, APIKey: "k"}}}
		if _, _, err := ask(t, c, "deepseek/"+tt.model, llm.Request{Effort: tt.effort}, env()); err != nil {
			t.Fatal(err)
		}
		thinking, _ := server.body["thinking"].(map[string]any)
		if server.body["model"] != "deepseek-flash" || tt.want == "disabled" && thinking["type"] != "disabled" || tt.want == "enabled" && thinking["type"] == "disabled" {
			t.Errorf("%s, effort %q: model %v, thinking %v; want it %v", tt.model, tt.effort, server.body["model"], thinking, tt.want)
		}
	}
}

func TestModelNotFoundNamesNearOnes(t *testing.T) {
	server := serve(t, 404, "application/json", `{"error":{"message":"The model gpt-6.1-slo does not exist.","code":"model_not_found"}}`)
	c := Config{Providers: map[string]Provider{"openai": {BaseURL: server.URL, APIKey: "k"}}}
	_, _, err := ask(t, c, "openai/gpt-6.1-slo", llm.Request{}, env())
	if llm.FaultOf(err) != llm.ModelNotFound || !strings.Contains(err.Error(), "does not exist; did you mean gpt-6.1-sol") {
		t.Errorf("%v", err)
	}
}

// The key does not appear in an error, even if the server echoes it.
func TestErrorsHoldNoKeys(t *testing.T) {
	server := serve(t, 401, "application/json", `{"error":{"message":"bad key $KEY","code":"invalid_api_key"}}`)
	zero := 0
	p := Provider{BaseURL: server.URL, APIKey: canary, MaxRetries: &zero, Headers: map[string]string{"X-Other": canary}}
	_, _, err := ask(t, Config{Providers: map[string]Provider{"work": p}}, "work/m", llm.Request{}, env())
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.Authentication || e.Key != "providers.work.api_key" {
		t.Fatalf("%v", err)
	}
	text, _ := json.Marshal(e)
	if leaks(err.Error()+string(text)+llm.InShell.Hint(err)) != "" {
		t.Errorf("the key is in %s", text)
	}
}

// The command that prints a key runs when the key is needed, and again after an error.
func TestKeyCommandRunsLate(t *testing.T) {
	server := serve(t, 200, "text/event-stream", said)
	marker := t.TempDir() + "/key"
	c := Config{Providers: map[string]Provider{"work": {BaseURL: server.URL, APIKeyCommand: process.ShellText("cat " + marker)}}}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	e, err := Open(c, "work/m", OpenOptions{Getenv: env(), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	turn := func() (err error) {
		for _, err = range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
		}
		return err
	}
	if err := turn(); llm.FaultOf(err) != llm.Authentication {
		t.Errorf("without the file: %v", err)
	}
	write(t, marker, "sk-late\n")
	if err := turn(); err != nil || server.header.Get("Authorization") != "Bearer sk-late" {
		t.Errorf("with the file: %v, %q", err, server.header.Get("Authorization"))
	}
}

func BenchmarkOpen(b *testing.B) {
	keys := env("OPENAI_API_KEY", "k")
	for b.Loop() {
		if _, err := Open(Default(), "openai/gpt-6.1-sol", OpenOptions{Getenv: keys}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDefaultModel(b *testing.B) {
	for b.Loop() {
		DefaultModel(Default(), env())
	}
}

func BenchmarkChoices(b *testing.B) {
	for b.Loop() {
		Choices(Default(), env())
	}
}

// A log gets one line per request, with the strategy of that request, and neither keys nor texts.
func TestDebug(t *testing.T) {
	server := scripted(t, func(body map[string]any) (int, string) {
		if body["tools"] != nil {
			return 400, `{"error":{"message":"m does not support tools, ` + canary + `"}}`
		}
		return 200, "a secret answer"
	})
	var out bytes.Buffer
	c := Config{Providers: map[string]Provider{"box": {BaseURL: server.URL, APIKey: canary, Headers: map[string]string{"X-Key": canary}}}}
	e := opens(t, c, "box/m", OpenOptions{Debug: slog.New(slog.NewJSONHandler(&out, nil))})
	if got := hold(t, e, llm.Request{Tools: offered, Messages: []llm.Message{llm.UserText("a secret question")}}); got.err != nil {
		t.Fatal(got.err)
	}
	var said []string
	for text := range strings.Lines(out.String()) {
		var line struct {
			Provider, Kind, Model, Strategy, Error string
			Status                                 int
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprint(line))
	}
	if want := []string{"{box openai m native unsupported 400}", "{box openai m prompt  200}"}; !slices.Equal(said, want) {
		t.Errorf("logged %q, want %q", said, want)
	}
	if leaks(out.String()) != "" || strings.Contains(out.String(), "secret") {
		t.Errorf("a key or words are in\n%s", out.String())
	}
}

// A server's header about retries takes precedence over its status, in every wire format.
func TestServersSayWhetherToAskAgain(t *testing.T) {
	for _, kind := range []string{"openai", "openai-responses", "anthropic", "gemini"} {
		for _, tt := range []struct {
			status int
			header string
			asked  int
		}{{500, "false", 1}, {429, "false", 1}, {400, "true", 2}, {400, "", 1}} {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After-Ms", "1")
				if tt.header != "" {
					w.Header().Set("X-Should-Retry", tt.header)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, `{"error":{"message":"no"}}`)
			}))
			defer server.Close()
			c := Config{Providers: map[string]Provider{"box": {Kind: kind, BaseURL: server.URL + "/v1", MaxRetries: ptr(1)}}}
			if got := hold(t, opens(t, c, "box/m", OpenOptions{}), llm.Request{}); got.err == nil || asked != tt.asked {
				t.Errorf("%s, status %d, x-should-retry %q: asked %d times, want %d (%v)", kind, tt.status, tt.header, asked, tt.asked, got.err)
			}
		}
	}
}
