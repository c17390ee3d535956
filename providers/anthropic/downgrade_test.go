package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/anthropic"
	"parley/providers/llm"
	"parley/providers/wire"
)

// picky returns a server that refuses requests until refuse returns "".
func picky(t *testing.T, o anthropic.Options, refuse func(body map[string]any) string) (m *anthropic.Model, asked func() []map[string]any) {
	t.Helper()
	var mu sync.Mutex
	var bodies []map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Error(err)
		}
		body["header"] = r.Header.Get("Anthropic-Beta")
		mu.Lock()
		bodies = append(bodies, body)
		mu.Unlock()
		if message := refuse(body); message != "" {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, failure(400, message))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream(opening(1), block(0, `{"type":"text","text":"fine"}`), ending("end_turn", 1)))
	}))
	t.Cleanup(s.Close)
	client := wire.Client(wire.Options{Provider: "mock", URL: s.URL})
	t.Cleanup(client.CloseIdleConnections)
	if o.BaseURL == vendor {
		client.Transport = detour{s.URL, client.Transport}
	} else {
		o.BaseURL = s.URL
	}
	o.Provider, o.HTTP = "mock", client
	return anthropic.New(o), func() []map[string]any { return bodies }
}

// detour sends requests for another host to the server at base.
type detour struct {
	base string
	http.RoundTripper
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(d.base, "http://")
	return d.RoundTripper.RoundTrip(r)
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// TestDowngrade checks that refused parts are dropped or changed once, reported, and remembered.
func TestDowngrade(t *testing.T) {
	warm := 0.5
	has := func(what string) func(map[string]any) bool {
		return func(body map[string]any) bool { return strings.Contains(text(body), what) }
	}
	schema := &llm.Schema{JSON: json.RawMessage(`{"type":"object"}`)}
	searched := []llm.Message{llm.UserText("Hi"), {Role: llm.RoleAssistant, Parts: []llm.Part{
		{Kind: llm.Call, ID: "srv1", Remote: true, State: json.RawMessage(searchBlock)}, {Kind: llm.Result, ID: "srv1", Remote: true, State: json.RawMessage(foundBlock)},
		{Kind: llm.Text, Text: "So"}}}}
	called := []llm.Message{llm.UserText("Hi"), {Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "a", Name: "f"}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "a"}}}}
	for _, test := range []struct {
		name, base, model string
		req               llm.Request
		message, notice   string
		refused, after    string // parts of the body
	}{
		{"sampling", "", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{Temperature: &warm, TopP: &warm}},
			"`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "does not take top_p", `"top_p"`, `"temperature"`},
		{"effort", "", "claude-opus-4-5", llm.Request{Effort: "high"}, "This model does not support the effort parameter.", "does not take effort", `"effort"`, `"enabled"`},
		{"budget", "", "claude-sonnet-4-5", llm.Request{Effort: "high"},
			"\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
			"does not take a thinking budget", `"budget_tokens"`, `"adaptive"`},
		{"adaptive", "", "claude-opus-4-6", llm.Request{Effort: "high"}, "adaptive thinking is not supported on this model", "does not take adaptive thinking", `"adaptive"`, `"budget_tokens":16384`},
		{"off", "", "claude-opus-5", llm.Request{Effort: "off"}, "\"thinking.type.disabled\" is not supported for this model.", "does not take thinking off", `"disabled"`, `"fine"`},
		{"between tools", "", "claude-sonnet-6", llm.Request{Effort: "off"}, "thinking: Input tag 'between_tools' found using 'type' does not match any of the expected tags",
			"does not take thinking between tools", `"between_tools"`, `"adaptive"`},
		{"display", "", "claude-opus-4-8", llm.Request{Effort: "low"}, "thinking.adaptive.display: Extra inputs are not permitted", "does not take display", `"display"`, `"adaptive"`},
		{"binding", vendor, "claude-opus-5-5", llm.Request{}, "thinking.adaptive.block_binding: Extra inputs are not permitted", "does not take block_binding", `thinking-binding-controls`, `"adaptive"`},
		{"thinking at all", "", "m", llm.Request{Effort: "low"}, `"m" does not support thinking`, "does not take thinking", `"thinking"`, `"fine"`},
		{"cache marks", "", "m", llm.Request{System: "S", Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{{Name: "f"}}},
			"system.0.cache_control: Extra inputs are not permitted", "does not take cache_control", `cache_control`, `"system"`},
		{"schema", "", "claude-sonnet-4-5", llm.Request{AnswerSchema: schema}, "output_config.format: Extra inputs are not permitted", "does not take output_config.format", `json_schema`, `fits this JSON Schema`},
		{"choice", "", "claude-opus-5", llm.Request{Tools: []llm.Tool{{Name: "f"}}, Settings: llm.Settings{ToolChoice: "required"}},
			"Thinking may not be enabled when tool_choice forces tool use.", "does not take tool_choice", `"tool_choice"`, `"tools"`},
		{"the server's tools", "", "m", llm.Request{Messages: searched}, "messages.1.content.0: Input tag 'server_tool_use' found using 'type' does not match any of the expected tags",
			"does not take blocks it does not know", `srv1`, `[left out: server_tool_use]`},
		{"calls without thinking", "", "m", llm.Request{Messages: called}, "The `content[].thinking` in the thinking mode must be passed back to the API.",
			"does not take calls without thinking", `"content":[{"id"`, `"thinking":""`},
		{"calls without thinking, as Kimi says it", "", "kimi-for-coding", llm.Request{Messages: called}, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
			"does not take calls without thinking", `"content":[{"id"`, `"thinking":""`},
		{"output limit", "", "claude-sonnet-6", llm.Request{}, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-6",
			"takes no more than 64000 output tokens", `128000`, `64000`},
		{"output limit of DeepSeek", "", "deepseek-v4-pro", llm.Request{}, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", "no more than 8192", `32000`, `8192`},
	} {
		t.Run(test.name, func(t *testing.T) {
			refused := has(test.refused)
			m, asked := picky(t, anthropic.Options{Model: test.model, BaseURL: test.base}, func(body map[string]any) string {
				if refused(body) {
					return test.message
				}
				return ""
			})
			for i := range test.req.Messages {
				test.req.Messages[i].Origin = m.Origin()
			}
			for round := range 2 {
				got := collect(m.Stream(t.Context(), test.req))
				if got.err != nil {
					t.Fatal(got.err)
				}
				if round == 0 && !slices.ContainsFunc(got.told, func(n string) bool { return strings.Contains(n, test.notice) }) {
					t.Errorf("told %q, want %q", got.told, test.notice)
				}
				if round == 1 && len(got.told) > 0 {
					t.Errorf("told again: %q", got.told)
				}
			}
			all := asked()
			if len(all) != 3 {
				t.Fatalf("asked %d times, want 3", len(all))
			}
			if test.after != `"fine"` && (!has(test.after)(all[1]) || !has(test.after)(all[2])) {
				t.Errorf("then asked with %s", text(all[1]))
			}
		})
	}
}

