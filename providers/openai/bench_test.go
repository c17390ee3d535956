package openai

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// typical is a chunk as OpenAI sends it.
const typical = `data: {"id":"chatcmpl-BTpaPr0Ke5jg1W7TwZf3AkSEKEyNp","object":"chat.completion.chunk","created":1746470769,` +
	`"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_a6889ffe71","choices":[{"index":0,` +
	`"delta":{"content":" piece"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

const ending = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// produce reads body as an answer in the most demanding dialect.
func produce(body io.Reader) func(context.Context, *llm.Out) error {
	return func(_ context.Context, out *llm.Out) error {
		return adapter.Read(body, out, &answer{answerState: answerState{out: out}, dialect: Dialect{CumulativeReasoning: true}})
	}
}

// TestChunkAllocations bounds the cost of a chunk.
func TestChunkAllocations(t *testing.T) {
	const chunks = 1000
	stream := []byte(strings.Repeat(typical, chunks) + ending)
	per := testing.AllocsPerRun(5, func() {
		if err := adaptertest.Drain(produce(bytes.NewReader(stream))); err != nil {
			t.Fatal(err)
		}
	}) / chunks
	if per > 3 {
		t.Errorf("%.1f allocations for a chunk, want at most 3", per)
	}
}

func BenchmarkChunk(b *testing.B) {
	stream := io.MultiReader(&adaptertest.Repeat{Text: typical, Left: b.N}, strings.NewReader(ending))
	b.ReportAllocs()
	if err := adaptertest.Drain(produce(stream)); err != nil {
		b.Fatal(err)
	}
}

// FuzzAnswer checks that no server bytes break the reader: it ends with a finish or an *llm.Error,
// calls have ids, and the split of the bytes does not matter.
func FuzzAnswer(f *testing.F) {
	adaptertest.Fuzz(f, produce, false, nil,
		typical+ending,
		`{"choices":[{"message":{"content":"x","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}]}`,
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"id":"a","function":{"name":"g"}}]}}]}`+"\r\r"+ending,
		`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted","data":"d"}]}}]}`+"\n\n"+ending,
		`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"a"}]},{"type":"text","text":"b"}]}}],"usage":{"prompt_tokens":1e99}}`+"\n\n"+ending,
		"event: error\ndata: {\"error\":\"x\"}\n\n", "\ufeff: c\n\ndata:\ndata: [DONE]", `{"error":null,"base_resp":{"status_code":1}}`,
	)
}
