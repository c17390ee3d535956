package anthropic

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
	"parley/providers/wire"
)

// typical is a delta as Anthropic sends it.
const typical = "event: content_block_delta\n" +
	`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" piece"}            }` + "\n\n"

const ending = "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}` + "\n\n" +
	"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"

// produce reads body as an answer.
func produce(body io.Reader) func(context.Context, *llm.Out) error {
	return func(_ context.Context, out *llm.Out) error {
		a := answer{out: out}
		err := adapter.Read(body, out, &a)
		if err == nil && a.isPaused() {
			a.nextRound()
			return wire.ErrInterrupted
		}
		return err
	}
}

// TestDeltaAllocations bounds the cost of a delta.
func TestDeltaAllocations(t *testing.T) {
	const deltas = 1000
	stream := []byte(strings.Repeat(typical, deltas) + ending)
	per := testing.AllocsPerRun(5, func() {
		if err := adaptertest.Drain(produce(bytes.NewReader(stream))); err != nil {
			t.Fatal(err)
		}
	}) / deltas
	if per > 15 {
		t.Errorf("%.1f allocations for a delta, want at most 15", per)
	}
}

func BenchmarkDelta(b *testing.B) {
	stream := []byte(strings.Repeat(typical, b.N) + ending)
	b.ReportAllocs()
	b.ResetTimer()
	if err := adaptertest.Drain(produce(bytes.NewReader(stream))); err != nil {
		b.Fatal(err)
	}
}

// FuzzAnswer checks that no server bytes break the reader: it ends with a finish or an error, calls
// have unique ids, every State is JSON, and the split of the bytes does not matter.
func FuzzAnswer(f *testing.F) {
	open := `data: {"type":"content_block_start","index":0,"content_block":`
	adaptertest.Fuzz(f, produce, true, written,
		typical+ending,
		`{"content":[{"type":"thinking","thinking":"\ud83d","signature":"x"},{"type":"tool_use","name":"f","input":{"a":1}},5,null],"stop_reason":"tool_use"}`,
		open+`{"type":"thinking"}}`+"\n\n"+`data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"\u00"}}`+"\n\n"+ending,
		open+`{"type":"tool_use","id":"a"}}`+"\n\n"+open+`{"type":"tool_use","id":"a"}}`+"\n\n"+`data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a"}}`+"\n\n"+ending,
		open+`{"type":"web_search_tool_result","content":[{"title":1,"content":{"content":["x"]}}]}}`+"\n\n"+ending,
		open+`{"type":"text"}}`+"\n\n"+`data: {"type":"content_block_delta","delta":{"type":"citations_delta","citation":{"url":"u"}}}`+"\n\n"+ending,
		"event: error\ndata: {\"error\":\"x\"}\n\n", "\ufeff: c\n\ndata:\ndata: [DONE]\n\n", `{"content":[],"stop_reason":"pause_turn"}`,
		`data: {"type":"message_start","message":{"usage":{"input_tokens":"many","output_tokens":1e400}}}`+"\n\n"+ending,
	)
}

// written checks that all received parts can be sent back.
func written(t *testing.T, parts []llm.Part) {
	m := New(Options{Model: "m"})
	if _, err := m.Body(llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: parts}}}); err != nil {
		t.Errorf("%v in %+v", err, parts)
	}
}
