package openai_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/retry"
)

// TestChoice checks how a tool choice is expressed that the service does not support.
func TestChoice(t *testing.T) {
	for _, test := range []struct{ kind, choice, want, notice string }{
		{"openai", "none", `"tool_choice":"none" a b`, ""},
		{"openai", "b", `"tool_choice":{"function":{"name":"b"},"type":"function"} a b`, ""},
		{"llamacpp", "required", `"tool_choice":"required" a b`, ""},
		{"llamacpp", "b", `"tool_choice":"required" b`, ""}, // the server treats a name as "auto"
		{"moonshot", "none", `"tool_choice":"none" a b`, ""},
		{"moonshot", "required", `a b`, "m does not support tool_choice required; not sent"},
		{"moonshot", "b", `b`, "m does not support tool_choice b; not sent"},
		{"glm", "auto", `a b`, ""},
		{"glm", "none", ``, ""},
		{"glm", "required", `a b`, "m does not support tool_choice required; not sent"},
		{"minimax", "b", `b`, "m does not support tool_choice b; not sent"},
		{"ollama", "none", ``, ""},
	} {
		r := &record{answers: []canned{{200, "text/event-stream", lines("stop", `{"content":"x"}`)}}}
		req := llm.Request{Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}, Settings: llm.Settings{ToolChoice: test.choice}}
		got := hear(t, against(t, test.kind, "m", r, nil).Stream(t.Context(), req))
		body := sent{Fields: r.bodies[0]}
		words := strings.Fields(strings.Trim(body.only("tool_choice"), "{}"))
		if choice := body.only("tool_choice"); choice != "{}" {
			words = []string{choice[1 : len(choice)-1]}
		}
		tools, _ := body.Fields["tools"].([]any)
		for _, tool := range tools {
			words = append(words, tool.(map[string]any)["function"].(map[string]any)["name"].(string))
		}
		if said := strings.Join(words, " "); said != test.want || strings.Join(got.notices, "; ") != test.notice {
			t.Errorf("%s, %s: %s, notices %q; want %s, %q", test.kind, test.choice, said, got.notices, test.want, test.notice)
		}
		if len(req.Tools) != 2 {
			t.Fatalf("%s, %s: the request itself was changed", test.kind, test.choice)
		}
	}
}

// TestFilesLeftOut checks that each file that a service does not accept is reported once.
func TestFilesLeftOut(t *testing.T) {
	zip := llm.Part{Kind: llm.Media, MIME: "application/zip", Name: "a.zip", Data: []byte{'P', 'K', 0, 1}}
	pdf := llm.Part{Kind: llm.Media, MIME: "application/pdf", Name: "b.pdf", Data: []byte{'%', 'P', 0, 0xff}}
	far := llm.Part{Kind: llm.Media, MIME: "image/png", Name: "c.png", URL: "https://pictures.invalid/c.png"}
	note := llm.Part{Kind: llm.Media, MIME: "text/plain", Name: "d.txt", Data: []byte("d")}
	for _, test := range []struct {
		kind string
		want []string
	}{
		{"openai", []string{"m does not support a.zip (application/zip, 4 bytes); not sent"}},
		{"grok", []string{"m does not support a.zip (application/zip, 4 bytes); not sent", "m does not support b.pdf (application/pdf, 4 bytes); not sent"}},
		{"ollama", []string{"m does not support a.zip (application/zip, 4 bytes); not sent", "m does not support b.pdf (application/pdf, 4 bytes); not sent",
			"m does not support c.png by its address (image/png); not sent"}},
	} {
		r := &record{answers: []canned{{200, "text/event-stream", lines("stop", `{"content":"x"}`)}}}
		c := against(t, test.kind, "m", r, nil)
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{zip, pdf, far, note, zip}}}}
		if got := hear(t, c.Stream(t.Context(), req)); !slices.Equal(got.notices, test.want) {
			t.Errorf("%s: %q, want %q", test.kind, got.notices, test.want)
		}
		if got := hear(t, c.Stream(t.Context(), req)); len(got.notices) > 0 {
			t.Errorf("%s: told again: %q", test.kind, got.notices)
		}
	}
	for model, want := range map[string]string{"gpt-5": "application/pdf", "grok-4": ""} {
		if got := strings.Join(openai.ResponsesFamily.Traits(openai.Options{Model: model}).Files, " "); got != want {
			t.Errorf("%s: accepts %q, want %q", model, got, want)
		}
	}
	r, asked := respond("m", effortSteps(completed()))
	got := hear(t, r.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{zip}}}}))
	if want := []string{"m does not support a.zip (application/zip, 4 bytes); not sent"}; !slices.Equal(got.notices, want) || !strings.Contains(asked.last(t), "[file left out: a.zip") {
		t.Errorf("responses: %q, asked with %s", got.notices, asked.last(t))
	}
}

