package anthropic_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/providers/anthropic"
	"parley/providers/llm"
)

const (
	vendor    = "https://api.anthropic.com"
	elsewhere = "http://mock.invalid/v1"
)

func build(base, model string) *anthropic.Model {
	return anthropic.New(anthropic.Options{Provider: "mock", Model: model, BaseURL: base, Key: "test-key"})
}

// fields returns a body that Stream would send.
func fields(t *testing.T, m *anthropic.Model, req llm.Request) map[string]json.RawMessage {
	t.Helper()
	data, err := m.Body(req)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// notices returns the notices before the request is sent.
func notices(t *testing.T, model string, req llm.Request) []string {
	t.Helper()
	m := anthropic.New(anthropic.Options{Model: model, BaseURL: vendor, HTTP: &http.Client{Transport: dead{}}})
	var list []string
	for e := range m.Stream(t.Context(), req) {
		if n, ok := e.(llm.Notice); ok {
			list = append(list, n.Text)
		}
	}
	for e := range m.Stream(t.Context(), req) {
		if n, ok := e.(llm.Notice); ok {
			t.Errorf("told again: %q", n.Text)
		}
	}
	return list
}

// dead is a network without a connection.
type dead struct{}

func (dead) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

// TestThinking checks the thinking fields of each generation, in the order of llm.Efforts: off,
// minimal, low, medium, high, max; the first entry is for a request without effort.
func TestThinking(t *testing.T) {
	const (
		disabled = `{"type":"disabled"}`
		adaptive = `{"type":"adaptive"}`
		shown    = `{"display":"summarized","type":"adaptive"}`
		between  = `{"type":"between_tools"}`
	)
	budget := func(n int) string { return fmt.Sprintf(`{"budget_tokens":%d,"type":"enabled"}`, n) }
	budgets := []string{"", disabled, budget(1024), budget(2048), budget(8192), budget(16384), budget(32000)}
	smaller := append(slices.Clone(budgets[:6]), budget(30976)) // the total output is 32000
	on := func(first, off, rest string) []string {
		return []string{first, off, rest, rest, rest, rest, rest}
	}
	words := func(list string) []string { return strings.Split(list, " ") }
	none := words("      ")
	for _, test := range []struct {
		models           string
		thinking, effort []string
	}{
		{"claude-3-haiku-20240307 claude-3-5-sonnet-20241022 claude-2.1", none, none},
		{"claude-3-7-sonnet@20250219 claude-sonnet-4-20250514 claude-sonnet-4-5 us.anthropic.claude-haiku-4-5-20251001-v1:0", budgets, none},
		{"claude-opus-4-20250514 claude-opus-4-1-20250805 anthropic/claude-opus-4.1", smaller, none},
		{"claude-opus-4-5 anthropic/claude-opus-4.5", budgets, words("  low low medium high high")},
		{"claude-opus-4-6 claude-sonnet-4-6", on("", disabled, adaptive), words("  low low medium high max")},
		{"claude-opus-4-7 claude-opus-4-8", on("", disabled, shown), words("  low low medium high max")},
		{"claude-sonnet-5 claude-opus-5 claude-haiku-5-5", on(shown, disabled, shown), words("  low low medium high max")},
		{"claude-sonnet-5-5 claude-sonnet-6", on(shown, between, shown), words(" low low low medium high max")},
		{"claude-opus-5-5 claude-fable-5 claude-fable-5-2 claude-mythos-5-1 claude-opus-latest claude-saga-7 claude-mythos-preview",
			on(shown, shown, shown), words(" low low low medium high max")},
		{"glm-5.3 kimi-k3 qwen3.8-max deepseek-r1", smaller, none},
	} {
		for model := range strings.FieldsSeq(test.models) {
			m := build(elsewhere, model)
			for i, effort := range append([]llm.Effort{""}, llm.Efforts...) {
				body := fields(t, m, llm.Request{Effort: effort, Messages: []llm.Message{llm.UserText("Hi")}})
				if got := string(body["thinking"]); got != test.thinking[i] {
					t.Errorf("%s, effort %q: thinking %s, want %s", model, effort, got, test.thinking[i])
				}
				var config struct{ Effort string }
				json.Unmarshal(body["output_config"], &config)
				if config.Effort != test.effort[i] {
					t.Errorf("%s, effort %q: effort %q, want %q", model, effort, config.Effort, test.effort[i])
				}
			}
		}
	}
}

// TestBudget checks the result of a thinking budget, also together with an output limit.
func TestBudget(t *testing.T) {
	for _, test := range []struct {
		model                string
		effort               llm.Effort
		budget, most         int
		thinking, max, notes string
	}{
		{"claude-sonnet-4-5", "", 5000, 0, `{"budget_tokens":5000,"type":"enabled"}`, "64000", ""},
		{"claude-sonnet-4-5", "", 100, 0, `{"budget_tokens":1024,"type":"enabled"}`, "64000", "thinking budget 100 set to 1024"},
		{"claude-sonnet-4-5", "high", 0, 4096, `{"budget_tokens":3072,"type":"enabled"}`, "4096", "thinking budget 16384 set to 3072"},
		{"claude-sonnet-4-5", "high", 0, 1500, `{"budget_tokens":1024,"type":"enabled"}`, "1500", "thinking budget 16384 set to 1024"},
		{"claude-sonnet-4-5", "high", 0, 1024, `{"type":"disabled"}`, "1024", "thinking is off: it needs more than 1024 output tokens"},
		{"claude-opus-4-6", "high", 3000, 0, `{"budget_tokens":3000,"type":"enabled"}`, "128000", ""},
		{"claude-opus-4-8", "", 3000, 0, `{"display":"summarized","type":"adaptive"}`, "128000", "claude-opus-4-8 takes no thinking budget, using effort low"},
		{"claude-opus-4-8", "high", 3000, 0, `{"display":"summarized","type":"adaptive"}`, "128000", ""},
		{"claude-opus-4-8", "off", 3000, 0, `{"type":"disabled"}`, "128000", ""},
		{"claude-haiku-3-5", "high", 0, 0, ``, "8192", "claude-haiku-3-5 has no reasoning; reasoning effort not sent"},
		{"claude-haiku-3-5", "off", 0, 0, ``, "8192", ""},
		{"claude-fable-5", "off", 0, 0, `{"display":"summarized","type":"adaptive"}`, "128000", "claude-fable-5 cannot turn thinking off, using low"},
		{"claude-sonnet-6", "off", 0, 0, `{"type":"between_tools"}`, "128000", "claude-sonnet-6 cannot turn thinking off, only before the first tool; using low"},
	} {
		req := llm.Request{Effort: test.effort, Settings: llm.Settings{Budget: test.budget, MaxTokens: test.most}}
		body := fields(t, build(elsewhere, test.model), req)
		if got := string(body["thinking"]); got != test.thinking {
			t.Errorf("%s %q %d of %d: thinking %s, want %s", test.model, test.effort, test.budget, test.most, got, test.thinking)
		}
		if got := string(body["max_tokens"]); got != test.max {
			t.Errorf("%s: max_tokens %s, want %s", test.model, got, test.max)
		}
		if got := strings.Join(notices(t, test.model, req), "; "); got != test.notes {
			t.Errorf("%s %q: told %q, want %q", test.model, test.effort, got, test.notes)
		}
	}
}

// TestSettings checks the fields of settings, and the notices about dropped ones.
func TestSettings(t *testing.T) {
	warm, hot, no, seed := 0.5, 1.5, false, int64(7)
	tools := []llm.Tool{{Name: "f"}}
	for _, test := range []struct {
		name, model string
		req         llm.Request
		want        string // fields but model, max_tokens, stream, messages, thinking, tools
		notes       string
	}{
		{"sampling", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{Temperature: &warm, TopP: &warm}}, `{"temperature":0.5,"top_p":0.5}`, ""},
		{"sampling beside thinking", "claude-sonnet-4-5", llm.Request{Effort: "low", Settings: llm.Settings{Temperature: &warm}}, `{}`,
			"claude-sonnet-4-5 does not support temperature while it thinks; not sent"},
		{"sampling without thinking", "claude-sonnet-4-6", llm.Request{Effort: "off", Settings: llm.Settings{TopP: &warm}}, `{"top_p":0.5}`, ""},
		{"sampling refused", "claude-opus-4-7", llm.Request{Settings: llm.Settings{Temperature: &warm, TopP: &warm}}, `{}`,
			"claude-opus-4-7 does not support temperature; not sent; claude-opus-4-7 does not support top_p; not sent"},
		{"too hot", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{Temperature: &hot}}, `{"temperature":1}`,
			"temperature 1.5 set to 1, the most claude-sonnet-4-5 takes"},
		{"of other formats", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{Seed: &seed, FrequencyPenalty: &warm, PresencePenalty: &warm, Verbosity: "low"}}, `{"system":[{"cache_control":{"type":"ephemeral"},"text":"Keep your answers short.","type":"text"}]}`,
			"claude-sonnet-4-5 does not support frequency_penalty; not sent; claude-sonnet-4-5 does not support presence_penalty; not sent; " +
				"claude-sonnet-4-5 does not support seed; not sent"},
		{"stop", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{Stop: []string{"END", "\n"}}}, `{"stop_sequences":["END"]}`, ""},
		{"user", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{User: "u1"}}, `{"metadata":{"user_id":"u1"}}`, ""},
		{"choice without tools", "claude-sonnet-4-5", llm.Request{Settings: llm.Settings{ToolChoice: "required"}}, `{}`, ""},
		{"required", "claude-sonnet-4-5", llm.Request{Tools: tools, Settings: llm.Settings{ToolChoice: "required"}}, `{"tool_choice":{"type":"any"}}`, ""},
		{"auto", "claude-sonnet-4-5", llm.Request{Tools: tools, Settings: llm.Settings{ToolChoice: "auto"}}, `{"tool_choice":{"type":"auto"}}`, ""},
		{"none", "claude-opus-5-5", llm.Request{Tools: tools, Settings: llm.Settings{ToolChoice: "none", Parallel: &no}}, `{"tool_choice":{"type":"none"}}`, ""},
		{"by name", "claude-opus-5", llm.Request{Tools: tools, Settings: llm.Settings{ToolChoice: "f"}}, `{"tool_choice":{"name":"f","type":"tool"}}`, ""},
		{"one by one", "claude-sonnet-4-5", llm.Request{Tools: tools, Settings: llm.Settings{Parallel: &no}}, `{"tool_choice":{"disable_parallel_tool_use":true,"type":"auto"}}`, ""},
		{"forced beside a budget", "claude-sonnet-4-5", llm.Request{Effort: "low", Tools: tools, Settings: llm.Settings{ToolChoice: "f"}}, `{"tool_choice":{"type":"auto"}}`,
			"claude-sonnet-4-5 cannot be made to call a tool while it thinks; the choice is its own"},
		{"forced, and refused", "claude-fable-5-1", llm.Request{Tools: tools, Settings: llm.Settings{ToolChoice: "required"}}, `{"tool_choice":{"type":"auto"}}`,
			"claude-fable-5-1 cannot be made to call a tool while it thinks; the choice is its own"},
		{"system", "claude-sonnet-4-5", llm.Request{System: "Be brief."}, `{"system":[{"cache_control":{"type":"ephemeral"},"text":"Be brief.","type":"text"}]}`, ""},
		{"blank system", "claude-sonnet-4-5", llm.Request{System: " \n"}, `{}`, ""},
		{"schema", "claude-sonnet-4-5", llm.Request{AnswerSchema: &llm.Schema{JSON: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}},
			`{"output_config":{"format":{"schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"type":"json_schema"}}}`, ""},
		{"schema by words", "claude-3-haiku", llm.Request{System: "Be brief.", AnswerSchema: &llm.Schema{JSON: json.RawMessage(`{"type":"object"}`)}},
			`{"system":[{"cache_control":{"type":"ephemeral"},"text":"Be brief.\n\nAnswer with one JSON value that fits this JSON Schema, and nothing else:\n\n{\"type\":\"object\"}","type":"text"}]}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := fields(t, build(elsewhere, test.model), test.req)
			for _, name := range []string{"model", "max_tokens", "stream", "messages", "thinking", "tools"} {
				delete(body, name)
			}
			if got, _ := json.Marshal(body); string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if got := strings.Join(notices(t, test.model, test.req), "; "); got != test.notes {
				t.Errorf("told %q, want %q", got, test.notes)
			}
		})
	}
}

// TestMessages checks the encoding of a history.
func TestMessages(t *testing.T) {
	const model = "claude-sonnet-4-5"
	origin := anthropic.Family.Traits(anthropic.Options{Model: model}).Origin
	signed := func(text string) llm.Part {
		return llm.Part{Kind: llm.Thinking, Text: text, State: json.RawMessage(`{"type":"thinking","thinking":"` + text + `","signature":"c2ln+/="}`)}
	}
	redacted := llm.Part{Kind: llm.Opaque, State: json.RawMessage(`{"type":"redacted_thinking","data":"ZGF0YQ=="}`)}
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	call := func(id, name, input string) llm.Part {
		return llm.Part{Kind: llm.Call, ID: id, Name: name, Input: input}
	}
	result := func(id, text string) llm.Part { return llm.Part{Kind: llm.Result, ID: id, Text: text} }
	own := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: origin, Parts: parts}
	}
	foreign := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: "elsewhere", Parts: parts}
	}
	tool := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleTool, Parts: parts} }
	png := llm.Part{Kind: llm.Media, ID: "a", Name: "p.png", MIME: "image/jpeg", Data: []byte("\x89PNG\r\n\x1a\n")}
	pngBlock := `{"source":{"data":"` + base64.StdEncoding.EncodeToString(png.Data) + `","media_type":"image/png","type":"base64"},"type":"image"}`
	searched := llm.Part{Kind: llm.Call, ID: "srv1", Name: "web_search", Remote: true, State: json.RawMessage(`{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"query":"x"}}`)}
	found := llm.Part{Kind: llm.Result, ID: "srv1", Remote: true, Text: "x", State: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srv1","content":[{"encrypted_content":"RW5j"}]}`)}

	const mark = `"cache_control":{"type":"ephemeral"},` // TestCacheMarks checks their positions
	hi := `{"content":[{"text":"Hi","type":"text"}],"role":"user"}`
	last := `{"content":[{"text":"Go on","type":"text"}],"role":"user"}`
	for _, test := range []struct {
		name     string
		messages []llm.Message
		want     []string
	}{
		{"signed thinking returns whole, in order, before the calls",
			[]llm.Message{llm.UserText("Hi"), own(signed("hm"), redacted, text("Let me look."), call("toolu_1", "read", `{"path":"a"}`)), tool(result("toolu_1", "A")), llm.UserText("Go on")},
			[]string{hi,
				`{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln+/="},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"text":"Let me look.","type":"text"},{"id":"toolu_1","input":{"path":"a"},"name":"read","type":"tool_use"}],"role":"assistant"}`,
				`{"content":[{"content":"A","tool_use_id":"toolu_1","type":"tool_result"},{"text":"Go on","type":"text"}],"role":"user"}`}},
		{"thinking without state, of others or cut, is left out",
			[]llm.Message{llm.UserText("Hi"), own(llm.Part{Kind: llm.Thinking, Text: "cut"}, text("So")), llm.UserText("Hi"), foreign(signed("theirs"), text("Well")), llm.UserText("Go on")},
			[]string{hi, `{"content":[{"text":"So","type":"text"}],"role":"assistant"}`, hi, `{"content":[{"text":"Well","type":"text"}],"role":"assistant"}`, last}},
		{"an answer of nothing but thinking is left out",
			[]llm.Message{llm.UserText("Hi"), own(signed("long")), llm.UserText("Go on")},
			[]string{`{"content":[{"text":"Hi","type":"text"},{"text":"Go on","type":"text"}],"role":"user"}`}},
		{"an answer that ends in thinking loses all of it",
			[]llm.Message{llm.UserText("Hi"), own(signed("one"), text("So"), signed("two")), llm.UserText("Go on")},
			[]string{hi, `{"content":[{"text":"So","type":"text"}],"role":"assistant"}`, last}},
		{"blank text is left out",
			[]llm.Message{llm.UserText("Hi"), own(signed("hm"), text("\n\n"), text("So")), llm.UserText(" "), llm.UserText("Go on")},
			[]string{hi, `{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln+/="},{"text":"So","type":"text"}],"role":"assistant"}`, last}},
		{"calls come last, with clean ids, no two the same, and objects as input",
			[]llm.Message{llm.UserText("Hi"), foreign(call("functions.read:0", "read", ""), text("One."), call("b", "read", "{bro")), tool(result("functions.read:0", "A"), result("b", "B")),
				foreign(call("b", "read", "null")), tool(result("b", "C")), llm.UserText("Go on")},
			[]string{hi,
				`{"content":[{"text":"One.","type":"text"},{"id":"toolu_c216cab2de2e56d547b4e634","input":{},"name":"read","type":"tool_use"},{"id":"b","input":{},"name":"read","type":"tool_use"}],"role":"assistant"}`,
				`{"content":[{"content":"A","tool_use_id":"toolu_c216cab2de2e56d547b4e634","type":"tool_result"},{"content":"B","tool_use_id":"b","type":"tool_result"}],"role":"user"}`,
				`{"content":[{"id":"toolu_41794772eab729f359e75420","input":{},"name":"read","type":"tool_use"}],"role":"assistant"}`,
				`{"content":[{"content":"C","tool_use_id":"toolu_41794772eab729f359e75420","type":"tool_result"},{"text":"Go on","type":"text"}],"role":"user"}`}},
		{"pictures stand inside results, but behind those that failed",
			[]llm.Message{llm.UserText("Hi"), foreign(call("a", "see", ""), call("c", "see", "")), tool(result("a", "A"), png, llm.Part{Kind: llm.Result, ID: "c", Failed: true}, png), llm.UserText("Go on")},
			[]string{hi,
				`{"content":[{"id":"a","input":{},"name":"see","type":"tool_use"},{"id":"c","input":{},"name":"see","type":"tool_use"}],"role":"assistant"}`,
				`{"content":[{"content":[{"text":"A","type":"text"},` + pngBlock + `],"tool_use_id":"a","type":"tool_result"},{"content":"(no output)","is_error":true,"tool_use_id":"c","type":"tool_result"},` +
					pngBlock + `,{"text":"Go on","type":"text"}],"role":"user"}`}},
		{"what the server's tools did returns as it came, in pairs only",
			[]llm.Message{llm.UserText("Hi"), own(searched, found, text("So"), llm.Part{Kind: llm.Source, URL: "https://x"}), llm.UserText("Hi"), own(searched, text("Well")), llm.UserText("Go on")},
			[]string{hi,
				`{"content":[{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srv1","content":[{"encrypted_content":"RW5j"}]},{"text":"So","type":"text"}],"role":"assistant"}`,
				hi, `{"content":[{"text":"Well","type":"text"}],"role":"assistant"}`, last}},
		{"text with citations returns with them",
			[]llm.Message{llm.UserText("Hi"), own(llm.Part{Kind: llm.Text, Text: "So", State: json.RawMessage(`{"type":"text","text":"So","citations":[{"encrypted_index":"RW5j"}]}`)}), llm.UserText("Go on")},
			[]string{hi, `{"content":[{"type":"text","text":"So","citations":[{"encrypted_index":"RW5j"}]}],"role":"assistant"}`, last}},
		{"files",
			[]llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.Media, Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}, {Kind: llm.Media, MIME: "image/png", URL: "https://x/y.png"},
				{Kind: llm.Media, Name: "a.go", MIME: "text/x-go", Data: []byte("package a")}, {Kind: llm.Media, Name: "b.tiff", MIME: "image/tiff", Data: []byte{0, 1}}}}},
			[]string{`{"content":[{"source":{"data":"JVBERg==","media_type":"application/pdf","type":"base64"},"title":"a.pdf","type":"document"},{"source":{"type":"url","url":"https://x/y.png"},"type":"image"},` +
				`{"text":"<file name=\"a.go\">\npackage a\n</file>","type":"text"},{"text":"[file left out: b.tiff, image/tiff, 2 bytes]","type":"text"}],"role":"user"}`}},
		{"the user has the first word and the last",
			[]llm.Message{foreign(text("Welcome. "))},
			[]string{`{"content":[{"text":"Go on.","type":"text"}],"role":"user"}`, `{"content":[{"text":"Welcome. ","type":"text"}],"role":"assistant"}`,
				`{"content":[{"text":"Go on.","type":"text"}],"role":"user"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []json.RawMessage
			if err := json.Unmarshal(fields(t, build(elsewhere, model), llm.Request{Messages: test.messages})["messages"], &got); err != nil {
				t.Fatal(err)
			}
			for i := range max(len(got), len(test.want)) {
				var g, w string
				if i < len(got) {
					g = strings.ReplaceAll(string(got[i]), mark, "")
				}
				if i < len(test.want) {
					w = test.want[i]
				}
				if g != w {
					t.Errorf("message %d\ngot  %s\nwant %s", i, g, w)
				}
			}
		})
	}
}

// TestCacheMarks checks that the four allowed marks come after the tools, the system prompt, and
// the last two user messages: after a step with many calls, the server's lookback does not reach
// the previous prefix from the last mark, but does from the one before.
func TestCacheMarks(t *testing.T) {
	calls := llm.Message{Role: llm.RoleAssistant}
	results := llm.Message{Role: llm.RoleTool}
	for i := range 30 {
		id := fmt.Sprint("c", i)
		calls.Parts = append(calls.Parts, llm.Part{Kind: llm.Call, ID: id, Name: "read", Input: "{}"})
		results.Parts = append(results.Parts, llm.Part{Kind: llm.Result, ID: id, Text: "x"})
	}
	req := llm.Request{System: "Be brief.", Tools: []llm.Tool{{Name: "list"}, {Name: "read"}}}
	marked := func(messages ...llm.Message) (at []string) {
		req.Messages = messages
		body := fields(t, build(elsewhere, "claude-sonnet-4-5"), req)
		type block struct {
			Mark json.RawMessage `json:"cache_control"`
		}
		add := func(name string, blocks []block) {
			for i, b := range blocks {
				if b.Mark != nil {
					at = append(at, fmt.Sprintf("%s %d of %d", name, i+1, len(blocks)))
				}
			}
		}
		var tools, system []block
		var list []struct{ Content []block }
		if err := errors.Join(json.Unmarshal(body["tools"], &tools), json.Unmarshal(body["system"], &system), json.Unmarshal(body["messages"], &list)); err != nil {
			t.Fatal(err)
		}
		add("tool", tools)
		add("system", system)
		for i, m := range list {
			add(fmt.Sprint("message ", i+1, ", block"), m.Content)
		}
		return at
	}
	hi := llm.UserText("Hi")
	for _, tt := range []struct {
		messages []llm.Message
		want     []string
	}{
		{[]llm.Message{hi}, []string{"message 1, block 1 of 1"}},
		{[]llm.Message{hi, calls, results}, []string{"message 1, block 1 of 1", "message 3, block 30 of 30"}},
		{[]llm.Message{hi, calls, results, calls, results}, []string{"message 3, block 30 of 30", "message 5, block 30 of 30"}},
	} {
		want := append([]string{"tool 2 of 2", "system 1 of 1"}, tt.want...)
		if got := marked(tt.messages...); !slices.Equal(got, want) {
			t.Errorf("marked %q, want %q", got, want)
		}
	}
}

// TestTools checks the encoding of tools, and that a history with calls is never sent without
// tools.
func TestTools(t *testing.T) {
	called := []llm.Message{llm.UserText("Hi"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "a", Name: "read", Input: "{}"}, {Kind: llm.Call, ID: "b", Name: "read", Input: "{}"}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "a"}, {Kind: llm.Result, ID: "b"}}}}
	long := strings.Repeat("x", 70)
	body := map[string]any{"tools": []map[string]any{{"type": "web_search_20250305", "name": "web_search"}}}
	const mark = `"cache_control":{"type":"ephemeral"},`
	for _, test := range []struct {
		name          string
		req           llm.Request
		body          map[string]any
		tools, choice string
	}{
		{"none", llm.Request{}, nil, ``, ``},
		{"the last one is marked", llm.Request{Tools: []llm.Tool{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "list"}}}, nil,
			`[{"description":"Reads.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"name":"read"},{` + mark + `"input_schema":{"type":"object","properties":{}},"name":"list"}]`, ``},
		{"names are shortened", llm.Request{Tools: []llm.Tool{{Name: long}}}, nil,
			`[{` + mark + `"input_schema":{"type":"object","properties":{}},"name":"` + long[:55] + `_c71bd109"}]`, ``},
		{"no choice at the root", llm.Request{Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage(`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`)}}}, nil,
			`[{` + mark + `"input_schema":{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"},"name":"f"}]`, ``},
		{"from the history", llm.Request{Messages: called}, nil,
			`[{` + mark + `"input_schema":{"type":"object","properties":{}},"name":"read"}]`, `{"type":"none"}`},
		{"beside the server's own", llm.Request{Tools: []llm.Tool{{Name: "list"}}}, body,
			`[{` + mark + `"input_schema":{"type":"object","properties":{}},"name":"list"},{"name":"web_search","type":"web_search_20250305"}]`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: elsewhere, Body: test.body})
			got := fields(t, m, test.req)
			if string(got["tools"]) != test.tools {
				t.Errorf("tools\ngot  %s\nwant %s", got["tools"], test.tools)
			}
			if string(got["tool_choice"]) != test.choice {
				t.Errorf("tool_choice %s, want %s", got["tool_choice"], test.choice)
			}
		})
	}
}

