package providers

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// endless is the body of an endless answer: its start, and then repeated pieces.
type endless struct {
	next   func(n int) string
	rest   string
	n      int
	closed bool
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.next(e.n)
		e.n++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *endless) Close() error { e.closed = true; return nil }

// A flood is a kind of endless answer in one wire format. Piece returns its nth event; filler is a
// text of 64 KiB that needs no escaping.
type flood struct {
	kind, what string
	piece      func(n int, filler string) string
	limit      string
}

func data(format string, args ...any) string { return "data: " + fmt.Sprintf(format, args...) + "\n\n" }

// first returns one of two texts: the first for n = 0.
func first(n int, opening, rest string) string {
	if n == 0 {
		return opening
	}
	return rest
}

var floods = []flood{
	{"openai", "text", func(n int, s string) string { return data(`{"choices":[{"index":0,"delta":{"content":"%s"}}]}`, s) }, "32 MB of text"},
	{"openai", "one call", func(n int, s string) string {
		return data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"%s"}}]}}]}`, first(n, `{\"a\":\"`, s))
	}, "16 MB of arguments of one tool call"},
	{"openai", "calls", func(n int, s string) string {
		return data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}]}}]}`, n, n)
	}, "128 tool calls"},
	{"openai", "details that are not shown", func(n int, s string) string {
		return data(`{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","id":"%d","data":"%s"}]}}]}`, n, s)
	}, "32 MB of data without an answer"},

	{"openai-responses", "text", func(n int, s string) string {
		return data(`{"type":"response.output_text.delta","output_index":0,"delta":"%s"}`, s)
	}, "32 MB of text"},
	{"openai-responses", "one call", func(n int, s string) string {
		return first(n, data(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f"}}`),
			data(`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"%s"}`, s))
	}, "16 MB of arguments of one tool call"},
	{"openai-responses", "calls", func(n int, s string) string {
		return data(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"i%d","call_id":"c%d","name":"f"}}`, n, n, n)
	}, "128 tool calls"},
	{"openai-responses", "items that are not shown", func(n int, s string) string {
		return data(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message","id":"%s"}}`, n, s)
	}, "32 MB of data without an answer"},

	{"anthropic", "thinking", func(n int, s string) string {
		return data(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"%s"}}`, s)
	}, "32 MB of text"},
	{"anthropic", "one call", func(n int, s string) string {
		return first(n, data(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}`),
			data(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}`, s))
	}, "16 MB of arguments of one tool call"},
	{"anthropic", "calls", func(n int, s string) string {
		return data(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":"f","input":{}}}`, n, n)
	}, "128 tool calls"},
	{"anthropic", "a signature", func(n int, s string) string {
		return first(n, data(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}`),
			data(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"%s"}}`, s))
	}, "32 MB of data without an answer"},
	{"anthropic", "blocks that are not shown", func(n int, s string) string {
		return data(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":"","x":"%s"}}`, n, s)
	}, "32 MB of data without an answer"},

	{"gemini", "text", func(n int, s string) string { return data(`{"candidates":[{"content":{"parts":[{"text":"%s"}]}}]}`, s) }, "32 MB of text"},
	{"gemini", "calls", func(n int, s string) string {
		return data(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}`)
	}, "128 tool calls"},
	{"gemini", "one call in pieces", func(n int, s string) string {
		return first(n, data(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}`),
			data(`{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"%s","willContinue":true}],"willContinue":true}}]}}]}`, s))
	}, "32 MB of data without an answer"},
	{"gemini", "blocks", func(n int, s string) string {
		return data(`{"candidates":[{"content":{"parts":[{"text":"a","thought":%t}]}}]}`, n%2 == 0)
	}, "4096 blocks"},
}

// everyTime lists the tests with many megabytes that run without PARLEY_LONG=1, one for each wire
// format and limit: the counting code is shared.
var everyTime = []string{"openai text", "openai-responses one call", "anthropic a signature", "gemini one call in pieces"}

// No answer grows without end, in any wire format: it ends at a limit, with the content so far and
// a notice, and the request ends.
func TestFloods(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("0123456789abcdef", 4<<10)
	for _, f := range floods {
		if strings.Contains(f.limit, "MB") && !llmtest.Long && !slices.Contains(everyTime, f.kind+" "+f.what) {
			continue
		}
		t.Run(f.kind+" "+f.what, func(t *testing.T) {
			body := &endless{next: func(n int) string {
				if n < 20 && !llmtest.Long { // enough for adapter.Shape to know later ones
					return f.piece(n, "short")
				}
				return f.piece(n, filler)
			}}
			base := roundTrip(func(r *http.Request) (*http.Response, error) {
				io.Copy(io.Discard, r.Body)
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
			})
			c := Config{Providers: map[string]Provider{"box": {Kind: f.kind, BaseURL: "http://box.invalid", APIKey: "sk-0123456789"}}}
			e, err := Open(c, "box/m", OpenOptions{Transport: base, Getenv: env()})
			if err != nil {
				t.Fatal(err)
			}
			text, input, calls := 0, 0, map[string]bool{} // an llm.Draft would hold all of it
			var finish llm.Finish
			var notices []string
			for event, err := range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
				if err != nil {
					t.Fatal(err)
				}
				switch event := event.(type) {
				case llm.Delta:
					text, input = text+len(event.Text), input+len(event.Input)
					if event.Kind == llm.Call {
						calls[event.Block] = true
					}
				case llm.Notice:
					notices = append(notices, event.Text)
				case llm.Finish:
					finish = event
				}
			}
			if finish.Reason != llm.Length || finish.Limit != f.limit || !body.closed {
				t.Errorf("ended with %+v, want the limit of %s; the request is over: %t", finish, f.limit, body.closed)
			}
			if n := len(notices); n == 0 || !strings.Contains(notices[n-1], f.limit) {
				t.Errorf("the user was told %q", notices)
			}
			want, _ := strconv.Atoi(strings.Fields(f.limit)[0])
			switch {
			case strings.HasSuffix(f.limit, "of text") && text > want<<20-(1<<10) && text <= want<<20,
				strings.Contains(f.limit, "arguments") && input == want<<20,
				strings.HasSuffix(f.limit, "calls") && len(calls) == want,
				strings.Contains(f.limit, "without"), strings.Contains(f.limit, "blocks"):
			default:
				t.Errorf("kept %d bytes of text, %d of arguments, %d calls", text, input, len(calls))
			}
		})
	}
}