// TestRefusalsExplained checks that a service's reason for a refusal is passed on.
func TestRefusalsExplained(t *testing.T) {
	azure := func(finish, results string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"I "},"finish_reason":null,"content_filter_results":{}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `","content_filter_results":` + results + `}]}` + "\n\ndata: [DONE]\n\n"
	}
	const caught = `{"violence":{"filtered":true,"severity":"high"},"hate":{"filtered":false,"severity":"safe"}}`
	for _, test := range []struct {
		name, body string
		reason     llm.Reason
		want       string
	}{
		{"Azure", azure("content_filter", caught), llm.Refused, "refused: the provider's filter found violence (high)"},
		{"Azure, nothing", azure("stop", `{"hate":{"filtered":false,"severity":"safe"}}`), llm.Stop, ""},
		{"an upstream", `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"content_filter","native_finish_reason":"PROHIBITED_CONTENT"}]}` + "\n\n", llm.Refused,
			"refused: the model's provider says PROHIBITED_CONTENT"},
		{"an upstream with the same word", `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"content_filter","native_finish_reason":"content_filter"}]}` + "\n\n", llm.Refused, ""},
		{"GLM", lines("sensitive", `{"content":"x"}`), llm.Refused, ""},
		{"the model's own words", lines("stop", `{"refusal":"I will not."}`), llm.Refused, ""},
		{"words before them", lines("stop", `{"content":"Well. "}`, `{"refusal":"I will not."}`), llm.Stop, ""},
	} {
		got := hear(t, chat(t, "openai", "gpt-4o", test.body).Stream(t.Context(), llm.Request{}))
		if got.err != nil || got.finish.Reason != test.reason || strings.Join(got.notices, "; ") != test.want {
			t.Errorf("%s: %+v, %q, %v; want %s, %q", test.name, got.finish, got.notices, got.err, test.reason, test.want)
		}
	}
	done := effortSteps(`{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"content_filter"},"content_filters":` +
		`[{"blocked":false,"content_filter_results":{"hate":{"filtered":false}}},{"blocked":true,"content_filter_results":` + caught + `}]}}`)
	r, _ := respond("gpt-5", done)
	got := hear(t, r.Stream(t.Context(), llm.Request{}))
	if want := []string{"refused: the provider's filter found violence (high)"}; got.finish.Reason != llm.Refused || !slices.Equal(got.notices, want) {
		t.Errorf("responses: %+v, %q, %v", got.finish, got.notices, got.err)
	}
}

