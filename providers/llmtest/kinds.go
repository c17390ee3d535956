package llmtest

import (
	"strings"
	"testing"

	"parley/providers/llm"
)

// A Way is an output for the parts of an answer.
type Way string

// Values of Way.
const (
	Screen   Way = "screen"
	Plain    Way = "plain lines"
	Text     Way = "-o text" // both outputs, with --thinking
	JSON     Way = "-o json"
	JSONL    Way = "-o jsonl"
	ACP      Way = "ACP"
	Markdown Way = "export as Markdown"
	HTML     Way = "export as HTML"
	Request  Way = "next request" // to another provider
)

// A KindRow holds a part of a kind and its text in every output; "" for none.
type KindRow struct {
	Part llm.Part
	Has  map[Way]string
}

// Kinds has a row for each kind of part. An answer with all of them ends with a call of a
// nonexistent tool.
var Kinds = []KindRow{
	{llm.Part{Kind: llm.Thinking, Text: "a-thought"}, map[Way]string{
		Screen: "∴ thought", Plain: "Thinking…", Text: "Thinking: a-thought", JSON: `"thinking":"a-thought"`, JSONL: `{"type":"thinking","text":"a-thought"}`,
		ACP: "a-thought", Markdown: "a-thought", HTML: "a-thought", Request: ""}},
	{llm.Part{Kind: llm.Text, Text: "some-words"}, map[Way]string{
		Screen: "some-words", Plain: "some-words", Text: "some-words", JSON: `"text":"some-words`, JSONL: `{"type":"text","text":"some-words"}`,
		ACP: "some-words", Markdown: "some-words", HTML: "some-words", Request: "some-words"}},
	{llm.Part{Kind: llm.Source, Name: "A page", URL: "https://a.example/page"}, map[Way]string{
		Screen: "[1] A page https://a.example/page", Plain: "Source [1] A page https://a.example/page", Text: "[1] A page https://a.example/page",
		JSON: `"sources":[{"number":1,"title":"A page","url":"https://a.example/page"}]`, JSONL: `"sources":[{"number":1,"title":"A page","url":"https://a.example/page"}]`,
		ACP: "https://a.example/page", Markdown: "[A page](<https://a.example/page>)", HTML: "https://a.example/page", Request: "[1] A page https://a.example/page"}},
	{llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\nimage")}, map[Way]string{
		Screen: "image/png", Plain: "image/png", Text: "Image saved: made.png", JSON: `"images":[{"mime":"image/png","path":"made.png"}]`, JSONL: `{"type":"image","mime":"image/png","path":"made.png"}`,
		ACP: "iVBORw0KGgppbWFnZQ==", Markdown: "image (image/png, 13 bytes)", HTML: "data:image/png;base64,iVBORw0KGgppbWFnZQ==", Request: "data:image/png;base64,iVBORw0KGgppbWFnZQ=="}},
	{llm.Part{Kind: llm.Opaque, State: []byte(`{"secret":"a-state"}`)}, map[Way]string{
		Screen: "", Plain: "", Text: "", JSON: "", JSONL: "", ACP: "", Markdown: "", HTML: "", Request: ""}},
	{llm.Part{Kind: llm.Call, ID: "c1", Name: "look", Input: `{"q":"x"}`}, map[Way]string{
		Screen: "look", Plain: "look", Text: `look {"q":"x"}`, JSON: `"name":"look","arguments":{"q":"x"}`, JSONL: `{"type":"tool_call","id":"c1","name":"look","arguments":{"q":"x"}}`,
		ACP: "look", Markdown: "Tool: look", HTML: "<code>look</code>", Request: `"name":"look"`}},
	{llm.Part{Kind: llm.Result, ID: "c1", Name: "look", Failed: true, Text: "look is no tool"}, map[Way]string{
		Screen: "look", Plain: "look", Text: "look failed: ", JSON: `"is_error":true`, JSONL: `{"type":"tool_result","id":"c1","name":"look",`,
		ACP: "failed", Markdown: "Failed", HTML: "Failed", Request: `"tool_call_id":`}},
}

// KindsTurns answers with the parts of Kinds and, after the result of the call, with a few words.
func KindsTurns() []Turn {
	var events []llm.Event
	for _, row := range Kinds {
		if row.Part.Kind != llm.Result { // added by parley
			events = append(events, llm.Delta{Block: string(row.Part.Kind), Part: row.Part})
		}
	}
	return []Turn{Script(append(events, llm.Finish{Reason: llm.Calls})...), Say("The end.")}
}

// KindsHistory is a conversation with those parts.
func KindsHistory() []llm.Message {
	answer := llm.Message{Role: llm.RoleAssistant, Origin: "fake", Model: "fake/m"}
	result := llm.Message{Role: llm.RoleTool}
	for _, row := range Kinds {
		if row.Part.Kind == llm.Result {
			result.Parts = append(result.Parts, row.Part)
		} else {
			answer.Parts = append(answer.Parts, row.Part)
		}
	}
	return []llm.Message{llm.UserText("hi"), answer, result}
}

// CheckKinds checks each kind of part in the output way.
func CheckKinds(t *testing.T, way Way, got string) {
	t.Helper()
	for _, row := range Kinds {
		switch want, ok := row.Has[way]; {
		case !ok:
			t.Errorf("%s: the row of %s says nothing", way, row.Part.Kind)
		case want == "" && strings.Contains(got, "a-state"), !strings.Contains(got, want):
			t.Errorf("%s of %s: want %q in\n%s", way, row.Part.Kind, want, got)
		}
	}
}
