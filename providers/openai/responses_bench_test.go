package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// typicalEvent is an event as OpenAI sends it.
const typicalEvent = "event: response.output_text.delta\n" +
	`data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_04041325ab8ae30400698c51c5468c8197a395f18875a5339f",` +
	`"output_index":0,"content_index":0,"delta":" piece","logprobs":[],"obfuscation":"nWru1sTmaAzi9O"}` + "\n\n"

const lastEvent = `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"

func produceItems(body io.Reader) func(context.Context, *llm.Out) error {
	return func(_ context.Context, out *llm.Out) error {
		return adapter.Read(body, out, &responsesAnswer{answerState: answerState{out: out}})
	}
}

// TestEventAllocations bounds the cost of an event.
func TestEventAllocations(t *testing.T) {
	const events = 1000
	stream := []byte(strings.Repeat(typicalEvent, events) + lastEvent)
	per := testing.AllocsPerRun(5, func() {
		if err := adaptertest.Drain(produceItems(bytes.NewReader(stream))); err != nil {
			t.Fatal(err)
		}
	}) / events
	if per > 11 {
		t.Errorf("%.1f allocations for an event, want at most 11", per)
	}
}

func BenchmarkEvent(b *testing.B) {
	stream := io.MultiReader(&adaptertest.Repeat{Text: typicalEvent, Left: b.N}, strings.NewReader(lastEvent))
	b.ReportAllocs()
	if err := adaptertest.Drain(produceItems(stream)); err != nil {
		b.Fatal(err)
	}
}

// FuzzOutput checks that no server bytes break the reader: it ends with a finish or an *llm.Error,
// calls have ids, the split of the bytes does not matter, and all received items can go back.
func FuzzOutput(f *testing.F) {
	r := NewResponses(Options{Model: "m", BaseURL: "http://mock.invalid"})
	adaptertest.Fuzz(f, produceItems, false, func(t *testing.T, parts []llm.Part) {
		body, err := r.Body(llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: parts}}})
		if err != nil || !json.Valid(body) {
			t.Errorf("%v: %s", err, body)
		}
	},
		typicalEvent+lastEvent,
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f"}}`+"\r\r"+
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}`+"\n\n"+lastEvent,
		`{"status":"completed","output":[{"type":"reasoning","encrypted_content":"g","summary":[{"text":"a"}]},{"type":"message","content":[{"text":"b"}]},{"type":"function_call","name":"f","arguments":{"a":1}}]}`,
		`data: {"type":"response.output_item.done","item":{"type":"web_search_call","id":"w","action":{}}}`+"\n\n"+lastEvent,
		`data: {"type":"response.output_item.done","output_index":-9,"item":{"type":"image_generation_call","result":"AA=="}}`+"\n\n"+lastEvent,
		`data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1e99}}}`+"\n\n",
		"event: error\ndata: {\"error\":\"x\"}\n\n", `{"error":null}`, "data: [DONE]",
		`{"status":"completed","output":[{"type":"custom_tool_call","id":"c","name":"g"},{"type":"function_call","call_id":"c","name":"f"}]}`, // an id twice
	)
}