// TestLoop checks a running tool loop of a model with a thinking budget: it starts with thinking,
// or continues without.
func TestLoop(t *testing.T) {
	thought := llm.Part{Kind: llm.Thinking, State: json.RawMessage(`{"type":"thinking","thinking":"t","signature":"s"}`)}
	call := llm.Part{Kind: llm.Call, ID: "a", Name: "read", Input: "{}"}
	results := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "a", Text: "A"}}}
	for _, test := range []struct {
		name, model    string
		effort         llm.Effort
		first, second  []llm.Part // of the loop's messages
		thinking, sent string     // thinking type; number of times that thinking goes back
	}{
		{"opened by thinking", "claude-sonnet-4-5", "low", []llm.Part{thought, call}, []llm.Part{call}, "enabled", "1"},
		{"opened without", "claude-sonnet-4-5", "low", []llm.Part{call}, []llm.Part{thought, call}, "disabled", "0"},
		{"opened by text", "claude-sonnet-4-5", "low", []llm.Part{{Kind: llm.Text, Text: "So"}, thought, call}, []llm.Part{call}, "disabled", "0"},
		{"switched off within", "claude-sonnet-4-5", "off", []llm.Part{thought, call}, []llm.Part{thought, call}, "disabled", "0"},
		{"adaptive minds nothing", "claude-opus-4-8", "low", []llm.Part{call}, []llm.Part{thought, call}, "adaptive", "1"},
		{"over", "claude-sonnet-4-5", "low", []llm.Part{call}, []llm.Part{thought, {Kind: llm.Text, Text: "Done"}}, "enabled", "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			origin := anthropic.Family.Traits(anthropic.Options{Model: test.model}).Origin
			req := llm.Request{Effort: test.effort, Messages: []llm.Message{llm.UserText("Hi"),
				{Role: llm.RoleAssistant, Origin: origin, Parts: test.first}, results,
				{Role: llm.RoleAssistant, Origin: origin, Parts: test.second}}}
			if test.second[len(test.second)-1].Kind == llm.Call {
				req.Messages = append(req.Messages, results)
			}
			body := fields(t, build(elsewhere, test.model), req)
			var thinking struct{ Type string }
			json.Unmarshal(body["thinking"], &thinking)
			sent := fmt.Sprint(strings.Count(string(body["messages"]), `"type":"thinking"`))
			if thinking.Type != test.thinking || sent != test.sent {
				t.Errorf("thinking %s with %s blocks back, want %s with %s", thinking.Type, sent, test.thinking, test.sent)
			}
		})
	}
}

