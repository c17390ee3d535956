package providers

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/llm"
	"parley/tools/atomicfile"
	"parley/tools/process"
)

// optionServers maps wire formats to the shortest answer, and the format's refusal of the field
// top_k.
var optionServers = map[string]struct{ answer, refusal string }{
	"openai": {`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`,
		`{"error":{"message":"Unrecognized request argument supplied: top_k","type":"invalid_request_error","param":null}}`},
	"openai-responses": {`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"error":{"message":"Unknown parameter: 'top_k'.","type":"invalid_request_error","param":"top_k","code":"unknown_parameter"}}`},
	"gemini": {`{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}`,
		`{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"top_k\": Cannot find field.","status":"INVALID_ARGUMENT"}}`},
	"anthropic": {`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\ndata: " +
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}` + "\n\ndata: " + `{"type":"content_block_stop","index":0}` + "\n\ndata: " +
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\ndata: " + `{"type":"message_stop"}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"top_k: Extra inputs are not permitted"}}`},
}

// optionServer answers in a wire format, and refuses requests for which refuses returns true.
func optionServer(t *testing.T, kind string, refuses func(body string) bool) (c Config, bodies func() []string) {
	var mu sync.Mutex
	var all []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, string(data))
		mu.Unlock()
		if refuses(string(data)) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, optionServers[kind].refusal)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", optionServers[kind].answer)
	}))
	t.Cleanup(srv.Close)
	c = Config{Providers: map[string]Provider{"gate": {Kind: kind, BaseURL: srv.URL + "/v1", APIKey: "k",
		Options: map[string]any{"provider": map[string]any{"order": []any{"old"}, "keep": int64(1)}, "own": int64(5)}}}}
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// askWith sends one message with these options, and returns the notices.
func askWith(t *testing.T, m llm.Endpoint, options map[string]string) (told []string) {
	t.Helper()
	req := llm.Request{System: "be kind", Messages: []llm.Message{llm.UserText("hi")}, Settings: llm.Settings{Options: map[string]any{}}}
	for name, text := range options {
		req.Options[name] = llm.ParseOption(text)
	}
	for e, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := e.(llm.Notice); ok {
			told = append(told, n.Text)
		}
	}
	return told
}

// TestOptions: a conversation's fields go into the body of each wire format, over the configured
// ones, always in the same order.
func TestOptions(t *testing.T) {
	for kind := range optionServers {
		c, bodies := optionServer(t, kind, func(string) bool { return false })
		m, err := Open(c, "gate/m", OpenOptions{Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if told := askWith(t, m, map[string]string{"top_k": "40", "provider.order": `["x", "y"]`, "provider.sort": "price", "z.a.b": `{"c.d":1.50}`}); len(told) > 0 {
				t.Errorf("%s: told %q", kind, told)
			}
		}
		all := bodies()
		for _, want := range []string{`"top_k":40`, `"provider":{"keep":1,"order":["x","y"],"sort":"price"}`, `"own":5`, `"z":{"a":{"b":{"c.d":1.50}}}`, `"hi"`} {
			if !strings.Contains(all[0], want) || !json.Valid([]byte(all[0])) {
				t.Errorf("%s: want %s in\n%s", kind, want, all[0])
			}
		}
		if len(slices.Compact(all)) != 1 {
			t.Errorf("%s: requests differ", kind)
		}
	}
}

// TestOptionsRefused: a refused field is dropped, which is reported once for each opened model;
// another value is tried again.
func TestOptionsRefused(t *testing.T) {
	for kind := range optionServers {
		c, bodies := optionServer(t, kind, func(body string) bool { return strings.Contains(body, `"top_k":40`) })
		open := OpenOptions{Getenv: env(), Memory: OpenMemory(filepath.Join(t.TempDir(), "learned.json"), atomicfile.ReplaceUnsynced)}
		options := map[string]string{"top_k": "40", "provider.sort": "price"}
		m, err := Open(c, "gate/m", open)
		if err != nil {
			t.Fatal(err)
		}
		first, second := askWith(t, m, options), askWith(t, m, options)
		if m, err = Open(c, "gate/m", open); err != nil {
			t.Fatal(err)
		}
		third, fourth := askWith(t, m, options), askWith(t, m, map[string]string{"top_k": "41"})
		for i, told := range [][]string{first, second, third, fourth} {
			want := [][]string{{"m does not take top_k; sent again without it"}, nil, {"m does not take top_k; not sent"}, nil}[i]
			if !slices.Equal(told, want) {
				t.Errorf("%s: request %d: told %q, want %q", kind, i+1, told, want)
			}
		}
		all := bodies()
		if len(all) != 5 {
			t.Fatalf("%s: %d requests", kind, len(all))
		}
		for i, want := range []bool{true, false, false, false, true} {
			if strings.Contains(all[i], "top_k") != want || i < 4 != strings.Contains(all[i], `"sort":"price"`) {
				t.Errorf("%s: request %d is\n%s", kind, i+1, all[i])
			}
		}
	}
}

// TestSettingsRefused: a user's setting that a server refused earlier is reported again by a model
// opened later.
func TestSettingsRefused(t *testing.T) {
	c, bodies := optionServer(t, "openai", func(string) bool { return false })
	memory := OpenMemory("", atomicfile.ReplaceUnsynced)
	s, typed, err := c.findModel("gate/m", env())
	if err != nil {
		t.Fatal(err)
	}
	memory.limits(s.servedModel(typed), s.kind).Learn("temperature", "", true)
	hot := 0.5
	for range 2 {
		m, err := Open(c, "gate/m", OpenOptions{Getenv: env(), Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for e := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Settings: llm.Settings{Temperature: &hot}}) {
			if n, ok := e.(llm.Notice); ok {
				told = append(told, n.Text)
			}
		}
		if want := []string{"m does not take temperature; not sent"}; !slices.Equal(told, want) || strings.Contains(bodies()[0], "temperature") {
			t.Errorf("told %q, want %q of\n%s", told, want, bodies()[0])
		}
	}
}

// TestOptionsOfPrograms: a program accepts no options, and a notice names them.
func TestOptionsOfPrograms(t *testing.T) {
	dir, getenv := installed(t, "claude")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := Config{Providers: map[string]Provider{"claude-cli": {Command: process.CommandLine{Words: []string{filepath.Join(dir, "claude")}}, MaxRetries: new(int)}}} // it answers nothing
	m, err := Open(c, "claude-cli/opus", OpenOptions{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	options := map[string]any{"top_k": 1, "provider.sort": "x"}
	for e := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Settings: llm.Settings{Options: options}}) {
		if n, ok := e.(llm.Notice); ok {
			told = append(told, n.Text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.ContainsFunc(told, func(n string) bool { return strings.HasSuffix(n, " does not support "+name+"; not sent") }) {
			t.Errorf("told %q", told)
		}
	}
}
