package providers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// A full context window is reported even if the server does not report it: an empty answer becomes
// an error that compaction fixes, a truncated prompt a notice.
func TestFullWindows(t *testing.T) {
	long := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 400) // about 4000 tokens
	for _, tt := range []struct {
		name, kind   string
		window       int // of the configuration
		prompt       string
		input        int
		loaded       int // context window reported by the running server; 0 if none
		said, finish string
		fault        llm.Fault
		notice       string
	}{
		{"nothing was said", "vllm", 8192, "hi", 8150, 0, "", "length", llm.ContextOverflow, ""},
		{"something was", "vllm", 8192, "hi", 8150, 0, "x", "length", "", ""},
		{"a limit of the answer", "vllm", 8192, "hi", 100, 0, "", "length", "", ""},
		{"nobody knows the window", "vllm", 0, "hi", 8150, 0, "", "length", "", ""},
		{"more than fits", "glm", 8192, "hi", 9000, 0, "x", "stop", "", "m got more than its context window"},
		{"Ollama cut it", "ollama", 0, long, 2040, 2048, "x", "stop", "", "the beginning was cut off"},
		{"Ollama did not", "ollama", 0, long, 3900, 8192, "x", "stop", "", ""},
		{"Ollama did not count what it had cached", "ollama", 0, long, 40, 8192, "x", "stop", "", ""},
		{"Ollama does not say what it has loaded", "ollama", 0, long, 40, 0, "x", "stop", "", ""},
		{"a short one", "ollama", 0, "hi", 3, 0, "x", "stop", "", ""},
		{"another server counts otherwise", "llamacpp", 0, long, 2040, 0, "x", "stop", "", ""},
		{"a server that counts nothing", "ollama", 0, long, 0, 0, "x", "stop", "", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/ps" || r.URL.Path == "/api/tags" && tt.kind == "ollama" {
				fmt.Fprintf(w, `{"models":[{"name":"m:latest","model":"m:latest","context_length":%d}]}`, tt.loaded)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":0}}\n\n", tt.said, tt.finish, tt.input)
			io.WriteString(w, "data: [DONE]\n\n")
		}))
		defer server.Close()
		c := Config{Providers: map[string]Provider{"box": {Kind: tt.kind, BaseURL: server.URL, Model: map[string]Model{"m": {Context: tt.window}}}}}
		e := opens(t, c, "box/m", OpenOptions{})
		req := llm.Request{Messages: []llm.Message{llm.UserText(tt.prompt)}}
		for round := range 2 {
			got := hold(t, e, req)
			want := tt.notice
			if round == 1 {
				want = ""
			}
			if said := strings.Join(got.notices, "; "); (tt.fault == "") != (got.err == nil) || tt.fault != "" && llm.FaultOf(got.err) != tt.fault ||
				!strings.Contains(said, want) || want == "" && said != "" {
				t.Errorf("%s, turn %d: %v, notices %q; want %s, %q", tt.name, round+1, got.err, said, tt.fault, want)
			}
			if tt.fault != "" && !strings.HasSuffix(got.err.Error(), "; start vLLM with a larger --max-model-len") {
				t.Errorf("%s: %v does not tell how to make the window larger", tt.name, got.err)
			}
		}
	}
}

// For a prompt that is too long, Cerebras returns status 400 with an empty body, which means a bad
// request elsewhere.
func TestEmptyBadRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer server.Close()
	for kind, want := range map[string]llm.Fault{"cerebras": llm.ContextOverflow, "openai": llm.InvalidRequest} {
		c := Config{Providers: map[string]Provider{"box": {Kind: kind, BaseURL: server.URL, APIKey: "sk-0123456789"}}}
		got := hold(t, opens(t, c, "box/m", OpenOptions{}), llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
		if fault := llm.FaultOf(got.err); fault != want {
			t.Errorf("%s: got %s (%v), want %s", kind, fault, got.err, want)
		}
	}
}

// Implausible figures of a server are ignored, and a configured price replaces a cost of 0, which
// many servers report without knowing the price.
func TestReportedFigures(t *testing.T) {
	price := &catalog.Price{Input: 1, Output: 2}
	for _, tt := range []struct {
		name   string
		config Provider
		usage  string
		want   llm.Usage
	}{
		{"a cost of 0, and a price of the model", Provider{Model: map[string]Model{"m": {Price: price}}}, `"prompt_tokens":1000000,"completion_tokens":1000000,"cost":0`, llm.Usage{Input: 1e6, Output: 1e6, Cost: 3, Priced: true}},
		{"a cost of 0, and a price of the provider", Provider{Price: price}, `"prompt_tokens":1000000,"completion_tokens":0,"cost":0`, llm.Usage{Input: 1e6, Cost: 1, Priced: true}},
		{"a cost, and a price", Provider{Price: price}, `"prompt_tokens":1000000,"completion_tokens":0,"cost":0.5`, llm.Usage{Input: 1e6, Cost: 0.5, Priced: true}},
		{"a cost of 0 alone", Provider{}, `"prompt_tokens":5,"completion_tokens":5,"cost":0`, llm.Usage{Input: 5, Output: 5, Priced: true}},
		{"below 0", Provider{Price: price}, `"prompt_tokens":-1000000,"completion_tokens":1000000,"cost":-5`, llm.Usage{Output: 1e6, Cost: 2, Priced: true}},
		{"below 0, without a price", Provider{}, `"prompt_tokens":-7,"completion_tokens":7,"cost":-5`, llm.Usage{Output: 7}},
		{"far too much", Provider{}, `"prompt_tokens":2000000000000,"completion_tokens":7,"cost":1e300`, llm.Usage{Output: 7}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":{%s}}\n\ndata: [DONE]\n\n", tt.usage)
		}))
		tt.config.Kind, tt.config.BaseURL, tt.config.APIKey = "openai", server.URL, "sk-0123456789"
		var got llm.Usage
		for e, err := range opens(t, Config{Providers: map[string]Provider{"box": tt.config}}, "box/m", OpenOptions{}).Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
			if u, ok := e.(llm.Usage); ok {
				got = u
			} else if err != nil {
				t.Error(tt.name, err)
			}
		}
		server.Close()
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
