package openai_test

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
)

const searchedItem = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go 1.27","queries":["go 1.27"],"sources":[{"type":"url","url":"https://go.dev/blog/go1.27"},{"type":"url","url":"https://go.dev/doc"}]}}`

// searched is an answer as Responses streams it: a search, an opened page, and text with citations.
var searched = []string{
	`{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress","action":{"type":"search","query":"go 1.27"}}}`,
	`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}`,
	`{"type":"response.output_item.done","output_index":0,"item":` + searchedItem + `}`,
	`{"type":"response.output_item.done","output_index":1,"item":` + openedItem + `}`,
	`{"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":"Out now."}`,
	`{"type":"response.output_item.done","output_index":2,"item":` + citingItem + `}`,
	`{"type":"response.completed","response":{"id":"resp_1","model":"m-1","status":"completed","output":[` + searchedItem + `,` + openedItem + `,` + citingItem + `],"usage":{"input_tokens":9,"output_tokens":4}}}`,
}

const (
	openedItem = `{"id":"ws_2","type":"web_search_call","status":"completed","action":{"type":"open_page","url":"https://go.dev/doc"}}`
	citingItem = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Out now.","annotations":[` +
		`{"type":"url_citation","url":"https://go.dev/doc","title":"Notes","start_index":0,"end_index":3},{"type":"url_citation","url":"https://go.dev/blog/go1.27","title":"Go 1.27"},{"type":"url_citation","url":"https://go.dev/doc","title":"Notes"}]}]}`
)

// TestResponsesWeb checks a web search with Responses from the request to the next one, and the
// parts that go to another provider.
func TestResponsesWeb(t *testing.T) {
	for _, model := range []string{"gpt-6-sol", "grok-4.7"} {
		r, asked := respond(model, effortSteps(searched...))
		req := llm.Request{Settings: llm.Settings{Web: true}, Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{llm.UserText("Hi")}}
		parts, _, usage, err := collect(t, r.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		body := asked.last(t)
		if n := strings.Count(body, `{"type":"web_search"}`); n != 1 {
			t.Errorf("%s: %d searches are offered: %s", model, n, body)
		}
		if got := strings.Contains(body, "web_search_call.action.sources"); got != (model != "grok-4.7") {
			t.Errorf("%s: sources asked for %v", model, got)
		}
		var got []string
		for _, p := range parts {
			got = append(got, strings.Join([]string{string(p.Kind), p.ID, p.Name, p.Input, p.Text, p.URL}, " "))
		}
		const want = `call ws_1 web_search {"type":"search","query":"go 1.27"}  
result ws_1 web_search  [1] https://go.dev/blog/go1.27
[2] https://go.dev/doc 
call ws_2 web_search {"type":"open_page","url":"https://go.dev/doc"}  
text    Out now. 
source  Notes   https://go.dev/doc
source  Go 1.27   https://go.dev/blog/go1.27`
		if said := strings.Join(got, "\n"); said != want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", model, said, want)
		}
		if usage.Searches != 1 {
			t.Errorf("%s: %d searches counted; opening a page is free", model, usage.Searches)
		}
		history := []llm.Message{llm.UserText("Hi"), {Role: llm.RoleAssistant, Origin: r.Origin(), Parts: parts}}
		req.Messages, _ = llm.Portable(history, r.Origin())
		if _, _, _, err := collect(t, r.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if body, items := asked.last(t), searchedItem+","+openedItem+","+citingItem; !strings.Contains(body, items) {
			t.Errorf("%s: came back as %s", model, body)
		}
		foreign, _ := llm.Portable(history, "other")
		if said := foreign[1].Text(); !strings.Contains(said, "[sources: [1] Notes https://go.dev/doc; [2] Go 1.27 https://go.dev/blog/go1.27]") || !strings.Contains(said, `"query":"go 1.27"`) {
			t.Errorf("another provider gets %q", said)
		}
	}
}

// TestWebRefused checks that a refused search is dropped from this and later requests.
func TestWebRefused(t *testing.T) {
	refusal := canned{400, "application/json", `{"error":{"message":"Hosted tool 'web_search' is not supported with gpt-4.1-nano.","type":"invalid_request_error","param":"tools","code":null}}`}
	r := &record{answers: []canned{refusal, {200, "text/event-stream", effortSteps(completed(itemText))}}}
	m := openai.NewResponses(openai.Options{Provider: "mock", Model: "gpt-4.1-nano", BaseURL: "http://mock.invalid/v1", HTTP: r.client()})
	req := llm.Request{Settings: llm.Settings{Web: true}, Messages: []llm.Message{llm.UserText("Hi")}}
	if notices := told(m.Stream(t.Context(), req)); len(notices) != 1 || notices[0] != "gpt-4.1-nano does not search the web here; sent again without" {
		t.Errorf("told %q", notices)
	}
	if _, _, _, err := collect(t, m.Stream(t.Context(), req)); err != nil || len(r.raw) != 3 {
		t.Fatal(err, len(r.raw))
	}
	for i, body := range r.raw {
		if got := strings.Contains(body, "web_search"); got != (i == 0) {
			t.Errorf("request %d: %s", i, body)
		}
	}
}

// TestWebEffort raises the lowest effort, with which the service does not search.
func TestWebEffort(t *testing.T) {
	r := openai.NewResponses(openai.Options{Model: "gpt-5", BaseURL: "http://mock.invalid/v1", Body: map[string]any{"tools": []any{map[string]any{"type": "web_search", "search_context_size": "low"}}}})
	got := sentBy(t, r, llm.Request{Effort: llm.EffortMinimal, Settings: llm.Settings{Web: true}})
	if effort := got["reasoning"].(map[string]any)["effort"]; effort == "minimal" {
		t.Errorf("effort %v", effort)
	}
	if tools := text(got["tools"]); tools != `[{"search_context_size":"low","type":"web_search"}]` {
		t.Errorf("the user's own search is %s", tools)
	}
}

// TestGrok uses Responses for web searches, and chat completions otherwise; each accepts the
// other's history.
func TestGrok(t *testing.T) {
	chat := sse(`{"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}`)
	r := &record{answers: []canned{{200, "text/event-stream", effortSteps(searched...)}, {200, "text/event-stream", chat}, {200, "text/event-stream", effortSteps(searched...)}}}
	d, _ := openai.DialectFor("grok", "grok-4.7")
	g := openai.NewGrok(openai.Options{Provider: "mock", Model: "grok-4.7", BaseURL: "http://mock.invalid/v1", HTTP: r.client()}, d)
	req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}
	for i, web := range []bool{true, false, true} {
		req.Web = web
		parts, _, _, err := collect(t, g.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "/responses", false: "/chat/completions"}[web]
		if !strings.HasSuffix(r.urls[i], want) {
			t.Errorf("request %d went to %s", i, r.urls[i])
		}
		req.Messages, _ = llm.Portable(append(req.Messages, llm.Message{Role: llm.RoleAssistant, Origin: g.Origin(), Parts: parts}, llm.UserText("And?")), g.Origin())
	}
	if !strings.Contains(r.raw[1], "Out now.") || strings.Contains(r.raw[1], "ws_1") {
		t.Errorf("chat completions get %s", r.raw[1])
	}
	if !strings.Contains(r.raw[2], searchedItem) || !strings.Contains(r.raw[2], "hello") {
		t.Errorf("Responses get %s", r.raw[2])
	}
}
