package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// typical is a chunk as Google sends it.
const typical = `data: {"candidates": [{"content": {"parts": [{"text": " piece of text"}],"role": "model"},"index": 0}],` +
	`"usageMetadata": {"promptTokenCount": 29,"candidatesTokenCount": 15,"totalTokenCount": 89,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 29}],` +
	`"thoughtsTokenCount": 45},"modelVersion": "gemini-3-pro-preview","responseId": "b36LacjwM668nsEP2tbsgQQ"}` + "\r\n\r\n"

const ending = `data: {"candidates": [{"finishReason": "STOP"}]}` + "\r\n\r\n"

// produce reads body as an answer.
func produce(body io.Reader) llm.Stream {
	return llm.Produce(context.Background(), func(_ context.Context, out *llm.Out) error {
		a := answer{out: out}
		err := adapter.Read(body, out, &a)
		if err == nil {
			a.finishAnswer()
		}
		return err
	})
}

// drain reads a stream and drops its events.
func drain(body io.Reader) (failed error) {
	for _, failed = range produce(body) {
	}
	return failed
}

// readAll decodes the body of a response into events. Calls without ids get a fixed one, and errors
// are returned as text.
func readAll(body io.Reader) (list []llm.Event, failed string) {
	for e, err := range produce(body) {
		if err != nil {
			return list, err.Error()
		}
		if d, ok := e.(llm.Delta); ok {
			if strings.HasPrefix(d.ID, generatedIDPrefix) {
				d.ID = generatedIDPrefix
			}
			d.State = bytes.Clone(d.State)
			e = d
		}
		list = append(list, e)
	}
	return list, ""
}

// FuzzRead checks that for any server bytes, reading ends, does not depend on how they are split,
// and gives a valid message.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		typical + ending,
		"data: [DONE]", "\ufeff: c\r\rdata:{}\n\n", "{}", "[]", "[,]", "[[]]", `[{"error":{}}]`, "{}{}", "data: null\n\n",
		`data: {"candidates":[{"content":{"parts":[null,1,{},{"functionCall":{}},{"text":null},{"thoughtSignature":""}]}}]}`,
		`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}},{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"x"},{"jsonPath":"$[","boolValue":true},{"jsonPath":"$.a","nullValue":null}]}}]},"finishReason":"STOP"}]}`,
		`[{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"a","data":"!"}},{"executableCode":{}}]},"finishReason":"CONTINUATION","continuationToken":"x"}]}]`,
		`data: {"candidates":[{"content":{"parts":[{},{},{"text":5}]}}],"Candidates":[{"content":{"Parts":[{"a":{}}]},"content":null},{}]}`,
		`{"promptFeedback":{"blockReason":"X"},"usageMetadata":{"promptTokenCount":-1e99}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, failed := readAll(bytes.NewReader(body))
		cut, failedCut := readAll(iotest.OneByteReader(bytes.NewReader(body)))
		if !reflect.DeepEqual(list, cut) || failed != failedCut {
			t.Errorf("in one piece %+v (%s)\nin bytes %+v (%s)", list, failed, cut, failedCut)
		}
		var draft llm.Draft
		for _, e := range list {
			if d, ok := e.(llm.Delta); ok {
				draft.Add(d)
			}
		}
		if _, err := json.Marshal(draft.Complete()); err != nil {
			t.Errorf("a message that cannot be kept: %v", err)
		}
	})
}

// TestSteps checks the parsing of argument paths.
func TestSteps(t *testing.T) {
	for path, want := range map[string]string{
		"$.a":             "[a] true",
		"$.a.b[0].c":      "[a b 0 c] true",
		"$['a.b'][\"]\"]": "[a.b ]] true",
		"$[12]":           "[12] true",
		"$":               "[] false",
		"":                "[] false",
		"a":               "[] false",
		"$a":              "[<nil>] false",
		"$..a":            "[] false",
		"$.a[-1]":         "[a -1] false",
		"$.a[x]":          "[a 0] false",
		"$[":              "[<nil>] false",
	} {
		list, ok := parsePath(path)
		if got := fmt.Sprint(list, ok); got != want && !(path == "$..a" && !ok) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if _, ok := parsePath("$" + strings.Repeat(".a", maxPathDepth+1)); ok {
		t.Errorf("a path of %d steps was taken", maxPathDepth+1)
	}
}

// TestWireName checks that names become valid, that valid names stay, and that different names stay
// different.
func TestWireName(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"read", "read-file", "_x", "a.b", "a b", "a_b", "1a", "-a", "", "größe", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66)} {
		got := wireName(name)
		ok := len(got) > 0 && len(got) <= 64 && !strings.ContainsAny(got[:1], "-0123456789") && strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
		if other, taken := seen[got]; taken || !ok {
			t.Errorf("%q: got %q, which is bad or taken by %q", name, got, other)
		}
		seen[got] = name
		if good := []string{"read", "read-file", "_x", "a_b"}; strings.Contains(strings.Join(good, " ")+" ", name+" ") && got != name && name != "" && name != "b" {
			t.Errorf("%q: got %q, want it unchanged", name, got)
		}
	}
}

// TestChunkAllocations bounds the cost of a chunk.
func TestChunkAllocations(t *testing.T) {
	const chunks = 1000
	stream := []byte(strings.Repeat(typical, chunks) + ending)
	per := testing.AllocsPerRun(5, func() {
		if err := drain(bytes.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
	}) / chunks
	if per > 13 {
		t.Errorf("%.1f allocations for a chunk, want at most 13", per)
	}
}

func BenchmarkChunk(b *testing.B) {
	stream := []byte(strings.Repeat(typical, 1000) + ending)
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if err := drain(bytes.NewReader(stream)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*1000), "µs/chunk")
}
