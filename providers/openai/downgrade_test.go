package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

// picky returns a server that refuses requests until refuse returns "".
func picky(t *testing.T, kind, model string, refuse func(body map[string]any) (status int, answer string)) (c *openai.Chat, asked func() []map[string]any) {
	t.Helper()
	var bodies []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Error(err)
		}
		bodies = append(bodies, body)
		if status, answer := refuse(body); status != 0 {
			w.WriteHeader(status)
			io.WriteString(w, answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, lines("stop", `{"content":"fine"}`))
	}))
	t.Cleanup(server.Close)
	client := wire.Client(wire.Options{Provider: "mock", URL: server.URL})
	t.Cleanup(client.CloseIdleConnections)
	d, _ := openai.DialectFor(kind, model)
	return openai.New(openai.Options{Provider: "mock", Model: model, BaseURL: server.URL, HTTP: client}, d),
		func() []map[string]any { return bodies }
}

func refusal(param, message string) string {
	return `{"error":{"message":` + quote(message) + `,"type":"invalid_request_error","param":` + quote(param) + `,"code":"unsupported_parameter"}}`
}

// TestDowngrade checks that a refused field is dropped or renamed once, reported, and remembered.
func TestDowngrade(t *testing.T) {
	warm := 0.5
	has := func(field string) func(map[string]any) bool {
		return func(body map[string]any) bool { _, ok := body[field]; return ok }
	}
	called := llm.Message{Role: llm.RoleAssistant, Origin: "own", Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "hm"}, {Kind: llm.Call, ID: "a", Name: "f", Input: "{}"}}}
	pictured := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "look"}, {Kind: llm.Media, MIME: "image/png", Data: []byte("\x89PNG\x00"), Name: "a.png"}}}
	kept := func(state string) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Opaque, State: json.RawMessage(state)}, {Kind: llm.Text, Text: "ok"}}}
	}
	messages := func(want string) func(map[string]any) bool {
		return func(body map[string]any) bool { return strings.Contains(text(body["messages"]), want) }
	}
	says := func(want string) func(map[string]any) bool {
		return func(body map[string]any) bool { return strings.Contains(text(body), want) }
	}
	not := func(f func(map[string]any) bool) func(map[string]any) bool {
		return func(body map[string]any) bool { return !f(body) }
	}
	for _, test := range []struct {
		name, kind, model string
		req               llm.Request
		answer, notice    string
		refused, after    func(map[string]any) bool
	}{
		{"by param", "openai", "m", llm.Request{Settings: llm.Settings{Temperature: &warm}},
			refusal("temperature", "Unsupported value: 0.5"), "does not take temperature; sent again without it", has("temperature"), not(has("temperature"))},
		{"limit by its other name", "openai", "m", llm.Request{Settings: llm.Settings{MaxTokens: 5}},
			refusal("max_tokens", "Use 'max_completion_tokens' instead."), "sent again with max_completion_tokens", has("max_tokens"), has("max_completion_tokens")},
		{"inner param", "vllm", "m", llm.Request{}, refusal("stream_options.include_usage", "no"), "stream_options", has("stream_options"), not(has("stream_options"))},
		{"by words", "glm", "glm-5.3", llm.Request{Tools: []llm.Tool{{Name: "f"}}},
			`{"detail":"extra field tool_stream is not permitted"}`, "tool_stream", has("tool_stream"), not(has("tool_stream"))},
		{"thinking", "ollama", "gemma3", llm.Request{Effort: llm.EffortHigh},
			`{"error":{"message":"\"gemma3\" does not support thinking"}}`, "reasoning_effort", has("reasoning_effort"), not(has("reasoning_effort"))},
		{"a word for effort", "openrouter", "openai/gpt-6-sol", llm.Request{Effort: llm.EffortMax},
			`{"error":{"message":"reasoning.effort: Invalid option: expected one of \"xhigh\"|\"high\"|\"none\"","code":400}}`, "does not take effort max, using xhigh",
			says(`"effort":"max"`), says(`"effort":"xhigh"`)},
		{"the schema of an answer", "openai", "m", llm.Request{AnswerSchema: &llm.Schema{Name: "out", JSON: json.RawMessage(`{"type":"object"}`)}},
			refusal("response_format", "json_schema is not supported"), "does not take response_format", has("response_format"), messages(`fits this JSON schema`)},
		{"developer role", "openai", "gpt-5.4", llm.Request{System: "S"}, refusal("messages[0].role", "role 'developer' is not one of system, user"),
			"developer role", messages(`"role":"developer"`), messages(`"role":"system"`)},
		{"echo refused", "groq", "openai/gpt-oss-20b", llm.Request{Messages: []llm.Message{called}},
			refusal("", "'messages.0' : property 'reasoning' is unsupported"), "does not take its thinking back", messages(`"reasoning"`), not(messages(`"reasoning"`))},
		{"details refused", "openrouter", "m", llm.Request{Messages: []llm.Message{kept(`[{"type":"reasoning.encrypted","data":"d"}]`)}},
			refusal("", "messages.0: reasoning_details is not supported"), "does not take its thinking back", messages(`"reasoning_details"`), not(messages(`"reasoning_details"`))},
		{"thinking blocks refused", "openai", "m", llm.Request{Messages: []llm.Message{kept(`[{"type":"redacted_thinking","data":"d"}]`)}},
			refusal("", "messages.0.thinking_blocks: Extra inputs are not permitted"), "does not take its thinking back", messages(`"thinking_blocks"`), not(messages(`"thinking_blocks"`))},
		{"echo wanted", "openai", "m", llm.Request{Messages: []llm.Message{called}},
			refusal("", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 0"),
			"wants its thinking back", not(messages(`"reasoning_content":"hm"`)), messages(`"reasoning_content":"hm"`)},
		{"images, llama.cpp's words", "openai", "m", llm.Request{Messages: []llm.Message{pictured}},
			`{"error":{"code":400,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`,
			"m does not support a.png (image/png, 5 bytes); not sent", messages(`image_url`), messages(`left out`)},
		{"images, Ollama's words", "ollama", "m", llm.Request{Messages: []llm.Message{pictured}},
			`{"error":{"message":"this model does not support multimodal requests","type":"api_error"}}`,
			"m does not support a.png (image/png, 5 bytes); not sent", messages(`image_url`), messages(`left out`)},
		{"signatures wanted", "openai", "gemini-3.6-flash", llm.Request{Messages: []llm.Message{called}},
			refusal("", "Function call is missing a thought_signature in functionCall parts."),
			"wants signatures of earlier calls", not(messages(`"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`)), messages(`"extra_content"`)},
		{"tools only without thinking", "openai", "openai/gpt-6-sol", llm.Request{Tools: []llm.Tool{{Name: "f"}}},
			refusal("reasoning_effort", "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions."),
			"sent again with none", not(has("reasoning_effort")), has("reasoning_effort")},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, asked := picky(t, test.kind, test.model, func(body map[string]any) (int, string) {
				if test.refused(body) {
					return 400, test.answer
				}
				return 0, ""
			})
			for i := range test.req.Messages {
				test.req.Messages[i].Origin = c.Origin()
			}
			test.req.Messages = append(test.req.Messages, llm.UserText("Hi"))
			for round := range 2 {
				var notices []string
				for e, err := range c.Stream(t.Context(), test.req) {
					if err != nil {
						t.Fatal(err)
					}
					if n, ok := e.(llm.Notice); ok {
						notices = append(notices, n.Text)
					}
				}
				if round == 0 && !slices.ContainsFunc(notices, func(n string) bool { return strings.Contains(n, test.notice) }) {
					t.Errorf("notices %q, want %q", notices, test.notice)
				}
				if round == 1 && len(notices) > 0 {
					t.Errorf("told again: %q", notices)
				}
			}
			if all := asked(); len(all) != 3 || !test.after(all[1]) || !test.after(all[2]) {
				t.Errorf("asked %d times, the last time with %v", len(all), all[len(all)-1])
			}
		})
	}
}