// TestDowngradeThinking checks that refused thinking never goes back again, not even in part, but
// later thinking does.
func TestDowngradeThinking(t *testing.T) {
	for _, message := range []string{
		"messages.1.content.0: Invalid `signature` in `thinking` block",
		"messages.1.content.0: The block is bound to a different conversation",
		"messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
		"messages.1: The final block in an assistant message cannot be `thinking`.",
		"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
	} {
		m, asked := picky(t, anthropic.Options{Model: "claude-sonnet-4-5"}, func(body map[string]any) string {
			if strings.Contains(text(body), "RGF0YQ") {
				return message
			}
			return ""
		})
		thought := llm.Part{Kind: llm.Thinking, Text: "t", State: json.RawMessage(signedBlock)}
		redacted := llm.Part{Kind: llm.Opaque, State: json.RawMessage(redactedBlock)}
		call := llm.Part{Kind: llm.Call, ID: "a", Name: "f"}
		results := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "a"}}}
		req := llm.Request{Effort: llm.EffortLow, Messages: []llm.Message{llm.UserText("Hi"),
			{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: []llm.Part{thought, redacted, call}}, results}}
		got := collect(m.Stream(t.Context(), req))
		if got.err != nil || !slices.ContainsFunc(got.told, func(n string) bool { return strings.Contains(n, "earlier thinking back") }) {
			t.Errorf("%s: told %q: %v", message, got.told, got.err)
			continue
		}
		if body := text(asked()[1]); strings.Contains(body, "signature") || !strings.Contains(body, `"type":"disabled"`) {
			t.Errorf("%s: then asked with %s", message, body)
		}
		later := llm.Part{Kind: llm.Thinking, State: json.RawMessage(`{"type":"thinking","thinking":"","signature":"TGF0ZXI="}`)}
		req.Messages = append(req.Messages, llm.UserText("Go on"), llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: []llm.Part{later, call}}, results)
		if got := collect(m.Stream(t.Context(), req)); got.err != nil {
			t.Error(got.err)
		}
		if body := text(asked()[2]); len(asked()) != 3 || strings.Contains(body, "RGF0YQ") || !strings.Contains(body, "TGF0ZXI=") || !strings.Contains(body, `"type":"enabled"`) {
			t.Errorf("%s: later asked with %s", message, body)
		}
	}
}

