package openai_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/openai"
)

// TestResponsesBody holds whole requests.
func TestResponsesBody(t *testing.T) {
	tool := llm.Tool{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)}
	hello := []llm.Message{llm.UserText("Hello")}
	warm, parallel := 0.5, false
	answer := func(schema string) *llm.Schema { return &llm.Schema{Name: "out", JSON: json.RawMessage(schema)} }
	const input = `"input":[{"content":"Hello","role":"user","type":"message"}]`
	for _, test := range []struct {
		name, model, base string
		req               llm.Request
		want              string
		notices           []string
	}{
		{name: "OpenAI", model: "gpt-6.1-sol", base: "https://api.openai.com/v1",
			req: llm.Request{System: "Be brief.", Messages: hello, Tools: []llm.Tool{tool}, Effort: llm.EffortHigh, Session: "s"},
			want: `{"include":["reasoning.encrypted_content"],` + input + `,"instructions":"Be brief.","model":"gpt-6.1-sol",` +
				`"prompt_cache_key":"043a718774c572bd8a25adbeb1bfcd5c","reasoning":{"effort":"high","summary":"auto"},"store":false,"stream":true,` +
				`"tools":[{"description":"Reads a file.","name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false},"strict":false,"type":"function"}]}`},
		{name: "nothing chosen", model: "gpt-6.1-sol", req: llm.Request{Messages: hello, Session: "s"},
			want: `{"include":["reasoning.encrypted_content"],` + input + `,"model":"gpt-6.1-sol","reasoning":{"summary":"auto"},"store":false,"stream":true}`},
		{name: "a model that cannot think", model: "gpt-4o", req: llm.Request{Messages: hello, Effort: llm.EffortHigh, Settings: llm.Settings{Temperature: &warm, TopP: &warm}},
			want:    `{` + input + `,"model":"gpt-4o","store":false,"stream":true,"temperature":0.5,"top_p":0.5}`,
			notices: []string{"gpt-4o has no reasoning-effort setting that is known; not sent"}},
		{name: "an unknown model", model: "my-deployment", base: "https://me.openai.azure.com/openai/v1", req: llm.Request{Messages: hello, Effort: llm.EffortMax, Session: "s"},
			want: `{"include":["reasoning.encrypted_content"],` + input + `,"model":"my-deployment","prompt_cache_key":"043a718774c572bd8a25adbeb1bfcd5c","reasoning":{"effort":"high"},"store":false,"stream":true}`},
		{name: "a model whose switch is chat's", model: "zai-org/glm-4.7-flash", req: llm.Request{Messages: hello, Effort: llm.EffortOff},
			want: `{"include":["reasoning.encrypted_content"],` + input + `,"model":"zai-org/glm-4.7-flash","reasoning":{"effort":"none"},"store":false,"stream":true}`},
		{name: "what reasoning models refuse", model: "gpt-6-sol", req: llm.Request{Messages: hello, Tools: []llm.Tool{{Name: "f"}}, Settings: llm.Settings{
			MaxTokens: 5, Temperature: &warm, FrequencyPenalty: &warm, Seed: new(int64), Stop: []string{"END"}, User: "u", Verbosity: "low", ToolChoice: "f", Parallel: &parallel}},
			want: `{"include":["reasoning.encrypted_content"],` + input + `,"max_output_tokens":16,"model":"gpt-6-sol","parallel_tool_calls":false,"reasoning":{"summary":"auto"},` +
				`"safety_identifier":"u","store":false,"stream":true,"text":{"format":{"type":"text"},"verbosity":"low"},"tool_choice":{"name":"f","type":"function"},` +
				`"tools":[{"name":"f","parameters":{"type":"object","properties":{}},"strict":false,"type":"function"}]}`,
			notices: []string{"gpt-6-sol takes no limit below 16 tokens, using that", "gpt-6-sol does not support temperature; not sent",
				"gpt-6-sol does not support frequency_penalty; not sent", "gpt-6-sol does not support seed; not sent", "gpt-6-sol does not support stop; not sent"}},
		{name: "without thinking, sampling is free", model: "gpt-6-sol", req: llm.Request{Messages: hello, Effort: llm.EffortOff, Settings: llm.Settings{Temperature: &warm}},
			want: `{"include":["reasoning.encrypted_content"],` + input + `,"model":"gpt-6-sol","reasoning":{"effort":"none","summary":"auto"},"store":false,"stream":true,"temperature":0.5}`},
		{name: "no verbosity before 5", model: "o3", req: llm.Request{Messages: hello, Effort: llm.EffortOff, Settings: llm.Settings{Verbosity: "low", ToolChoice: "required"}},
			want:    `{"include":["reasoning.encrypted_content"],` + input + `,"instructions":"Keep your answers short.","model":"o3","reasoning":{"effort":"low","summary":"auto"},"store":false,"stream":true}`,
			notices: []string{"o3 cannot turn thinking off, using low"}},
		{name: "a budget becomes an effort", model: "gpt-5.4", req: llm.Request{Messages: hello, Effort: llm.EffortMax, Settings: llm.Settings{Budget: 9000}},
			want:    `{"include":["reasoning.encrypted_content"],` + input + `,"model":"gpt-5.4","reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true}`,
			notices: []string{"gpt-5.4 takes no thinking budget in tokens, using effort medium"}},
		{name: "xAI", model: "grok-4.7", base: "https://api.x.ai/v1", req: llm.Request{System: "Be brief.", Messages: hello, Tools: []llm.Tool{tool}, Session: "s", Settings: llm.Settings{User: "u"}},
			want: `{"include":["reasoning.encrypted_content"],"input":[{"content":"Be brief.","role":"system","type":"message"},{"content":"Hello","role":"user","type":"message"}],` +
				`"model":"grok-4.7","prompt_cache_key":"043a718774c572bd8a25adbeb1bfcd5c","store":false,"stream":true,` +
				`"tools":[{"description":"Reads a file.","name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"strict":false,"type":"function"}],"user":"u"}`},
		{name: "an answer that can be strict", model: "gpt-4o", req: llm.Request{Messages: hello, AnswerSchema: answer(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)},
			want: `{` + input + `,"model":"gpt-4o","store":false,"stream":true,"text":{"format":{"name":"out",` +
				`"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"strict":true,"type":"json_schema"}}}`},
		{name: "an answer that cannot", model: "gpt-4o", req: llm.Request{Messages: hello, AnswerSchema: answer(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`)},
			want: `{` + input + `,"model":"gpt-4o","store":false,"stream":true,"text":{"format":{"name":"out",` +
				`"schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]},"strict":false,"type":"json_schema"}}}`},
		{name: "nothing at all", model: "gpt-4o", want: `{"input":[],"model":"gpt-4o","store":false,"stream":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport := &record{}
			r := openai.NewResponses(openai.Options{Model: test.model, BaseURL: test.base, HTTP: transport.client()})
			body, err := r.Body(test.req)
			if err != nil || string(body) != test.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, body, test.want)
			}
			if notices := told(r.Stream(t.Context(), test.req)); !slices.Equal(notices, test.notices) {
				t.Errorf("notices %q, want %q", notices, test.notices)
			}
		})
	}
}

// told lists the notices of a stream.
func told(s llm.Stream) (notices []string) {
	for e := range s {
		if n, ok := e.(llm.Notice); ok {
			notices = append(notices, n.Text)
		}
	}
	return notices
}

// TestResponsesOptions checks that the user's configured fields take precedence and are merged with
// those of the request.
func TestResponsesOptions(t *testing.T) {
	r := openai.NewResponses(openai.Options{Model: "gpt-6-sol", BaseURL: "http://mock.invalid/v1", NoStream: true, Body: map[string]any{
		"service_tier": "flex", "reasoning": map[string]any{"summary": "detailed"}, "include": []any{"web_search_call.action.sources"},
		"tools": []any{map[string]any{"type": "web_search"}}, "store": true,
	}})
	for range 2 { // merging must not modify the options
		got := sentBy(t, r, llm.Request{Effort: llm.EffortLow, Tools: []llm.Tool{{Name: "f"}}})
		delete(got, "input")
		const want = `{"include":["reasoning.encrypted_content","web_search_call.action.sources"],"model":"gpt-6-sol","reasoning":{"effort":"low","summary":"detailed"},` +
			`"service_tier":"flex","store":true,"stream":false,"tools":[{"name":"f","parameters":{"properties":{},"type":"object"},"strict":false,"type":"function"},{"type":"web_search"}]}`
		if text(got) != want {
			t.Errorf("got  %s\nwant %s", text(got), want)
		}
	}
}

func sentBy(t *testing.T, m model, req llm.Request) map[string]any {
	t.Helper()
	data, err := m.Body(req)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestResponsesHistory checks the items of an encoded history. Own marks messages of this model.
func TestResponsesHistory(t *testing.T) {
	state := func(kind llm.Kind, raw string) llm.Part { return llm.Part{Kind: kind, State: json.RawMessage(raw)} }
	thought := state(llm.Thinking, `{"type":"reasoning","id":"rs_1","encrypted_content":"gA+/==","summary":[{"text":"a \u003c b"}],"odd":1.50}`)
	silent := state(llm.Opaque, `{"type":"reasoning","id":"rs_2","encrypted_content":"gB","summary":[]}`)
	lost := state(llm.Opaque, `{"type":"reasoning","id":"rs_3","summary":[]}`)
	said := state(llm.Text, `{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"ok"}]}`)
	said.Text = "ok"
	call := state(llm.Call, `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"x\": 1}"}`)
	call.ID, call.Name, call.Input = "call_1", "f", `{"x": 1}`
	search := state(llm.Call, `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`)
	search.ID, search.Name, search.Remote = "ws_1", "web_search", true
	result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "call_1", Name: "f", Text: "42"}}}
	own := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: "responses/gpt-6-sol", Parts: parts}
	}
	alien := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: "chat/openai/gpt-6-sol", Parts: parts}
	}
	bare := func(p llm.Part) llm.Part { p.State = nil; return p }
	with := func(p llm.Part, change func(*llm.Part)) llm.Part { change(&p); return p }
	const plainCall = `{"arguments":"{\"x\":1}","call_id":"call_1","name":"f","type":"function_call"}`
	again := func(id string) string { return "call_" + adapter.Hash(id)[:24] }
	renamed := func(id string) string { return strings.Replace(plainCall, "call_1", again(id), 1) }
	const output = `{"call_id":"call_1","output":"42","type":"function_call_output"}`
	for _, test := range []struct {
		name string
		in   []llm.Message
		want string
	}{
		{"own items, as they came and in order", []llm.Message{own(thought, said, silent, call), result},
			string(thought.State) + "," + string(said.State) + "," + string(silent.State) + "," + string(call.State) + "," + output},
		{"what others wrote", []llm.Message{alien(bare(said), bare(call)), result},
			`{"content":"ok","role":"assistant","type":"message"},` + plainCall + "," + output},
		{"state of others is not looked at", []llm.Message{alien(thought, said, call), result},
			`{"content":"ok","role":"assistant","type":"message"},` + plainCall + "," + output},
		{"an answer that broke off", []llm.Message{own(llm.Part{Kind: llm.Thinking, Text: "hm"}, bare(said))}, `{"content":"ok","role":"assistant","type":"message"}`},
		{"without its reasoning nothing has an id", []llm.Message{own(lost, said, call), result},
			`{"content":"ok","phase":"commentary","role":"assistant","type":"message"},` + plainCall + "," + output},
		{"but what came before it has", []llm.Message{own(said, lost, call), result}, string(said.State) + "," + plainCall + "," + output},
		{"reasoning that led to nothing", []llm.Message{own(said, thought, silent)}, string(said.State)},
		{"only reasoning", []llm.Message{own(thought)}, ""},
		{"text that a filter cleaned", []llm.Message{own(thought, with(said, func(p *llm.Part) { p.Text = "o" }), call), result},
			string(thought.State) + `,{"content":"o","phase":"commentary","role":"assistant","type":"message"},` + string(call.State) + "," + output},
		{"a call that got another id", []llm.Message{own(with(call, func(p *llm.Part) { p.ID = "made" })), {Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "made"}}}},
			`{"arguments":"{\"x\":1}","call_id":"made","name":"f","type":"function_call"},{"call_id":"made","output":"(no output)","type":"function_call_output"}`},
		{"ids that a server began anew, of others and of its own", []llm.Message{alien(bare(call)), result, alien(bare(call), with(bare(call), func(p *llm.Part) { p.ID = "call_2" })), {Role: llm.RoleTool, Parts: []llm.Part{
			{Kind: llm.Result, ID: "call_2", Text: "two"}, {Kind: llm.Result, ID: "call_1", Text: "one"}}}, own(thought, call), result},
			plainCall + "," + output + "," + renamed("call_1#2") + "," + strings.Replace(plainCall, "call_1", "call_2", 1) +
				`,{"call_id":"call_2","output":"two","type":"function_call_output"},{"call_id":"` + again("call_1#2") + `","output":"one","type":"function_call_output"},` +
				renamed("call_1#3") + "," + strings.Replace(output, "call_1", again("call_1#3"), 1)},
		{"arguments that cannot be parsed", []llm.Message{own(llm.Part{Kind: llm.Call, ID: "call_1", Name: "f", Input: `{"x`,
			State: json.RawMessage(`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"x"}`)}), result},
			`{"arguments":"{}","call_id":"call_1","name":"f","type":"function_call"},` + output},
		{"a name that no tool can have", []llm.Message{own(thought, llm.Part{Kind: llm.Call, ID: "call_1", Name: "functions.f", Input: `{"x":1}`,
			State: json.RawMessage(`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"functions.f","arguments":"{\"x\":1}"}`)}), result},
			string(thought.State) + `,{"arguments":"{\"x\":1}","call_id":"call_1","name":"functions_f_986775d0","type":"function_call"},` + output},
		{"tools of the provider's", []llm.Message{own(thought, search, llm.Part{Kind: llm.Result, ID: "ws_1", Remote: true, Text: "found"}, llm.Part{Kind: llm.Source, URL: "https://x"}, said)},
			string(thought.State) + "," + string(search.State) + "," + string(said.State)},
		{"and without their reasoning", []llm.Message{own(lost, search, said)}, `{"content":"ok","phase":"commentary","role":"assistant","type":"message"}`},
		{"reasoning of open models", []llm.Message{own(state(llm.Thinking, `{"type":"reasoning","id":"rs_4","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`), call), result},
			`{"type":"reasoning","id":"rs_4","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},` + string(call.State) + "," + output},
		{"garbage", []llm.Message{own(state(llm.Opaque, `[1]`), state(llm.Text, `"x"`), state(llm.Opaque, `{"a"`), bare(said))}, `{"content":"ok","role":"assistant","type":"message"}`},
		{"results with images, and long ids", []llm.Message{
			alien(llm.Part{Kind: llm.Call, ID: strings.Repeat("x", 80), Name: "mcp.shot"}),
			{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: strings.Repeat("x", 80), Text: "here"}, {Kind: llm.Media, ID: strings.Repeat("x", 80), MIME: "image/png", Data: []byte("png")}}}},
			`{"arguments":"{}","call_id":"call_d929cdeea7e6a0f46b59448d","name":"mcp_shot_99a63732","type":"function_call"},` +
				`{"call_id":"call_d929cdeea7e6a0f46b59448d","output":[{"text":"here","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,cG5n","type":"input_image"}],"type":"function_call_output"}`},
		{"images and files", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
			{Kind: llm.Text, Text: "What?"}, {Kind: llm.Media, MIME: "image/png", URL: "https://x/y.png"}, {Kind: llm.Media, MIME: "application/pdf", Name: "p.pdf", Data: []byte("%PDF")}}}},
			`{"content":[{"text":"What?","type":"input_text"},{"detail":"auto","image_url":"https://x/y.png","type":"input_image"},` +
				`{"file_data":"data:application/pdf;base64,JVBERg==","filename":"p.pdf","type":"input_file"}],"role":"user","type":"message"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := openai.NewResponses(openai.Options{Model: "gpt-6-sol", BaseURL: "http://mock.invalid/v1"})
			body, err := r.Body(llm.Request{Messages: test.in})
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Input json.RawMessage }
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if want := "[" + test.want + "]"; string(got.Input) != want {
				t.Errorf("got  %s\nwant %s", got.Input, want)
			}
		})
	}
}
