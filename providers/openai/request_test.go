package openai_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/schema"
)

// sent is the body of a request, for tests.
type sent struct {
	Messages []map[string]any
	Fields   map[string]any
}

func send(t *testing.T, c *openai.Chat, req llm.Request) sent {
	t.Helper()
	data, err := c.Body(req)
	if err != nil {
		t.Fatal(err)
	}
	var s sent
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s.Fields); err != nil {
		t.Fatal(err)
	}
	return s
}

// build returns a chat that sends no requests.
func build(t *testing.T, kind, model string) *openai.Chat {
	t.Helper()
	d, ok := openai.DialectFor(kind, model)
	if !ok {
		t.Fatalf("no dialect for %s", kind)
	}
	return openai.New(openai.Options{Model: model, BaseURL: "http://mock.invalid/v1"}, d)
}

// text returns v as JSON, without the escapes of HTML.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(v)
	return strings.TrimSpace(b.String())
}

// fields are the named fields of a body as JSON.
func (s sent) only(names ...string) string {
	some := map[string]any{}
	for _, name := range names {
		if v, ok := s.Fields[name]; ok {
			some[name] = v
		}
	}
	return text(some)
}

// TestEffort checks the fields for each service, in the order of llm.Efforts: off, minimal, low,
// medium, high, max.
func TestEffort(t *testing.T) {
	const effort, typed, enable, kwargs = "reasoning_effort", "thinking", "enable_thinking", "chat_template_kwargs"
	same := func(first, rest string) []string { return []string{first, rest, rest, rest, rest, rest} }
	for _, test := range []struct {
		kind, model, field string
		want               []string
	}{
		{"openai", "o3", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"openai", "o4-mini-2026-01-01", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"openai", "gpt-5", effort, []string{"minimal", "minimal", "low", "medium", "high", "high"}},
		{"openai", "gpt-5-mini", effort, []string{"minimal", "minimal", "low", "medium", "high", "high"}},
		{"openai", "gpt-5-pro", effort, same("high", "high")},
		{"openai", "gpt-5-codex", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"openai", "gpt-5.1", effort, []string{"none", "low", "low", "medium", "high", "high"}},
		{"openai", "gpt-5.1-codex-mini", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"openai", "gpt-5.1-codex-max", effort, []string{"low", "low", "low", "medium", "high", "xhigh"}},
		{"openai", "gpt-5.3-codex-spark", effort, []string{"low", "low", "low", "medium", "high", "xhigh"}},
		{"openai", "gpt-5.4", effort, []string{"none", "low", "low", "medium", "high", "xhigh"}},
		{"openai", "gpt-5.4-pro", effort, []string{"medium", "medium", "medium", "medium", "high", "xhigh"}},
		{"openai", "gpt-5.6-sol", effort, []string{"none", "low", "low", "medium", "high", "max"}},
		{"openai", "gpt-6-sol", effort, []string{"none", "low", "low", "medium", "high", "max"}},
		{"openai", "gpt-6.1-sol", effort, []string{"low", "low", "low", "medium", "high", "max"}},
		{"openai", "gpt-6-astra", effort, []string{"low", "low", "low", "medium", "high", "max"}},
		{"openai", "gpt-7.2", effort, []string{"none", "low", "low", "medium", "high", "max"}},
		{"openai", "gpt-4.1", effort, same("", "")},
		{"openai", "gpt-5-chat-latest", effort, same("", "")},
		{"openai", "some-model", effort, same("", "")},
		{"grok", "grok-4.7", effort, []string{"low", "low", "low", "medium", "high", "xhigh"}},
		{"grok", "grok-4.5", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"grok", "grok-4.3", effort, []string{"none", "low", "low", "medium", "high", "high"}},
		{"grok", "grok-4.20-0309-reasoning", effort, same("", "")},
		{"grok", "grok-4-0709", effort, same("", "")},
		{"grok", "grok-3-mini", effort, []string{"low", "low", "low", "low", "high", "high"}},
		{"glm", "glm-4.7", typed, same(`{"type":"disabled"}`, `{"type":"enabled"}`)},
		{"glm", "glm-5", typed, same(`{"type":"disabled"}`, `{"type":"enabled"}`)},
		{"glm", "glm-5.2", effort, []string{"", "high", "high", "high", "high", "max"}},
		{"glm", "glm-5.2", typed, same(`{"type":"disabled"}`, "")},
		{"glm", "glm-5.3-flash", effort, []string{"low", "low", "low", "high", "high", "max"}},
		{"glm", "glm-5.3-flash", typed, same("", "")},
		{"qwen", "qwen3.7-plus", enable, same("false", "true")},
		{"qwen", "qwen3.7-plus", "thinking_budget", []string{"", "1024", "2048", "8192", "16384", ""}},
		{"qwen", "qwen3.8-max", effort, []string{"", "low", "low", "medium", "xhigh", "xhigh"}},
		{"qwen", "qwen3.8-max", enable, same("false", "")},
		{"qwen", "qwen3-coder-plus", enable, same("", "")},
		{"deepseek", "deepseek-flash", effort, []string{"", "low", "low", "high", "high", "max"}},
		{"deepseek", "deepseek-v4-pro", effort, []string{"", "high", "high", "high", "high", "max"}},
		{"deepseek", "deepseek-v4-pro", typed, same(`{"type":"disabled"}`, "")},
		{"minimax", "MiniMax-M2.5", typed, same("", "")},
		{"minimax", "MiniMax-M3", typed, same(`{"type":"disabled"}`, `{"type":"adaptive"}`)},
		{"moonshot", "kimi-k3", effort, []string{"low", "low", "low", "high", "high", "max"}},
		{"moonshot", "kimi-k2.6", typed, same(`{"type":"disabled"}`, `{"type":"enabled"}`)},
		{"mistral", "mistral-medium-3.5", effort, same("none", "high")},
		{"mistral", "mistral-large-4", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"groq", "openai/gpt-oss-120b", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"groq", "qwen/qwen3-32b", effort, same("none", "default")},
		{"groq", "llama-3.3-70b-versatile", effort, same("", "")},
		{"openrouter", "anthropic/claude-opus-5", "reasoning", []string{`{"effort":"none"}`, `{"effort":"minimal"}`,
			`{"effort":"low"}`, `{"effort":"medium"}`, `{"effort":"high"}`, `{"effort":"max"}`}},
		{"openrouter", "deepseek/deepseek-v4-pro", effort, same("", "")},
		{"ollama", "qwen3:8b", effort, []string{"none", "low", "low", "medium", "high", "max"}},
		{"llamacpp", "gpt-oss-20b-MXFP4.gguf", kwargs, []string{`{"reasoning_effort":"low"}`, `{"reasoning_effort":"low"}`, `{"reasoning_effort":"low"}`, `{"reasoning_effort":"medium"}`, `{"reasoning_effort":"high"}`, `{"reasoning_effort":"high"}`}},
		{"llamacpp", "GLM-4.6-Q4", kwargs, same(`{"enable_thinking":false}`, `{"enable_thinking":true}`)},
		{"vllm", "deepseek-ai/DeepSeek-V3.2", kwargs, same(`{"thinking":false}`, `{"thinking":true}`)},
		{"vllm", "openai/gpt-oss-20b", effort, []string{"low", "low", "low", "medium", "high", "high"}},
		{"vllm", "openai/gpt-oss-20b", kwargs, same("", "")},
		{"lmstudio", "openai/gpt-oss-20b", effort, []string{"low", "low", "low", "medium", "high", "high"}},
	} {
		c := build(t, test.kind, test.model)
		var got []string
		for _, effort := range llm.Efforts {
			body := send(t, c, llm.Request{Effort: effort})
			word, ok := body.Fields[test.field]
			switch v := word.(type) {
			case string:
				got = append(got, v)
			default:
				got = append(got, map[bool]string{true: text(word)}[ok])
			}
		}
		if text(got) != text(test.want) {
			t.Errorf("%s %s, %s: %q, want %q", test.kind, test.model, test.field, got, test.want)
		}
		if body := send(t, c, llm.Request{}); body.Fields[test.field] != nil {
			t.Errorf("%s %s says %s although nobody asked", test.kind, test.model, test.field)
		}
	}
}

