package gemini_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley/providers/gemini"
	"parley/providers/llm"
)

const grounded = `{"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["go 1.27","go news"],"searchEntryPoint":{"renderedContent":"<div>"},` +
	`"groundingChunks":[{"web":{"uri":"https://vertexaisearch.example/1","title":"go.dev"}},{"web":{"uri":"https://vertexaisearch.example/2","title":"lwn.net"}},{"web":{"uri":"https://vertexaisearch.example/1","title":"go.dev"}}],` +
	`"groundingSupports":[{"segment":{"endIndex":3},"groundingChunkIndices":[1]}]}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}`

var groundedSources = []llm.Part{
	{Kind: llm.Source, URL: "https://vertexaisearch.example/1", Name: "go.dev"},
	{Kind: llm.Source, URL: "https://vertexaisearch.example/2", Name: "lwn.net"},
}

// TestWebSearch checks a web search, alone and together with functions, and the abilities of
// models.
func TestWebSearch(t *testing.T) {
	queries := llm.Part{Kind: llm.Call, ID: "google_search_1", Name: "google_search", Input: `{"queries":["go 1.27","go news"]}`, Remote: true}
	used := `{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","id":"t1","args":{"queries":["go 1.27"]}},"thoughtSignature":"c2ln"}`
	found := `{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","id":"t1","response":{}}}`
	shown := llm.Part{Kind: llm.Call, ID: "google_search_1", Name: "google_search", Input: `{"queries":["go 1.27"]}`, Remote: true}
	opaque := func(raw string) llm.Part { return llm.Part{Kind: llm.Opaque, State: json.RawMessage(raw)} }
	for _, test := range []struct {
		name, model string
		tools       []llm.Tool
		answer      reply
		sent        string // tools and their configuration
		parts       []llm.Part
		notice      string
		searches    int
	}{
		{"alone", "gemini-3.5-flash", nil, stream(text("Out"), grounded), `[{"googleSearch":{}}] null`,
			append([]llm.Part{said("Out.", ""), queries}, groundedSources...), "", 2},
		{"a prompt that pays once", "gemini-2.5-flash", nil, stream(text("Out"), grounded), `[{"googleSearch":{}}] null`,
			append([]llm.Part{said("Out.", ""), queries}, groundedSources...), "", 1},
		{"beside functions", "gemini-3.5-flash", []llm.Tool{{Name: "f"}}, stream(chunk(used), chunk(found), text("Out"), grounded),
			`[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","properties":{}}}]},{"googleSearch":{}}] {"includeServerSideToolInvocations":true}`,
			append([]llm.Part{shown, opaque(used), opaque(found), said("Out.", "")}, groundedSources...), "", 2},
		{"not beside functions", "gemini-2.5-pro", []llm.Tool{{Name: "f"}}, stream(text("Out"), finish("STOP")),
			`[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","properties":{}}}]}] null`,
			[]llm.Part{said("Out", "")}, "gemini-2.5-pro searches the web only where no tools are on offer; web search is off", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, test.answer)
			m := s.model(gemini.Options{Model: test.model})
			req := llm.Request{Settings: llm.Settings{Web: true}, Tools: test.tools, Messages: []llm.Message{llm.UserText("Hi")}}
			got := take(t, m.Stream(t.Context(), req))
			if got.err != nil || !reflect.DeepEqual(got.parts, test.parts) {
				t.Errorf("%v, got\n%+v\nwant\n%+v", got.err, got.parts, test.parts)
			}
			if got.usage.Searches != test.searches || strings.Join(got.notices, "") != test.notice {
				t.Errorf("%d searches, told %q", got.usage.Searches, got.notices)
			}
			var body map[string]json.RawMessage
			if err := json.Unmarshal([]byte(s.bodies[0]), &body); err != nil {
				t.Fatal(err)
			}
			config := string(body["toolConfig"])
			if config == "" {
				config = "null"
			}
			if sent := string(body["tools"]) + " " + config; sent != test.sent {
				t.Errorf("sent %s, want %s", sent, test.sent)
			}
			req.Messages, _ = llm.Portable(append(req.Messages, llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: got.parts}, llm.UserText("And?")), m.Origin())
			if got := take(t, m.Stream(t.Context(), req)); got.err != nil {
				t.Fatal(got.err)
			}
			if test.name == "beside functions" && !strings.Contains(s.bodies[1], used+","+found) {
				t.Errorf("goes back as %s", s.bodies[1])
			}
		})
	}
}

// TestWebRefused checks that a request refused because of the search is sent again without it.
func TestWebRefused(t *testing.T) {
	s := newServer(t, refusal(400, "Search Grounding is not supported."), stream(text("a"), finish("STOP")))
	got := take(t, s.model(gemini.Options{}).Stream(t.Context(), llm.Request{Settings: llm.Settings{Web: true}, Messages: []llm.Message{llm.UserText("Hi")}}))
	if got.err != nil || len(s.bodies) != 2 || strings.Contains(s.bodies[1], "googleSearch") || strings.Join(got.notices, "") != "gemini-3.5-flash does not search the web here; sent again without" {
		t.Errorf("%v, %q, %v", got.err, got.notices, s.bodies)
	}
}