// TestMisspelled checks that output that Groq could not parse is recovered: a call in another form,
// an answer that is not quite JSON. Other output is a mistake, and requested again at a lower
// temperature.
func TestMisspelled(t *testing.T) {
	failed := func(code, generation string) string {
		return `{"error":{"message":"Failed.","type":"invalid_request_error","code":"` + code + `","failed_generation":` + quote(generation) + `}}`
	}
	warm, cold := 1.0, 0.1
	tools := []llm.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
	for _, test := range []struct {
		name   string
		req    llm.Request
		answer string
		want   string
		reason llm.Reason
		asked  int
		heat   any // of the last request
	}{
		{"a call in tags", llm.Request{Tools: tools}, failed("tool_use_failed", `<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>`), `made:read{"path":"a"}`, llm.Calls, 1, nil},
		{"a call of nothing we have", llm.Request{Tools: tools}, failed("tool_use_failed", `<tool_call>{"name":"rm","arguments":{}}</tool_call>`), "made:rm{}", llm.Calls, 1, nil}, // the session tells the model about it
		{"no call", llm.Request{Tools: tools, Settings: llm.Settings{Temperature: &warm}}, failed("tool_use_failed", "I cannot"), "fine", llm.Stop, 2, 0.2},
		{"no call, and cold already", llm.Request{Tools: tools, Settings: llm.Settings{Temperature: &cold}}, failed("tool_use_failed", "I cannot"), "fine", llm.Stop, 2, 0.1},
		{"almost JSON", llm.Request{AnswerSchema: city}, failed("json_validate_failed", `{"name":"Brno",}`), `{"name":"Brno",}`, llm.Stop, 1, nil},
		{"nothing", llm.Request{AnswerSchema: city}, failed("json_validate_failed", ""), "fine", llm.Stop, 2, 0.2},
	} {
		r := &record{answers: []canned{{400, "application/json", test.answer}, {200, "text/event-stream", lines("stop", `{"content":"fine"}`)}}}
		got := hear(t, retry.Wrap(against(t, "groq", "openai/gpt-oss-120b", r, nil), retry.Options{MaxRetries: 3}).Stream(t.Context(), test.req))
		parts := show(got.parts)
		if id, rest, ok := strings.Cut(parts, ":"); ok && strings.HasPrefix(id, "call_") {
			parts = "made:" + rest
		}
		if got.err != nil || parts != test.want || got.finish.Reason != test.reason || len(r.raw) != test.asked {
			t.Errorf("%s: %s, %+v, asked %d times, %v", test.name, parts, got.finish, len(r.raw), got.err)
		}
		if heat := r.bodies[len(r.bodies)-1]["temperature"]; heat != test.heat {
			t.Errorf("%s: temperature %v, want %v", test.name, heat, test.heat)
		}
	}
}