// TestDowngradeRoom checks that an output limit that does not fit after the history is lowered for
// this request only.
func TestDowngradeRoom(t *testing.T) {
	for _, message := range []string{
		"input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, decrease input length or `max_tokens` and try again",
		"'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 12000 tokens and your request has 2000 input tokens (64000 > 12000 - 2000).",
	} {
		tight := true
		m, asked := picky(t, anthropic.Options{Model: "claude-sonnet-4-5"}, func(body map[string]any) string {
			if tight && body["max_tokens"].(float64) > 10_000 {
				return message
			}
			return ""
		})
		if got := collect(m.Stream(t.Context(), llm.Request{})); got.err != nil || len(got.told) != 1 {
			t.Errorf("told %q: %v", got.told, got.err)
		}
		tight = false
		collect(m.Stream(t.Context(), llm.Request{}))
		var limits []float64
		for _, body := range asked() {
			limits = append(limits, body["max_tokens"].(float64))
		}
		if want := []float64{64000, 10000, 64000}; !slices.Equal(limits, want) {
			t.Errorf("asked for %v tokens, want %v", limits, want)
		}
	}
}

// TestDowngradeWithoutField checks that a tool loop that should have started with thinking, but did
// not, continues with thinking off.
func TestDowngradeWithoutField(t *testing.T) {
	m, asked := picky(t, anthropic.Options{Model: "claude-opus-4-6"}, func(body map[string]any) string {
		if strings.Contains(text(body["thinking"]), "adaptive") {
			return "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."
		}
		return ""
	})
	got := collect(m.Stream(t.Context(), llm.Request{Effort: llm.EffortHigh}))
	if got.err != nil || len(asked()) != 2 || text(asked()[1]["thinking"]) != `{"type":"disabled"}` {
		t.Errorf("asked %d times: %v", len(asked()), got.err)
	}
}

// TestNoDowngrade checks the cases without a downgrade: fields set by the user, errors that no
// field causes, and repeated refusals.
func TestNoDowngrade(t *testing.T) {
	thought := []llm.Message{llm.UserText("Hi"), {Role: llm.RoleAssistant, Origin: anthropic.Family.Traits(anthropic.Options{Model: "claude-fable-5-1"}).Origin, Parts: []llm.Part{
		{Kind: llm.Thinking, State: json.RawMessage(signedBlock)}, {Kind: llm.Text, Text: "So"}}}, llm.UserText("Go on")}
	strict := map[string]any{"thinking": map[string]any{"type": "adaptive", "block_binding": map[string]any{"prefix_mismatch_behavior": "error"}}}
	for _, test := range []struct {
		name    string
		body    map[string]any
		req     llm.Request
		message string
		want    llm.Fault
		asked   int
	}{
		{"the user's field", map[string]any{"temperature": 0.5}, llm.Request{}, "temperature: refused", llm.InvalidRequest, 1},
		{"the user's limit", map[string]any{"max_tokens": 999_999}, llm.Request{}, "max_tokens: 999999 > 64000, which is the maximum", llm.InvalidRequest, 1},
		{"binding by error", strict, llm.Request{Messages: thought}, "messages.1.content.0: The block is bound to a different conversation", llm.InvalidRequest, 1},
		{"no field", nil, llm.Request{}, "messages: at least one message is required", llm.InvalidRequest, 1},
		{"no money", nil, llm.Request{}, "Your credit balance is too low to access the Anthropic API.", llm.Quota, 1},
		{"too long", nil, llm.Request{}, "prompt is too long: 210000 tokens > 200000 maximum", llm.ContextOverflow, 1},
		{"no room", nil, llm.Request{}, "input length and `max_tokens` exceed context limit: 199990 + 64000 > 200000", llm.ContextOverflow, 1},
		{"again and again", nil, llm.Request{System: "S"}, "system.0.cache_control: no", llm.InvalidRequest, 2},
	} {
		m, asked := picky(t, anthropic.Options{Model: "claude-fable-5-1", Body: test.body}, func(map[string]any) string { return test.message })
		got := collect(m.Stream(t.Context(), test.req))
		if llm.FaultOf(got.err) != test.want || len(asked()) != test.asked {
			t.Errorf("%s: asked %d times, %v (%s), want %d times, %s", test.name, len(asked()), got.err, llm.FaultOf(got.err), test.asked, test.want)
		}
	}
}

// Requests refused at the same time are all sent again, although only the first one learns the
// reason, and no more is changed than the server refused.
func TestDowngradeTogether(t *testing.T) {
	var refused, all sync.WaitGroup
	refused.Add(3)
	m, _ := picky(t, anthropic.Options{Model: "claude-opus-5"}, func(body map[string]any) string {
		if choice, _ := body["tool_choice"].(map[string]any); choice["type"] == "any" {
			refused.Done()
			refused.Wait() // until all were sent
			return "Thinking may not be enabled when tool_choice forces tool use."
		}
		if body["thinking"] == nil {
			t.Errorf("sent without thinking: %s", text(body))
		}
		return ""
	})
	for range 3 {
		all.Go(func() {
			req := llm.Request{Tools: []llm.Tool{{Name: "f"}}, Settings: llm.Settings{ToolChoice: "required"}}
			if got := collect(m.Stream(t.Context(), req)); got.err != nil {
				t.Error(got.err)
			}
		})
	}
	all.Wait()
}