// TestFill checks that DeepSeek gets thinking with every call, even if empty.
func TestFill(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{llm.UserText("Hi"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "a", Name: "read"}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "a"}}}}}
	const empty = `[{"signature":"","thinking":"","type":"thinking"},{"id":"a"`
	for _, test := range []struct {
		model  string
		effort llm.Effort
		want   bool
	}{{"deepseek-v4-pro", "", true}, {"deepseek-v4-pro", "low", true}, {"deepseek-v4-pro", "off", false}, {"deepseek-r1", "", false}, {"claude-sonnet-4-5", "low", false}} {
		req.Effort = test.effort
		body := fields(t, build(elsewhere, test.model), req)
		if got := strings.Contains(string(body["messages"]), empty); got != test.want {
			t.Errorf("%s, effort %q: empty thinking %t, want %t", test.model, test.effort, got, test.want)
		}
	}
}

// asked is a network that records the request and sends no answer.
type asked struct{ *http.Request }

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.Request = r
	return nil, io.ErrUnexpectedEOF
}

// TestRequest checks the URL and headers: nothing is doubled, and betas and prefix binding are sent
// only to Anthropic's own host.
func TestRequest(t *testing.T) {
	const binding, interleaved = "thinking-binding-controls-2026-08-01", "interleaved-thinking-2025-05-14"
	const bound = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	t.Setenv("ANTHROPIC_API_KEY", "other-key")
	t.Setenv("ANTHROPIC_BASE_URL", "https://other.invalid")
	for _, test := range []struct {
		base, model      string
		effort           llm.Effort
		headers          map[string]string
		url, beta, token string
		bound            bool
	}{
		{vendor, "claude-opus-5-5", "", nil, vendor + "/v1/messages", binding, "", true},
		{vendor + "/v1", "claude-haiku-5-5", "high", nil, vendor + "/v1/messages", binding, "", true},
		{vendor, "claude-haiku-5-5", "off", nil, vendor + "/v1/messages", "", "", false},
		{vendor, "claude-opus-5", "high", nil, vendor + "/v1/messages", "", "", false},
		{vendor, "claude-sonnet-4-5", "high", map[string]string{"Anthropic-Beta": "mine"}, vendor + "/v1/messages", interleaved + ",mine", "", false},
		{"http://mock.invalid/v1/", "claude-opus-5-5", "high", nil, "http://mock.invalid/v1/messages", "", "Bearer test-key", false},
		{"https://api.z.ai/api/anthropic", "glm-5.3", "high", nil, "https://api.z.ai/api/anthropic/v1/messages", "", "Bearer test-key", false},
		{"http://mock.invalid", "m", "", map[string]string{"Authorization": "Bearer mine"}, "http://mock.invalid/v1/messages", "", "Bearer mine", false},
	} {
		var net asked
		m := anthropic.New(anthropic.Options{Model: test.model, BaseURL: test.base, Key: "test-key", Headers: test.headers, HTTP: &http.Client{Transport: &net}})
		req := llm.Request{Effort: test.effort, Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{{Name: "f"}}}
		for range m.Stream(t.Context(), req) {
		}
		body, err := io.ReadAll(net.Body)
		if err != nil {
			t.Fatal(err)
		}
		h := net.Header
		if net.Method != "POST" || net.URL.String() != test.url {
			t.Errorf("%s: %s %s, want %s", test.base, net.Method, net.URL, test.url)
		}
		if h.Get("X-Api-Key") != "test-key" || h.Get("Authorization") != test.token || h.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("%s: headers %v", test.base, h)
		}
		if got := strings.Join(h.Values("Anthropic-Beta"), ","); got != test.beta {
			t.Errorf("%s %s: betas %q, want %q", test.base, test.model, got, test.beta)
		}
		if got := strings.Contains(string(body), bound); got != test.bound {
			t.Errorf("%s %s: bound %t, want %t", test.base, test.model, got, test.bound)
		}
	}
}

// TestOverride checks that the user's own fields take precedence.
func TestOverride(t *testing.T) {
	m := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: elsewhere, NoStream: true,
		Body: map[string]any{"max_tokens": 7, "service_tier": "standard_only"}})
	body := fields(t, m, llm.Request{})
	if string(body["max_tokens"]) != "7" || string(body["service_tier"]) != `"standard_only"` || string(body["stream"]) != "false" {
		t.Errorf("body %s", body)
	}
	if got := fields(t, anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", NoStream: true}), llm.Request{})["max_tokens"]; string(got) != "21333" {
		t.Errorf("max_tokens of a whole answer %s", got)
	}
}