// TestMisspelledLate retries after an error in the stream, before any output was shown.
func TestMisspelledLate(t *testing.T) {
	r := &record{answers: []canned{
		{200, "text/event-stream", `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n" +
			`data: {"error":{"message":"Failed.","code":"tool_use_failed"}}` + "\n\n"},
		{200, "text/event-stream", lines("stop", `{"content":"fine"}`)},
	}}
	got := hear(t, retry.Wrap(against(t, "groq", "m", r, nil), retry.Options{MaxRetries: 3}).Stream(t.Context(), llm.Request{Tools: []llm.Tool{{Name: "f"}}}))
	if got.err != nil || show(got.parts) != "fine" || len(r.raw) != 2 {
		t.Errorf("%s, asked %d times, %v", show(got.parts), len(r.raw), got.err)
	}
	r = &record{answers: []canned{{200, "text/event-stream", event(`{"content":"half"}`, "") + `data: {"error":{"message":"Failed.","code":"tool_use_failed"}}` + "\n\n"}}}
	if got := hear(t, against(t, "groq", "m", r, nil).Stream(t.Context(), llm.Request{})); got.err == nil || len(r.raw) != 1 {
		t.Errorf("behind words: asked %d times, %v", len(r.raw), got.err)
	}
}

// TestOverrides replaces fields of a service's dialect with those of a table.
func TestOverrides(t *testing.T) {
	row, _ := openai.DialectFor("glm", "glm-4.7")
	if got, err := (openai.Override{}).Apply(row); err != nil || !reflect.DeepEqual(got, row) {
		t.Errorf("an empty table: %+v, %v", got, err)
	}
	o := openai.Override{
		"max_tokens_field": "max_completion_tokens", "reasoning_field": "reasoning", "reasoning_echo": "always", "empty_reasoning": true, "empty_content": false, "assistant_after_tools": true,
		"user_into_tool_result": false, "call_ids": "nine", "renamed_fields": map[string]any{"seed": "random_seed"}, "refused_settings": []any{"top_p"}, "stream_usage": false, "stream_with_tools": false,
		"positive_temperature": false, "pdfs": true, "inline_images": true, "cache_control": true, "tool_choices": "words", "answer_formats": []any{"guided_json"}, "strict_schemas": true,
		"cumulative_reasoning": true, "clean_text": true, "system_role": "developer", "effort_field": "think.level", "effort_words": []any{"no", "", "some", "some", "more", "most"},
		"budget_field": "think.tokens", "thinking_field": "think.on", "thinking_on": true, "thinking_off": false,
	}
	if keys := slices.Sorted(maps.Keys(o)); !slices.Equal(keys, openai.OverrideKeys()) {
		t.Errorf("keys %q, want %q", openai.OverrideKeys(), keys)
	}
	d, err := o.Apply(row)
	want := openai.Dialect{
		Name: "glm", MaxTokensField: "max_completion_tokens", ReasoningField: "reasoning", KeepsReasoningURL: "/coding/", AssistantAfterTools: true, IDs: openai.IDsNine, ToolFields: row.ToolFields, WebTool: row.WebTool,
		RenamedFields: map[string]string{"seed": "random_seed"}, NoStreamOptions: true, NoStreamWithTools: true, PDFs: true, InlineImagesOnly: true, CacheControl: true, ToolChoice: openai.ChoiceWords, Formats: []openai.Format{openai.FormatGuided},
		StrictSchemas: true, CumulativeReasoning: true,
		Rules: openai.Rules{Echo: openai.EchoAlways, EmptyReasoning: true, RefusedSettings: []string{"top_p"}, SystemRole: "developer", CleanText: true, Effort: openai.Effort{
			Field: "think.level", Words: [6]string{"no", "", "some", "some", "more", "most"}, BudgetField: "think.tokens", Switch: openai.Switch{Field: "think.on", On: "true", Off: "false"},
		}},
	}
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v, %v\nwant %+v", d, err, want)
	}
	if again, _ := openai.DialectFor("glm", "glm-4.7"); !reflect.DeepEqual(again, row) {
		t.Errorf("the row itself was changed: %+v", again)
	}
	plain, err := openai.Override{"reasoning_echo": "never", "call_ids": "short", "tool_choices": "all", "system_role": "system", "stream_usage": true, "stream_with_tools": true, "renamed_fields": map[string]any{},
		"effort_words": []any{"", "", "", "", "", ""}}.Apply(d)
	if err != nil || plain.Echo != "" || plain.IDs != "" || plain.ToolChoice != "" || plain.SystemRole != "" || plain.NoStreamOptions || plain.NoStreamWithTools || len(plain.RenamedFields) > 0 || plain.Effort.Words != [6]string{} {
		t.Errorf("the ordinary words: %+v, %v", plain, err)
	}
	for want, o := range map[string]openai.Override{
		`reasoning_echo: unknown "some"; there are never, calls, always, tags, parts`: {"reasoning_echo": "some"}, `call_ids: unknown "ten"`: {"call_ids": "ten"}, `tool_choices: unknown "auto"`: {"tool_choices": "auto"},
		`system_role: unknown "user"`: {"system_role": "user"}, `answer_formats: unknown "xml"`: {"answer_formats": []any{"xml"}},
		"effort_words: 2 words": {"effort_words": []any{"a", "b"}}, "thinking_field: missing": {"thinking_on": true}, "thinking_off": {"thinking_field": "x", "thinking_on": true},
		"pdfs: has to be true or false": {"pdfs": "yes"}, "stream_usage: has to be true or false": {"stream_usage": int64(1)}, "effort_field: has to be text": {"effort_field": true},
		"refused_settings: has to be a list of texts": {"refused_settings": "top_p"}, "renamed_fields: has to be a table of texts": {"renamed_fields": []any{"seed"}}, "effort_words: has to be a list of texts": {"effort_words": "low"},
	} {
		if _, err := o.Apply(openai.Dialect{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", o, err, want)
		}
	}
}

// TestEffortByOverride sends the effort in the configured spelling.
func TestEffortByOverride(t *testing.T) {
	d, err := openai.Override{"effort_field": "think.level", "effort_words": []any{"", "", "low", "low", "high", "high"}, "budget_field": "think.tokens",
		"thinking_field": "think.mode", "thinking_on": map[string]any{"type": "on"}, "thinking_off": "off"}.Apply(openai.Dialect{})
	if err != nil {
		t.Fatal(err)
	}
	c := openai.New(openai.Options{Model: "m", BaseURL: "http://mock.invalid/v1"}, d)
	for _, test := range []struct {
		req  llm.Request
		want string
	}{
		{llm.Request{}, `{}`},
		{llm.Request{Effort: llm.EffortOff}, `{"think":{"mode":"off"}}`},
		{llm.Request{Effort: llm.EffortMinimal}, `{"think":{"mode":{"type":"on"}}}`},
		{llm.Request{Effort: llm.EffortMax}, `{"think":{"level":"high"}}`},
		{llm.Request{Settings: llm.Settings{Budget: 5000}}, `{"think":{"mode":{"type":"on"},"tokens":5000}}`},
	} {
		if got := send(t, c, test.req).only("think"); got != test.want {
			t.Errorf("%s, %d: %s, want %s", test.req.Effort, test.req.Budget, got, test.want)
		}
	}
}

// TestMarks checks where the prompts of models at OpenRouter are marked for the cache: after the
// system prompt, and after the last two messages that are not the model's.
func TestMarks(t *testing.T) {
	const marked = `"cache_control":{"type":"ephemeral"}`
	call := func(id string) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "I look."}, {Kind: llm.Call, ID: id, Name: "f"}, {Kind: llm.Call, ID: id + "b", Name: "f"}}}
	}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Text: "r"}, {Kind: llm.Result, ID: id + "b", Text: "r"}}}
	}
	picture := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "look"}, {Kind: llm.Media, MIME: "image/png", Data: []byte("x")}}}
	for _, test := range []struct {
		name, kind, model string
		in                []llm.Message
		want              string // + for each marked message
	}{
		{"the first turn", "openrouter", "anthropic/claude-opus-5.5", []llm.Message{llm.UserText("hi")}, "++"},
		{"a long conversation", "openrouter", "anthropic/claude-opus-5.5", []llm.Message{llm.UserText("a"), {Role: llm.RoleAssistant, Parts: llm.UserText("b").Parts}, llm.UserText("c"),
			{Role: llm.RoleAssistant, Parts: llm.UserText("d").Parts}, llm.UserText("e")}, "+--+-+"},
		{"tools", "openrouter", "anthropic/claude-opus-5.5", []llm.Message{llm.UserText("a"), call("1"), result("1"), call("2"), result("2")}, "+---+--+"},
		{"a picture", "openrouter", "google/gemini-4-argon", []llm.Message{picture}, "++"},
		{"Qwen", "openrouter", "qwen/qwen3.8-max", []llm.Message{llm.UserText("hi")}, "++"},
		{"one that keeps prompts by itself", "openrouter", "openai/gpt-6-sol", []llm.Message{llm.UserText("hi")}, "--"},
		{"another service", "openai", "anthropic/claude-opus-5.5", []llm.Message{llm.UserText("hi")}, "--"},
	} {
		got := ""
		for _, m := range send(t, build(t, test.kind, test.model), llm.Request{System: "S", Messages: test.in}).Messages {
			switch body := text(m); {
			case strings.Count(body, marked) > 1:
				got += "?"
			case strings.Contains(body, marked) && m["role"] != "assistant":
				got += "+"
			default:
				got += "-"
			}
			if m["role"] == "assistant" && reflect.TypeOf(m["content"]).Kind() != reflect.String {
				t.Errorf("%s: the model's own words as a list: %v", test.name, m["content"])
			}
		}
		if want := strings.ReplaceAll(test.want, " ", ""); got != want {
			t.Errorf("%s: %s, want %s", test.name, got, want)
		}
	}
	r := &record{answers: []canned{{200, "text/event-stream", lines("stop", `{"content":"x"}`)}}}
	r.refuse = func(body string) (int, string) {
		if strings.Contains(body, "cache_control") {
			return 400, refusal("", "messages.0.content.0.cache_control: Extra inputs are not permitted")
		}
		return 0, ""
	}
	c := against(t, "openrouter", "anthropic/claude-opus-5.5", r, nil)
	for round := range 2 {
		got := hear(t, c.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}}))
		if got.err != nil || len(r.raw) != round+2 || (len(got.notices) == 1) != (round == 0) {
			t.Errorf("refused: asked %d times, %q, %v", len(r.raw), got.notices, got.err)
		}
	}
}

// TestRows checks the parts of a conversation that are special to one service.
func TestRows(t *testing.T) {
	at := func(kind, model, base string, body map[string]any) *openai.Chat {
		d, _ := openai.DialectFor(kind, model)
		return openai.New(openai.Options{Model: model, BaseURL: base, Body: body}, d)
	}
	thought := func(c *openai.Chat) []llm.Message {
		return []llm.Message{llm.UserText("a"),
			{Role: llm.RoleAssistant, Origin: c.Origin(), Parts: []llm.Part{{Kind: llm.Thinking, Text: "hm"}, {Kind: llm.Text, Text: "b"}}}, llm.UserText("c")}
	}
	for name, test := range map[string]struct {
		c    *openai.Chat
		want bool
	}{
		"GLM":                          {at("glm", "glm-5.3", "https://api.z.ai/api/paas/v4", nil), false},
		"GLM, coding plan":             {at("glm", "glm-5.3", "https://api.z.ai/api/coding/paas/v4", nil), true},
		"GLM, told so":                 {at("glm", "glm-5.3", "https://api.z.ai/api/paas/v4", map[string]any{"thinking": map[string]any{"clear_thinking": false}}), true},
		"GLM without thinking":         {at("glm", "glm-4-plus", "https://api.z.ai/api/coding/paas/v4", nil), false},
		"Qwen, told so":                {at("qwen", "qwen3.7-plus", "https://x.invalid", map[string]any{"preserve_thinking": true}), true},
		"another with such an address": {at("qwen", "qwen3.7-plus", "https://x.invalid/coding/v1", nil), false},
	} {
		if got := strings.Contains(text(send(t, test.c, llm.Request{Messages: thought(test.c)}).Messages), `"reasoning_content":"hm"`); got != test.want {
			t.Errorf("%s: thinking of an earlier turn goes back: %v, want %v", name, got, test.want)
		}
	}
	results := []llm.Message{llm.UserText("a"), {Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "1", Name: "f"}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "1", Text: "r"}}}, llm.UserText("hurry")}
	for kind, want := range map[string]string{"glm": "r\n\nhurry", "deepseek": "hurry"} {
		list := send(t, build(t, kind, "m"), llm.Request{Messages: results}).Messages
		if last := list[len(list)-1]; last["content"] != want {
			t.Errorf("%s: in the end %v", kind, last)
		}
	}
	if got := send(t, build(t, "glm", "m"), llm.Request{Messages: append(results[:3:3], llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "image/png", Data: []byte("x")}}})}).Messages; got[len(got)-1]["role"] != "user" {
		t.Errorf("glm: a picture went into a result: %v", got)
	}
	for model, want := range map[string]string{"qwen/qwen3-32b": `{"reasoning_format":"parsed"}`, "openai/gpt-oss-120b": `{}`, "llama-3.3-70b-versatile": `{}`} {
		if got := send(t, build(t, "groq", model), llm.Request{}).only("reasoning_format", "include_reasoning"); got != want {
			t.Errorf("groq, %s: %s, want %s", model, got, want)
		}
	}
	if got := send(t, build(t, "openrouter", "anthropic/claude-opus-5.5"), llm.Request{Effort: llm.EffortHigh, Settings: llm.Settings{Budget: 9000}}).only("reasoning", "thinking_budget"); got != `{"reasoning":{"max_tokens":9000}}` {
		t.Errorf("openrouter: a budget is %s", got)
	}
	own := map[string]any{"reasoning": map[string]any{"exclude": true}, "provider": map[string]any{"order": []any{"a"}}, "temperature": 0.3}
	if got := send(t, at("openrouter", "m", "http://mock.invalid", own), llm.Request{Effort: llm.EffortHigh, AnswerSchema: city}).only("reasoning", "provider", "temperature"); got !=
		`{"provider":{"order":["a"],"require_parameters":true},"reasoning":{"effort":"high","exclude":true},"temperature":0.3}` {
		t.Errorf("openrouter: the user's own fields come to %s", got)
	}
	penalty := 0.5
	if got := send(t, build(t, "qwen", "qwen3.8-max"), llm.Request{Settings: llm.Settings{FrequencyPenalty: &penalty, PresencePenalty: &penalty}}).only("frequency_penalty", "presence_penalty"); got != `{"presence_penalty":0.5}` {
		t.Errorf("qwen: penalties %s", got)
	}
}

// TestThinkingRefused uses another field if a switch for thinking is refused.
func TestThinkingRefused(t *testing.T) {
	for _, test := range []struct {
		name, model   string
		whole         bool
		effort        llm.Effort
		answer        string
		refused, want string
		notice        string
	}{
		{"cannot be switched off", "qwen3.8-max", false, llm.EffortOff, refusal("enable_thinking", "this model always thinks"), `"enable_thinking":false`, `"reasoning_effort":"low"`,
			"does not take enable_thinking"},
		{"only while it streams", "qwen3-32b", true, llm.EffortHigh, `{"error":{"message":"parameter.enable_thinking must be set to false for non-streaming calls"}}`, `"enable_thinking":true`, `"enable_thinking":false`,
			"thinks only while it streams"},
		{"only while it streams, and by default", "qwen3-32b", true, "", `{"error":{"message":"parameter.enable_thinking must be set to false for non-streaming calls"}}`, `{"messages":[]`, `"enable_thinking":false`,
			"thinks only while it streams"},
	} {
		r := &record{answers: []canned{{200, "text/event-stream", lines("stop", `{"content":"x"}`)}}}
		r.refuse = func(body string) (int, string) {
			if strings.Contains(body, test.refused) {
				return 400, test.answer
			}
			return 0, ""
		}
		c := against(t, "qwen", test.model, r, func(o *openai.Options, _ *openai.Dialect) { o.NoStream = test.whole })
		req := llm.Request{Effort: test.effort, Messages: []llm.Message{}}
		got := hear(t, c.Stream(t.Context(), req))
		if got.err != nil || !strings.Contains(r.last(t), test.want) || len(r.raw) != 2 || !strings.Contains(strings.Join(got.notices, "; "), test.notice) {
			t.Errorf("%s: asked %d times, at last %s; %q, %v", test.name, len(r.raw), r.last(t), got.notices, got.err)
		}
	}
}