// TestNoHealing checks that requests are not sent again without a change that helps.
func TestNoHealing(t *testing.T) {
	tools := []llm.Tool{{Name: "f"}}
	warm := 0.5
	for _, test := range []struct {
		name   string
		status int
		answer string
		req    llm.Request
		fault  llm.Fault
		asked  int
	}{
		{"a field that was not sent", 400, refusal("max_tokens", "no"), llm.Request{}, llm.InvalidRequest, 1},
		{"messages", 400, refusal("messages", "messages are wrong"), llm.Request{}, llm.InvalidRequest, 1},
		{"context", 400, `{"error":{"message":"maximum context length is 10 tokens, max_tokens is 5","param":"max_tokens"}}`, llm.Request{Settings: llm.Settings{MaxTokens: 5}}, llm.ContextOverflow, 1},
		{"another status", 500, `{"error":{"message":"temperature overflow","param":"temperature"}}`, llm.Request{Settings: llm.Settings{Temperature: &warm}}, llm.Server, 1},
		{"the same again", 400, refusal("temperature", "no"), llm.Request{Settings: llm.Settings{Temperature: &warm}}, llm.InvalidRequest, 2},
		{"both limits", 400, `{"error":"neither max_tokens nor max_completion_tokens"}`, llm.Request{Settings: llm.Settings{MaxTokens: 5}}, llm.InvalidRequest, 3},
		{"Groq misspelled a call", 400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`, llm.Request{Tools: tools}, llm.InvalidRequest, 1},
		{"Ollama has no tools", 400, `{"error":{"message":"registry.ollama.ai/library/x does not support tools"}}`, llm.Request{Tools: tools}, llm.Unsupported, 1},
		{"OpenRouter has no tools", 404, `{"error":{"message":"No endpoints found that support tool use","code":404}}`, llm.Request{Tools: tools}, llm.Unsupported, 1},
		{"vLLM has no tools", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`, llm.Request{Tools: tools}, llm.Unsupported, 1},
		{"llama.cpp has no tools", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.Request{Tools: tools}, llm.Unsupported, 1},
		{"OpenAI has none here", 400, refusal("reasoning_effort", "Function tools with reasoning_effort are not supported for gpt-6-astra in /v1/chat/completions."), llm.Request{Tools: tools}, llm.Unsupported, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, asked := picky(t, "openai", "m", func(map[string]any) (int, string) { return test.status, test.answer })
			_, _, _, err := collect(t, c.Stream(t.Context(), test.req))
			if llm.FaultOf(err) != test.fault {
				t.Errorf("error %v (%s), want %s", err, llm.FaultOf(err), test.fault)
			}
			if n := len(asked()); n != test.asked {
				t.Errorf("asked %d times, want %d", n, test.asked)
			}
		})
	}
}

