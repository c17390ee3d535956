package anthropic_test

import (
	"strings"
	"testing"

	"parley/providers/anthropic"
	"parley/providers/llm"
)

// TestWebSearch checks a web search from the request, across a pause, to the next request: text
// that the server splits around citations is one part, and goes back unchanged.
func TestWebSearch(t *testing.T) {
	cited := `{"type":"text","text":"Go 1.27","citations":[{"type":"web_search_result_location","url":"https://go.dev","title":"Go","cited_text":"1.27 is out","encrypted_index":"RW5j"}]}`
	again := `{"type":"text","text":" came in August","citations":[{"type":"web_search_result_location","url":"https://go.dev","title":"Go (2)","cited_text":"August"},{"type":"web_search_result_location","url":"https://go.dev/doc","title":"Notes"}]}`
	plain := func(text string) string { return `{"text":"` + text + `","type":"text"}` }
	paused := stream(opening(1), block(0, searchBlock), ending("pause_turn", 1))
	usage := `event: message_delta` + "\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1,"server_tool_use":{"web_search_requests":2}}}` + "\n\n" + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	done := stream(opening(1), block(0, foundBlock), block(1, plain("It is ")), block(2, cited), block(3, again), block(4, plain(".")), usage)
	base, asked := server(t, reply{body: paused}, reply{body: done}, reply{body: stream(opening(1), block(0, plain("Yes.")), ending("end_turn", 1))})
	m := connect(t, base, "claude-sonnet-4-5")
	req := llm.Request{Settings: llm.Settings{Web: true}, Tools: []llm.Tool{{Name: "read"}}, Messages: []llm.Message{llm.UserText("Hi")}}
	got := collect(m.Stream(t.Context(), req))
	if got.err != nil {
		t.Fatal(got.err)
	}
	texts := strings.Join([]string{plain("It is "), cited, again, plain(".")}, ",")
	want := `{"kind":"call","id":"srv1","name":"web_search","input":"{\"query\":\"go\"}","remote":true,"state":` + searchBlock + `}
{"kind":"result","text":"[1] Go https://go.dev","id":"srv1","name":"web_search","remote":true,"state":` + foundBlock + `}
{"kind":"text","text":"It is Go 1.27 came in August.","state":[` + texts + `]}
{"kind":"source","text":"1.27 is out","name":"Go","url":"https://go.dev"}
{"kind":"source","name":"Notes","url":"https://go.dev/doc"}`
	if s := show(got.parts); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	if got.usage.Searches != 2 {
		t.Errorf("%d searches", got.usage.Searches)
	}
	if body := asked()[0]; !strings.Contains(body, `"type":"web_search_20250305"`) || !strings.Contains(body, `"name":"read"`) {
		t.Errorf("offers %s", body)
	}
	if body := asked()[1]; !strings.Contains(body, `{"content":[`+searchBlock+`],"role":"assistant"}]`) {
		t.Errorf("behind the pause goes %s", body)
	}
	history := []llm.Message{llm.UserText("Hi"), {Role: llm.RoleAssistant, Origin: m.Origin(), Parts: got.parts}, llm.UserText("Sure?")}
	req.Messages, _ = llm.Portable(history, m.Origin())
	if got := collect(m.Stream(t.Context(), req)); got.err != nil {
		t.Fatal(got.err)
	}
	if body := asked()[2]; !strings.Contains(body, searchBlock+","+foundBlock+","+texts) {
		t.Errorf("goes back as %s", body)
	}
	foreign, _ := llm.Portable(history, "other")
	if said := foreign[1].Text(); !strings.Contains(said, "[1] Go https://go.dev") || !strings.Contains(said, "[sources: [1] Go https://go.dev; [2] Notes https://go.dev/doc]") || strings.Contains(said, "RW5j") {
		t.Errorf("another provider gets %q", said)
	}
}

// TestWebRefused checks that a request refused because of the search is sent again without it.
func TestWebRefused(t *testing.T) {
	m, asked := picky(t, anthropic.Options{Model: "claude-sonnet-4-5"}, func(body map[string]any) string {
		if strings.Contains(text(body["tools"]), "web_search") {
			return "tools.0: web_search is not enabled for this organization"
		}
		return ""
	})
	req := llm.Request{Settings: llm.Settings{Web: true}, Messages: []llm.Message{llm.UserText("Hi")}}
	got := collect(m.Stream(t.Context(), req))
	if got.err != nil || len(got.told) != 1 || got.told[0] != "claude-sonnet-4-5 does not search the web here; sent again without" {
		t.Errorf("%v, told %q", got.err, got.told)
	}
	if got := collect(m.Stream(t.Context(), req)); got.err != nil || len(asked()) != 3 {
		t.Errorf("%v, %d requests", got.err, len(asked()))
	}
}

