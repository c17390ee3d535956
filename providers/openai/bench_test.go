package openai

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// typical is a chunk as OpenAI sends it.
const typical = `data: {"id":"chatcmpl-BTpaPr0Ke5jg1W7TwZf3AkSEKEyNp","object":"chat.completion.chunk","created":1746470769,` +
	`"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_a6889ffe71","choices":[{"index":0,` +
	`"delta":{"content":" piece"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

const ending = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// produce reads body as the answer of a dialect that is tried hardest.
func produce(body io.Reader) func(context.Context, *llm.Out) error {
	return func(_ context.Context, out *llm.Out) error {
		return adapter.Read(body, out, &answer{answerState: answerState{out: out}, dialect: Dialect{CumulativeReasoning: true}})
	}
}

// readAll reads a stream and drops its events.
func readAll(body io.Reader) error {
	var failed error
	for _, err := range llm.Produce(context.Background(), produce(body)) {
		failed = err
	}
	return failed
}

// TestChunkAllocations is the gate for the cost of a chunk.
func TestChunkAllocations(t *testing.T) {
	const chunks = 1000
	stream := []byte(strings.Repeat(typical, chunks) + ending)
	per := testing.AllocsPerRun(5, func() {
		if err := readAll(bytes.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
	}) / chunks
	if per > 3 {
		t.Errorf("%.1f allocations for a chunk, want at most 3", per)
	}
}

func BenchmarkChunk(b *testing.B) {
	stream := io.MultiReader(&repeat{text: typical, left: b.N}, strings.NewReader(ending))
	b.ReportAllocs()
	if err := readAll(stream); err != nil {
		b.Fatal(err)
	}
}

// repeat reads as text, again and again.
type repeat struct {
	text string
	rest string
	left int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// FuzzAnswer checks that no bytes of a server break the reader: it ends, with a
// finish or an *llm.Error, calls have ids, and where the bytes were cut makes no
// difference.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		typical + ending,
		`{"choices":[{"message":{"content":"x","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}]}`,
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"id":"a","function":{"name":"g"}}]}}]}` + "\r\r" + ending,
		`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted","data":"d"}]}}]}` + "\n\n" + ending,
		`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"a"}]},{"type":"text","text":"b"}]}}],"usage":{"prompt_tokens":1e99}}` + "\n\n" + ending,
		"event: error\ndata: {\"error\":\"x\"}\n\n", "\ufeff: c\n\ndata:\ndata: [DONE]", `{"error":null,"base_resp":{"status_code":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, failed := run(t, produce(bytes.NewReader(data)))
		single, again := run(t, produce(oneByte{bytes.NewReader(data)}))
		if len(whole) != len(single) || (failed == nil) != (again == nil) {
			t.Errorf("%d parts, %v; byte by byte %d, %v", len(whole), failed, len(single), again)
		}
	})
}

// oneByte reads a byte at a time.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

func run(t *testing.T, f func(context.Context, *llm.Out) error) (parts []llm.Part, failed error) {
	var draft llm.Draft
	finished := false
	for e, err := range llm.Produce(t.Context(), f) {
		if err != nil {
			failed = err
			continue
		}
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Finish:
			finished = true
		}
	}
	if finished == (failed != nil) {
		t.Errorf("finished %t, error %v", finished, failed)
	}
	parts = draft.Complete()
	ids := map[string]bool{}
	for _, p := range parts {
		if finished && p.Kind == llm.Call && !p.Remote && (p.ID == "" || ids[p.ID]) {
			t.Errorf("id %q is empty or taken", p.ID)
		}
		ids[p.ID] = true
	}
	return parts, failed
}
