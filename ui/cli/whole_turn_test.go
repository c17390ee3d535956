package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/wire"
	"parley/session"
	"parley/session/store"
	"parley/session/storetest"
)

// families holds a model of each wire format, with its form of the answer "Yes.".
var families = []struct{ kind, model, answer string }{
	{"openai", "gpt-4.1", `data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"},
	{"openai-responses", "gpt-5.2", `data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}}` + "\n\n"},
	{"anthropic", "claude-sonnet-4-5", `data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}` + "\n\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"},
	{"gemini", "gemini-3-pro-preview", `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Yes."}]},"finishReason":"STOP"}]}` + "\n\n"},
}

// service reads each request completely and returns the same response.
type service struct {
	answer string
	read   int64 // bytes of the last request
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return nil, err
	}
	s.read = n
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(s.answer)),
	}, nil
}

// openFamily returns a model of a family and its service.
func openFamily(tb testing.TB, family int) (llm.Endpoint, *service) {
	tb.Helper()
	f := families[family]
	behind := &service{answer: f.answer}
	config := providers.Config{Providers: map[string]providers.Provider{"p": {Kind: f.kind, BaseURL: "http://127.0.0.1:1/v1", APIKey: "test-key"}}}
	model, err := providers.Open(config, "p/"+f.model, providers.OpenOptions{Transport: behind, Tap: &wire.Tap{}})
	if err != nil {
		tb.Fatal(err)
	}
	model.Context = 1 << 30
	return model, behind
}

// longTalk returns a conversation of n messages with a model of a family, and the service.
func longTalk(tb testing.TB, family, n int) (*session.Session, *service) {
	tb.Helper()
	model, behind := openFamily(tb, family)
	s := session.New(session.Options{Log: storetest.Long(tb, n), Model: model, System: "Be brief."})
	tb.Cleanup(func() { _ = s.Close() })
	return s, behind
}

// askAgain runs another turn.
func askAgain(tb testing.TB, s *session.Session) {
	tb.Helper()
	for e := range s.Turn(tb.Context(), llm.Part{Kind: llm.Text, Text: "And now?"}) {
		if done, ok := e.(session.Done); ok && done.Err != nil {
			tb.Fatal(done.Err)
		}
	}
}

// BenchmarkWholeTurn measures a further turn, from the prompt to the request on the wire and back.
func BenchmarkWholeTurn(b *testing.B) {
	for i, f := range families {
		for _, n := range []int{12, 100, 1000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", f.kind, n), func(b *testing.B) {
				s, behind := longTalk(b, i, n)
				askAgain(b, s) // fills the caches
				b.ReportAllocs()
				for b.Loop() {
					askAgain(b, s)
				}
				b.ReportMetric(float64(behind.read)/1e6, "MB-sent")
			})
		}
	}
}

// BenchmarkFirstTurn measures the first turn after a stored conversation was opened.
func BenchmarkFirstTurn(b *testing.B) {
	for i, f := range families {
		for _, n := range []int{1000, 5000, 20_000} {
			b.Run(fmt.Sprintf("%s/%d", f.kind, n), func(b *testing.B) {
				lib, err := store.Open(filepath.Join(b.TempDir(), "parley.db"))
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = lib.Close() }()
				ids, err := storetest.Fill(lib, 1, n, b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					log, err := lib.Resume(ids[0])
					if err != nil {
						b.Fatal(err)
					}
					model, _ := openFamily(b, i)
					s := session.New(session.Options{Log: log, Model: model, System: "Be brief."})
					askAgain(b, s)
					_ = s.Close()
				}
			})
		}
	}
}

// slack returns the number of additional copies of a message list that a turn makes under the race detector.
func slack() float64 {
	info, _ := debug.ReadBuildInfo()
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 2
	}
	return 0
}

// A further turn encodes only new messages, in every wire format. Apart from the message list and the tap's copy of the
// body, its memory does not grow with the conversation.
func TestWholeTurnIsFlat(t *testing.T) {
	const few, many, rounds = 100, 1000, 8
	for i, f := range families {
		t.Run(f.kind, func(t *testing.T) {
			cost := func(n int) (count, size uint64) {
				s, behind := longTalk(t, i, n)
				askAgain(t, s)
				before := behind.read
				for range rounds { // the minimum, because other goroutines allocate too
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					askAgain(t, s)
					runtime.ReadMemStats(&after)
					c, b := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
					if count == 0 {
						count, size = c, b
					}
					count, size = min(count, c), min(size, b)
				}
				if behind.read <= before || behind.read < int64(100*n) {
					t.Errorf("%d bytes were sent of %d messages, and %d before", behind.read, n, before)
				}
				return count, size
			}
			smallCount, small := cost(few)
			largeCount, large := cost(many)
			perMessage := float64(large-min(small, large)) / (many - few)
			if largeCount > smallCount+smallCount/10+20 || perMessage > (5+slack())*float64(reflect.TypeFor[llm.Message]().Size()) {
				t.Errorf("a turn costs %d allocations behind %d messages and %d behind %d; %.0f bytes more for each message", smallCount, few, largeCount, many, perMessage)
			}
		})
	}
}