// TestWebSearchVersion checks that the newest version of the search is used where it is documented, and
// called only by the model: a search from code that stops for a local tool cannot be continued.
func TestWebSearchVersion(t *testing.T) {
	const first, newest = `{"cache_control":{"type":"ephemeral"},"name":"web_search","type":"web_search_20250305"}`, `{"allowed_callers":["direct"],"cache_control":{"type":"ephemeral"},"name":"web_search","type":"web_search_20260318"}`
	for _, test := range []struct{ base, model, want string }{
		{vendor, "claude-opus-5-5", newest}, {vendor, "claude-sonnet-4-6", newest}, {vendor, "claude-mythos-preview", newest},
		{vendor, "claude-haiku-4-5-20251001", first}, {vendor, "claude-opus-4-5", first}, {vendor, "claude-3-7-sonnet-20250219", first},
		{"https://europe-west1-aiplatform.googleapis.com", "claude-opus-5-5", first}, {"https://r.services.ai.azure.com/anthropic", "claude-opus-5-5", first},
		{elsewhere, "claude-opus-5-5", first},
	} {
		m := anthropic.New(anthropic.Options{Model: test.model, BaseURL: test.base})
		got := string(fields(t, m, llm.Request{Settings: llm.Settings{Web: true}, Tools: []llm.Tool{{Name: "read"}}, Messages: []llm.Message{llm.UserText("Hi")}})["tools"])
		if !strings.HasSuffix(got, ","+test.want+"]") {
			t.Errorf("%s at %s: %s, want %s", test.model, test.base, got, test.want)
		}
	}
}

// TestSearchesWeb checks where Claude can search the web.
func TestSearchesWeb(t *testing.T) {
	for base, want := range map[string]bool{
		"https://api.anthropic.com": true, "https://r.services.ai.azure.com/anthropic": true, "https://openrouter.ai/api": true,
		"https://bedrock-mantle.us-east-1.api.aws/anthropic": false, "https://bedrock-runtime.us-east-1.amazonaws.com": false,
	} {
		if got := anthropic.Family.Traits(anthropic.Options{BaseURL: base, Model: "claude-opus-5-5"}).SearchesWeb; got != want {
			t.Errorf("%s: %v", base, got)
		}
	}
	if anthropic.Family.Traits(anthropic.Options{BaseURL: "https://api.z.ai/api/anthropic", Model: "glm-5.3"}).SearchesWeb {
		t.Error("a copy of the format searches")
	}
}

// TestWholeInput: some services send the arguments of a call at once, as a string with the object,
// or as another value. They are preserved, and the tool reports the error.
func TestWholeInput(t *testing.T) {
	for input, want := range map[string]string{
		`"{\"path\":\"\\u00e4\"}"`: `{"path":"\u00e4"}`, `["x"]`: `["x"]`, `"x"`: `x`, `""`: `{}`, `null`: `{}`, `{}`: `{}`, `{"id":9007199254740993}`: `{"id":9007199254740993}`,
	} {
		base, _ := server(t, reply{body: stream(opening(1), block(0, `{"type":"tool_use","id":"a","name":"read","input":`+input+`}`), ending("tool_use", 1))})
		got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{}))
		if got.err != nil || len(got.parts) != 1 || got.parts[0].Input != want {
			t.Errorf("%s: %s, %v, want %s", input, show(got.parts), got.err, want)
		}
	}
}

// TestBlankPause: white space before a search is refused if it would be the only text.
func TestBlankPause(t *testing.T) {
	paused := stream(opening(1), block(0, `{"type":"text","text":"\n\n"}`), block(1, searchBlock), ending("pause_turn", 1))
	base, asked := server(t, reply{body: paused}, reply{body: stream(opening(1), block(0, foundBlock), block(1, `{"type":"text","text":"Yes."}`), ending("end_turn", 1))})
	got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}))
	if body := asked()[1]; got.err != nil || !strings.Contains(body, `{"content":[`+searchBlock+`],"role":"assistant"}]`) {
		t.Errorf("%v, behind the pause goes %s", got.err, body)
	}
}