// TestNotices checks that fields known to be refused are reported once.
func TestNotices(t *testing.T) {
	warm := 0.5
	c := chat(t, "openai", "gpt-6.1-sol", lines("stop", `{"content":"x"}`))
	req := llm.Request{Effort: llm.EffortOff, Settings: llm.Settings{Temperature: &warm}}
	for _, want := range [][]string{{"gpt-6.1-sol cannot turn thinking off, using low", "gpt-6.1-sol does not support temperature; not sent"}, nil} {
		var got []string
		for e := range c.Stream(t.Context(), req) {
			if n, ok := e.(llm.Notice); ok {
				got = append(got, n.Text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("notices %q, want %q", got, want)
		}
	}
}

// TestHeaders checks that other servers get no headers of OpenAI's account from the environment.
func TestHeaders(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-env", "OPENAI_ADMIN_KEY": "sk-admin", "OPENAI_ORG_ID": "org-env", "OPENAI_PROJECT_ID": "proj-env",
		"OPENAI_BASE_URL": "http://wrong.invalid", "OPENAI_CUSTOM_HEADERS": "X-Env: secret-env",
	} {
		t.Setenv(name, value)
	}
	for _, test := range []struct {
		base, key, auth, org string
	}{
		{"http://local.invalid/v1", "", "Bearer none", ""},
		{"http://local.invalid/v1/", "sk-own", "Bearer sk-own", ""},
		{"https://api.openai.com.evil.invalid/v1", "sk-own", "Bearer sk-own", ""},
		{"https://api.openai.com/v1", "sk-own", "Bearer sk-own", "org-env"},
	} {
		var got *http.Request
		client := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			got = r
			return canned{200, "text/event-stream", lines("stop", `{"content":"x"}`)}.RoundTrip(r)
		})}
		c := openai.New(openai.Options{Model: "m", BaseURL: test.base, Key: test.key, HTTP: client, Headers: map[string]string{"X-Mine": "1"}}, openai.Dialect{})
		if _, _, _, err := collect(t, c.Stream(t.Context(), llm.Request{})); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(test.base, "/") + "/chat/completions"; got.URL.String() != want {
			t.Errorf("asked %s, want %s", got.URL, want)
		}
		if got.Header.Get("Authorization") != test.auth || got.Header.Get("OpenAI-Organization") != test.org || got.Header.Get("X-Mine") != "1" {
			t.Errorf("%s: headers %v", test.base, got.Header)
		}
		if all := text(got.Header); strings.Contains(all, "sk-env") || strings.Contains(all, "sk-admin") || strings.Contains(all, "secret-env") {
			t.Errorf("%s: the environment leaks: %s", test.base, all)
		}
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