// TestFields checks the settings that a service gets, and those it does not get.
func TestFields(t *testing.T) {
	warm, cold, top, seed := 1.5, 0.0, 0.9, int64(7)
	all := llm.Settings{MaxTokens: 100, Temperature: &warm, TopP: &top, Seed: &seed, Stop: []string{"END"}}
	names := []string{"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "random_seed", "stop"}
	for _, test := range []struct {
		kind, model, want string
		effort            llm.Effort
		settings          llm.Settings
	}{
		{"openai", "some-model", `{"max_tokens":100,"seed":7,"stop":["END"],"temperature":1.5,"top_p":0.9}`, "", all},
		{"openai", "gpt-5.4", `{"max_completion_tokens":100,"seed":7}`, "", all},
		{"openai", "gpt-5.4", `{"max_completion_tokens":100,"seed":7,"stop":["END"],"temperature":1.5,"top_p":0.9}`, llm.EffortOff, all},
		{"grok", "grok-4.7", `{"max_completion_tokens":100,"seed":7,"temperature":1.5,"top_p":0.9}`, "", all},
		{"glm", "glm-5.3", `{"temperature":0.01}`, "", llm.Settings{Temperature: &cold}},
		{"minimax", "MiniMax-M3", `{"max_completion_tokens":9,"temperature":1}`, "", llm.Settings{Temperature: &warm, MaxTokens: 9}},
		{"moonshot", "kimi-k3", `{"max_tokens":100,"seed":7,"stop":["END"]}`, "", all},
		{"mistral", "mistral-large-4", `{"max_tokens":100,"random_seed":7,"stop":["END"],"temperature":1.5,"top_p":0.9}`, "", all},
		{"openrouter", "openai/gpt-5.4", `{"max_tokens":100,"seed":7}`, "", all},
		{"openai", "gpt-4o", `{"temperature":0}`, "", llm.Settings{Temperature: &cold}},
	} {
		got := send(t, build(t, test.kind, test.model), llm.Request{Effort: test.effort, Settings: test.settings}).only(names...)
		if got != test.want {
			t.Errorf("%s %s: %s, want %s", test.kind, test.model, got, test.want)
		}
	}

	tool := []llm.Tool{{Name: "a.b", Schema: json.RawMessage(`not JSON`)}}
	offered := []string{"stream", "stream_options", "tools", "tool_stream", "parallel_tool_calls", "reasoning_split", "reasoning_effort", "prompt_cache_key"}
	const schema = `[{"function":{"name":"a_b_2e7336dc","parameters":{"properties":{},"type":"object"}},"type":"function"}]`
	for _, test := range []struct{ kind, model, want string }{
		{"openai", "some-model", `{"stream":true,"stream_options":{"include_usage":true},"tools":` + schema + `}`},
		{"openai", "gpt-6-sol", `{"reasoning_effort":"none","stream":true,"stream_options":{"include_usage":true},"tools":` + schema + `}`},
		{"openai", "openai/gpt-6-sol", `{"stream":true,"stream_options":{"include_usage":true},"tools":` + schema + `}`},
		{"glm", "glm-5.3", `{"stream":true,"stream_options":{"include_usage":true},"tool_stream":true,"tools":` + schema + `}`},
		{"qwen", "qwen3-max", `{"parallel_tool_calls":true,"stream":true,"stream_options":{"include_usage":true},"tools":` + schema + `}`},
		{"minimax", "MiniMax-M2", `{"reasoning_split":true,"stream":true,"stream_options":{"include_usage":true},"tools":` + schema + `}`},
		{"mistral", "mistral-large-4", `{"stream":true,"tools":` + schema + `}`},
	} {
		got := send(t, build(t, test.kind, test.model), llm.Request{Tools: tool, Session: "s"}).only(offered...)
		if got != test.want {
			t.Errorf("%s %s: %s\nwant %s", test.kind, test.model, got, test.want)
		}
	}

	d, _ := openai.DialectFor("openai", "gpt-4o")
	own := openai.New(openai.Options{Model: "gpt-4o", BaseURL: "https://api.openai.com/v1", NoStream: true,
		Body: map[string]any{"service_tier": "flex", "stop": "mine"}}, d)
	got := send(t, own, llm.Request{Session: "s", Settings: all}).only("stream", "stream_options", "prompt_cache_key", "service_tier", "stop")
	if want := `{"prompt_cache_key":"043a718774c572bd8a25adbeb1bfcd5c","service_tier":"flex","stop":"mine","stream":false}`; got != want {
		t.Errorf("OpenAI itself, whole answers, own fields: %s, want %s", got, want)
	}
}

// TestSettings checks the other settings of the user.
func TestSettings(t *testing.T) {
	some, hot, cold, no := 0.5, 1.5, 0.0, false
	all := llm.Settings{FrequencyPenalty: &some, PresencePenalty: &some, User: "u", Verbosity: "low", Parallel: &no, ToolChoice: "f"}
	names := []string{"frequency_penalty", "presence_penalty", "user", "user_id", "safety_identifier", "verbosity", "parallel_tool_calls", "tool_choice", "response_format", "thinking_budget", "reasoning_effort"}
	tools := []llm.Tool{{Name: "f"}}
	whole := &llm.Schema{Name: "out", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	partly := &llm.Schema{Name: "out", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	const choice = `"tool_choice":{"function":{"name":"f"},"type":"function"}`
	for _, test := range []struct {
		kind, model string
		req         llm.Request
		want        string
		notices     []string
	}{
		{"openai", "some-model", llm.Request{Tools: tools, Settings: all},
			`{"frequency_penalty":0.5,"parallel_tool_calls":false,"presence_penalty":0.5,` + choice + `,"user":"u"}`, nil},
		{"openai", "gpt-5.4", llm.Request{Settings: all, Effort: llm.EffortOff}, `{"reasoning_effort":"none","user":"u","verbosity":"low"}`,
			[]string{"gpt-5.4 does not support frequency_penalty; not sent", "gpt-5.4 does not support presence_penalty; not sent"}},
		{"openrouter", "openai/gpt-5.4", llm.Request{Settings: llm.Settings{Verbosity: "low"}}, `{"verbosity":"low"}`, nil},
		{"vllm", "openai/gpt-5.4", llm.Request{Settings: llm.Settings{Verbosity: "low"}}, `{}`, nil},
		{"openai", "some-model", llm.Request{Tools: tools, Settings: llm.Settings{ToolChoice: "required"}}, `{"tool_choice":"required"}`, nil},

		{"qwen", "qwen3-max", llm.Request{Effort: llm.EffortLow, Settings: llm.Settings{Budget: 3000}}, `{"thinking_budget":3000}`, nil},
		{"openai", "gpt-5.4", llm.Request{Effort: llm.EffortMax, Settings: llm.Settings{Budget: 3000}}, `{"reasoning_effort":"low"}`, []string{"gpt-5.4 takes no thinking budget in tokens, using effort low"}},
		{"openai", "gpt-5.4", llm.Request{Settings: llm.Settings{Budget: 50000}}, `{"reasoning_effort":"xhigh"}`, []string{"gpt-5.4 takes no thinking budget in tokens, using effort xhigh"}},
		{"openai", "gpt-4o", llm.Request{Settings: llm.Settings{Budget: 3000}}, `{}`, []string{"gpt-4o does not support a thinking budget; not sent"}},

		{"openai", "gpt-4o", llm.Request{AnswerSchema: whole},
			`{"response_format":{"json_schema":{"name":"out","schema":{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"},"strict":true},"type":"json_schema"}}`, nil},
		{"openai", "gpt-4o", llm.Request{AnswerSchema: partly},
			`{"response_format":{"json_schema":{"name":"out","schema":{"properties":{"a":{"type":"string"}},"type":"object"},"strict":false},"type":"json_schema"}}`, nil},
		{"vllm", "qwen3", llm.Request{AnswerSchema: whole},
			`{"response_format":{"json_schema":{"name":"out","schema":{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}},"type":"json_schema"}}`, nil},
		{"deepseek", "deepseek-flash", llm.Request{Settings: llm.Settings{FrequencyPenalty: &some, PresencePenalty: &some, User: "u"}}, `{"user_id":"u"}`,
			[]string{"deepseek-flash does not support frequency_penalty; not sent", "deepseek-flash does not support presence_penalty; not sent"}},
		{"minimax", "MiniMax-M3", llm.Request{Settings: llm.Settings{Temperature: &hot}}, `{}`, []string{"MiniMax-M3 takes a temperature above 0 and at most 1, using 1 instead of 1.5"}},
		{"minimax", "MiniMax-M3", llm.Request{Settings: llm.Settings{Temperature: &some}}, `{}`, nil},
		{"glm", "glm-5.3", llm.Request{Settings: llm.Settings{Temperature: &cold}}, `{}`, []string{"glm-5.3 takes a temperature above 0 and at most 1, using 0.01 instead of 0"}},
		{"deepseek", "deepseek-flash", llm.Request{AnswerSchema: whole}, `{"response_format":{"type":"json_object"}}`, nil},
	} {
		t.Run(test.kind+" "+test.model, func(t *testing.T) {
			c := build(t, test.kind, test.model)
			if got := send(t, c, test.req).only(names...); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			asked := &record{}
			d, _ := openai.DialectFor(test.kind, test.model)
			c = openai.New(openai.Options{Model: test.model, BaseURL: "http://mock.invalid/v1", HTTP: asked.client()}, d)
			if got := told(c.Stream(t.Context(), test.req)); !slices.Equal(got, test.notices) {
				t.Errorf("notices %q, want %q", got, test.notices)
			}
		})
	}
	req := llm.Request{System: "S", AnswerSchema: whole}
	got := send(t, build(t, "glm", "glm-5.3"), req).Messages[0]["content"]
	if want := "S\n\nAnswer with nothing but JSON that fits this JSON schema:\n" + string(whole.JSON); got != want {
		t.Errorf("a schema in words: %q, want %q", got, want)
	}
}

// TestSchemas checks the form of a tool's schema for each service.
func TestSchemas(t *testing.T) {
	tool := llm.Tool{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","maxLength":9000},"b":{"type":"integer","oneOf":[{"minimum":1},{"multipleOf":2}]}},"additionalProperties":false}`)}
	for kind, target := range map[string]schema.Target{
		"openai": schema.OpenAI, "glm": schema.OpenAI, "grok": schema.XAI, "moonshot": schema.Kimi,
		"ollama": schema.Grammar, "llamacpp": schema.Grammar, "lmstudio": schema.Grammar,
	} {
		body, err := build(t, kind, "m").Body(llm.Request{Tools: []llm.Tool{tool}})
		if want := schema.For(tool.Schema, target); err != nil || !strings.Contains(string(body), `"parameters":`+string(want)) {
			t.Errorf("%s: %s, %v; want %s", kind, body, err, want)
		}
	}
}

// TestSchemasFollowTheModel checks that the schema rules of a family apply on every server and in every
// wire format: gateways pass schemas on unchanged.
func TestSchemasFollowTheModel(t *testing.T) {
	raw := json.RawMessage(`{"type":"object","properties":{"a":{"const":"x"},"b":{"type":"integer","oneOf":[{"minimum":1},{"multipleOf":2}],"maximum":9000}},"additionalProperties":false}`)
	req := llm.Request{Tools: []llm.Tool{{Name: "f", Schema: raw}}, AnswerSchema: &llm.Schema{Name: "s", JSON: raw}}
	for _, test := range []struct {
		kind, model string
		target      schema.Target
	}{
		{"openrouter", "google/gemini-3-pro-preview", schema.Gemini}, {"openai", "gemini-2.5-pro", schema.Gemini},
		{"openai", "vertex_ai/gemini-3.6-flash", schema.Gemini}, {"openai", "databricks-gemini-2-5-pro", schema.Gemini},
		{"ollama", "gemini-3-flash-preview:cloud", schema.Gemini}, {"openrouter", "moonshotai/kimi-k3", schema.Kimi},
		{"openrouter", "x-ai/grok-4.6", schema.XAI}, {"ollama", "kimi-k2", schema.Grammar}, {"openrouter", "openai/gpt-6-sol", schema.OpenAI},
	} {
		want := `"parameters":` + string(schema.For(raw, test.target))
		body, err := build(t, test.kind, test.model).Body(req)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s, %s: %s, %v; want %s", test.kind, test.model, body, err, want)
		}
		if test.target.Name == "gemini" && (strings.Contains(string(body), `"const"`) || strings.Contains(string(body), `"oneOf"`)) {
			t.Errorf("%s, %s: %s", test.kind, test.model, body)
		}
		body, err = openai.NewResponses(openai.Options{Model: test.model, BaseURL: "http://mock.invalid/v1"}).Body(req)
		if own := test.target != schema.Grammar; own && (err != nil || !strings.Contains(string(body), want)) {
			t.Errorf("%s by Responses: %s, %v; want %s", test.model, body, err, want)
		}
	}
}

// TestMessages checks the history in the form for each service.
func TestMessages(t *testing.T) {
	user := llm.UserText("Hi")
	call := func(id string) llm.Part { return llm.Part{Kind: llm.Call, ID: id, Name: "f", Input: `{"x": 1}`} }
	think := llm.Part{Kind: llm.Thinking, Text: "hm"}
	say := llm.Part{Kind: llm.Text, Text: "ok"}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Name: "f", Text: "1"}}}
	}
	own := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: "own", Parts: parts}
	}
	foreign := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	results := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleTool}
		for i, id := range ids {
			m.Parts = append(m.Parts, llm.Part{Kind: llm.Result, ID: id, Name: "f", Text: strconv.Itoa(i + 1)})
		}
		return m
	}
	const f = `"function":{"arguments":"{\"x\":1}","name":"f"}`
	for _, test := range []struct {
		name, kind, model string
		in                []llm.Message
		want              string
	}{
		{"text is a string", "openai", "m", []llm.Message{user, own(think, say, say), llm.UserText("go")},
			`[{"content":"Hi","role":"user"},{"content":"okok","role":"assistant"},{"content":"go","role":"user"}]`},
		{"calls and results", "openai", "m", []llm.Message{user, own(say, call("a"), call("b")), {Role: llm.RoleTool, Parts: append(result("a").Parts, llm.Part{Kind: llm.Result, ID: "b"})}},
			`[{"content":"Hi","role":"user"},{"content":"ok","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"},{` + f + `,"id":"b","type":"function"}]},` +
				`{"content":"1","role":"tool","tool_call_id":"a"},{"content":"(no output)","role":"tool","tool_call_id":"b"}]`},
		{"calls alone have null", "openai", "m", []llm.Message{own(call("a"))},
			`[{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]}]`},
		{"GLM wants a string, and its thinking", "glm", "glm-5.3", []llm.Message{own(think, call("a")), own(think, say)},
			`[{"content":"","reasoning_content":"hm","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]},{"content":"ok","role":"assistant"}]`},
		{"DeepSeek has it with every call", "deepseek", "deepseek-flash", []llm.Message{own(think, call("a")), own(call("b")), {Role: llm.RoleAssistant, Parts: []llm.Part{call("c")}}},
			`[{"content":null,"reasoning_content":"hm","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]},` +
				`{"content":null,"reasoning_content":"","role":"assistant","tool_calls":[{` + f + `,"id":"b","type":"function"}]},` +
				`{"content":null,"reasoning_content":"","role":"assistant","tool_calls":[{` + f + `,"id":"c","type":"function"}]}]`},
		{"but not R1", "deepseek", "deepseek-r1", []llm.Message{own(think, say, call("a"))},
			`[{"content":"ok","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]}]`},
		{"Kimi keeps its ids", "moonshot", "kimi-k3", []llm.Message{own(think, call("functions.f:0")), result("functions.f:0")},
			`[{"content":null,"reasoning_content":"hm","role":"assistant","tool_calls":[{` + f + `,"id":"functions.f:0","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"functions.f:0"}]`},
		{"others do not get them", "openai", "gpt-4o", []llm.Message{{Role: llm.RoleAssistant, Origin: "chat/moonshot", Parts: []llm.Part{call("functions.f:0")}}, result("functions.f:0")},
			`[{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"call_d6bdd4de328a22edd610f954","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"call_d6bdd4de328a22edd610f954"}]`},
		{"foreign ids that come again", "openai", "gpt-4o", []llm.Message{foreign(call("c:0"), call("c:0")), results("c:0", "c:0"), foreign(call("c:0")), results("c:0"), own(call("c1")), results("c1"), own(call("c1")), results("c1")},
			`[{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"call_431b92d9f72803c611e4e083","type":"function"},{` + f + `,"id":"call_2c2de865c53eec734901aac3","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"call_431b92d9f72803c611e4e083"},{"content":"2","role":"tool","tool_call_id":"call_2c2de865c53eec734901aac3"},` +
				`{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"call_c8f5aab2fc94bdc6c36edb0a","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"call_c8f5aab2fc94bdc6c36edb0a"},` +
				`{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"c1","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"c1"},{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"c1","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"c1"}]`},
		{"as Mistral has them", "mistral", "mistral-large-4", []llm.Message{foreign(call("c:0")), results("c:0"), foreign(call("c:0")), results("c:0")},
			`[{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"431b92d9f","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"431b92d9f"},{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"2c2de865c","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"2c2de865c"}]`},
		{"Mistral's ids at another's", "openrouter", "mistralai/devstral-2", []llm.Message{own(call("call_1")), result("call_1")},
			`[{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"74196fe72","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"74196fe72"}]`},
		{"Mistral's ids, and its parts", "mistral", "mistral-medium-3.5", []llm.Message{own(think, say, call("call_1")), result("call_1"), user},
			`[{"content":[{"thinking":[{"text":"hm","type":"text"}],"type":"thinking"},{"text":"ok","type":"text"}],"role":"assistant","tool_calls":[{` + f + `,"id":"74196fe72","type":"function"}]},` +
				`{"content":"1","role":"tool","tool_call_id":"74196fe72"},{"content":"Noted.","role":"assistant"},{"content":"Hi","role":"user"}]`},
		{"MiniMax's tags", "minimax", "MiniMax-M2", []llm.Message{own(think, say, think, call("a"))},
			`[{"content":"<think>hm</think>\n\nok<think>hm</think>\n\n","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]}]`},
		{"MiniMax's details instead", "minimax", "MiniMax-M2", []llm.Message{own(llm.Part{Kind: llm.Thinking, Text: "hm", State: json.RawMessage(`[{"type":"reasoning.text","text":"hm"}]`)}, say)},
			`[{"content":"ok","reasoning_details":[{"text":"hm","type":"reasoning.text"}],"role":"assistant"}]`},
		{"OpenRouter: no text alone, nothing twice", "openrouter", "m", []llm.Message{
			own(think, say), own(llm.Part{Kind: llm.Opaque, State: json.RawMessage(`[{"type":"reasoning.encrypted","id":"r","data":"d"},{"type":"reasoning.text","text":"unsigned","format":"anthropic-claude-v1"}]`)}, say),
			own(llm.Part{Kind: llm.Opaque, State: json.RawMessage(`[{"type":"reasoning.encrypted","id":"r","data":"d"}]`)}, say)},
			`[{"content":"ok","role":"assistant"},{"content":"ok","reasoning_details":[{"data":"d","id":"r","type":"reasoning.encrypted"}],"role":"assistant"},{"content":"ok","role":"assistant"}]`},
		{"Groq's field", "groq", "openai/gpt-oss-20b", []llm.Message{own(think, call("a"))},
			`[{"content":null,"reasoning":"hm","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]}]`},
		{"Qwen wants none", "qwen", "qwen3-max", []llm.Message{own(think, say, call("a"))},
			`[{"content":"ok","role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]}]`},
		{"garbage is left out", "openrouter", "m", []llm.Message{own(llm.Part{Kind: llm.Opaque, State: json.RawMessage(`{"not":"a list"`)}, say), own(think), own(llm.Part{Kind: llm.Call, ID: "a", Name: "f", Input: `{"x": 1}{`})},
			`[{"content":"ok","role":"assistant"},{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}]`},
		{"images and files", "openai", "m", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
			{Kind: llm.Media, MIME: "image/png", Data: []byte("png")}, {Kind: llm.Text, Text: "What?"},
			{Kind: llm.Media, MIME: "text/plain", Name: "a.txt", Data: []byte("body")},
			{Kind: llm.Media, MIME: "application/zip", Name: "z.zip", Data: []byte{0, 255}},
			{Kind: llm.Media, MIME: "application/pdf", Name: "p.pdf", Data: []byte("%PDF")}}}},
			`[{"content":[{"image_url":{"url":"data:image/png;base64,cG5n"},"type":"image_url"},{"text":"What?","type":"text"},` +
				`{"text":"<file name=\"a.txt\">\nbody\n</file>","type":"text"},{"text":"[file left out: z.zip, application/zip, 2 bytes]","type":"text"},` +
				`{"file":{"file_data":"data:application/pdf;base64,JVBERg==","filename":"p.pdf"},"type":"file"}],"role":"user"}]`},
		{"sound, where it is heard", "openai", "gpt-audio-2", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "audio/wav", Name: "a.wav", Data: []byte("RIFF\xff")}}}},
			`[{"content":[{"input_audio":{"data":"UklGRv8=","format":"wav"},"type":"input_audio"}],"role":"user"}]`},
		{"sound as an address", "qwen", "qwen3-omni-flash", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "audio/mpeg", Name: "a.mp3", Data: []byte("ID3\xff")}}}},
			`[{"content":[{"input_audio":{"data":"data:;base64,SUQz/w==","format":"mp3"},"type":"input_audio"}],"role":"user"}]`},
		{"sound, where it is not heard", "openai", "gpt-4o", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "audio/wav", Name: "a.wav", Data: []byte("RIFF\xff")}}}},
			`[{"content":"[file left out: a.wav, audio/wav, 5 bytes]","role":"user"}]`},
		{"images of tools follow", "vllm", "m", []llm.Message{own(call("a")), {Role: llm.RoleTool, Parts: append(result("a").Parts, llm.Part{Kind: llm.Media, ID: "a", MIME: "image/png", URL: "https://x/y.png"})}, user},
			`[{"content":null,"role":"assistant","tool_calls":[{` + f + `,"id":"a","type":"function"}]},{"content":"1","role":"tool","tool_call_id":"a"},` +
				`{"content":[{"text":"Returned by the tool f:","type":"text"},{"image_url":{"url":"https://x/y.png"},"type":"image_url"},{"text":"Hi","type":"text"}],"role":"user"}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := build(t, test.kind, test.model)
			for i := range test.in {
				if test.in[i].Origin == "own" {
					test.in[i].Origin = c.Origin()
				}
			}
			if got := text(send(t, c, llm.Request{Messages: test.in}).Messages); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	for model, want := range map[string]string{"gpt-5.4": "developer", "gpt-4o": "system", "qwen3:8b": "system"} {
		if got := send(t, build(t, "openai", model), llm.Request{System: "S"}).Messages[0]["role"]; got != want {
			t.Errorf("%s: the system prompt is of %s, want %s", model, got, want)
		}
	}
	if got := send(t, build(t, "openrouter", "openai/gpt-5.4"), llm.Request{System: "S"}).Messages[0]["role"]; got != "system" {
		t.Errorf("a gateway gets the role %s", got)
	}
}

func TestOrigin(t *testing.T) {
	for _, test := range []struct{ kind, model, want string }{
		{"deepseek", "deepseek-flash", "chat/deepseek"},
		{"openrouter", "x-ai/grok-4.7", "chat/openrouter/x-ai/grok-4.7"},
	} {
		if got := build(t, test.kind, test.model).Origin(); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.kind, test.model, got, test.want)
		}
	}
	for _, kind := range openai.Kinds {
		if _, ok := openai.DialectFor(kind, "any"); !ok {
			t.Errorf("no dialect for %q", kind)
		}
	}
	if _, ok := openai.DialectFor("anthropic", "any"); ok {
		t.Error("a dialect for a kind that is not ours")
	}
}

// TestNames checks that a name that services refuse is sent in an accepted form, and translated
// back.
func TestNames(t *testing.T) {
	long := "mcp." + strings.Repeat("server", 12) + ".read"
	stream := lines("tool_calls", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"WIRE","arguments":"{}"}}]}`)
	req := llm.Request{Tools: []llm.Tool{{Name: long, Schema: json.RawMessage(`{"type":"object"}`)}}}
	body := send(t, build(t, "openai", "m"), req)
	name := body.Fields["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)["name"].(string)
	if len(name) != 64 || strings.ContainsAny(name, ". ") {
		t.Errorf("on the wire %q", name)
	}
	c := chat(t, "openai", "gpt-4o", strings.ReplaceAll(stream, "WIRE", name))
	parts, _, _, err := collect(t, c.Stream(t.Context(), req))
	if err != nil || show(parts) != "a:"+long+"{}" {
		t.Errorf("came back as %s, %v", show(parts), err)
	}
}
