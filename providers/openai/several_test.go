package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/share"
	"parley/providers/openai"
	"parley/providers/wire"
)

// A candidate is one of several answers requested at the same time.
type candidate struct {
	parts   []llm.Part
	usage   []llm.Usage
	notices []string
	err     error
}

// candidates requests n answers from m at the same time. Each ends as soon as stop returns true for
// its number and an event.
func candidates(ctx context.Context, m llm.Model, n int, req llm.Request, stop func(int, llm.Event) bool) []candidate {
	list := make([]candidate, n)
	var all sync.WaitGroup
	for i, c := range share.NewCandidates(n) {
		all.Go(func() {
			defer c.Leave()
			var draft llm.Draft
			got := &list[i]
			for e, err := range m.Stream(share.WithCandidate(ctx, c), req) {
				got.err = err
				switch e := e.(type) {
				case llm.Delta:
					draft.Add(e)
				case llm.Usage:
					got.usage = append(got.usage, e)
				case llm.Notice:
					got.notices = append(got.notices, e.Text)
				}
				if stop != nil && stop(i, e) {
					break
				}
			}
			got.parts = draft.Complete()
		})
	}
	all.Wait()
	return list
}

// several returns a server that gives as many answers as requested, written by answer, and records
// the requests.
func several(t *testing.T, d openai.Dialect, body map[string]any, answer func(w http.ResponseWriter, r *http.Request, n int)) (m *openai.Chat, asked func() []map[string]any, limits *adapter.LearnedLimits) {
	t.Helper()
	var mu sync.Mutex
	var bodies []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		bodies = append(bodies, body)
		mu.Unlock()
		n, _ := body["n"].(float64)
		w.Header().Set("Content-Type", "text/event-stream")
		answer(w, r, int(n))
	}))
	t.Cleanup(server.Close)
	client := wire.Client(wire.Options{Provider: "mock", URL: server.URL})
	t.Cleanup(client.CloseIdleConnections)
	limits = &adapter.LearnedLimits{}
	return openai.New(openai.Options{Provider: "mock", Model: "m", BaseURL: server.URL, HTTP: client, Body: body, Learned: limits}, d),
		func() []map[string]any {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(bodies)
		}, limits
}

// choice returns a chunk of the answer with an index.
func choice(index int, delta, finish string) string {
	if finish != "" {
		finish = `,"finish_reason":"` + finish + `"`
	}
	return fmt.Sprintf(`data: {"id":"x","model":"m","choices":[{"index":%d,"delta":%s%s}]}`+"\n\n", index, delta, finish)
}

// said returns a chunk with text of the answer with an index.
func said(index int, text string) string { return choice(index, `{"content":`+quote(text)+`}`, "") }

const (
	used   = `data: {"id":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":6}}` + "\n\n"
	closed = "data: [DONE]\n\n"
)

// TestSeveral requests several answers. A service that can give them gets one request for all,
// whose usage counts once; others get one request for each answer. Answers that a server refuses or
// omits are requested alone, which is reported once.
func TestSeveral(t *testing.T) {
	can := openai.Dialect{MultipleChoices: true}
	alone := said(0, "alone") + choice(0, "{}", "stop") + used + closed
	interleaved := said(0, "a") + said(2, "c") + said(1, "b") + choice(1, `{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{}"}}]}`, "") +
		said(2, "C") + said(0, "A") + choice(2, "{}", "stop") + choice(0, "{}", "length") + choice(1, "{}", "tool_calls") + used + closed
	fewer := "m gives one answer to a request; the others are asked for by themselves, and the prompt is paid for in each"
	one := func(body string) func(n int) (int, string) {
		return func(n int) (int, string) {
			if n > 0 {
				return 200, body
			}
			return 200, alone
		}
	}
	refuses := func(status int, answer string) func(n int) (int, string) {
		return func(n int) (int, string) {
			if n > 0 {
				return status, answer
			}
			return 200, alone
		}
	}
	for _, test := range []struct {
		name    string
		dialect openai.Dialect
		body    map[string]any
		answer  func(n int) (status int, body string)
		texts   string // texts of the answers, in order; ERROR for failed ones
		asked   string // n of the requests
		input   int    // tokens that were counted
		notice  string
		learned bool // it learns that there is only one answer
	}{
		{"interleaved", can, nil, one(interleaved), "aA|b | t:f{}|cC", "3", 10, "", false},
		{"whole", can, nil, one(`{"id":"x","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"},` +
			`{"index":2,"message":{"content":"c"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":6}}`), "a|b|c", "3", 10, "", false},
		{"a service that gives one", openai.Dialect{}, nil, one(interleaved), "alone|alone|alone", "0 0 0", 30, "", false},
		{"the user has a word for n", can, map[string]any{"n": 1}, one(alone), "alone|alone|alone", "1 1 1", 30, "", false},
		{"a server that ignores n", can, nil, one(alone), "alone|alone|alone", "3 0 0", 30, fewer, true},
		{"ignores it in an answer that comes whole", can, nil, one(`{"id":"x","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10}}`),
			"a|alone|alone", "3 0 0", 30, fewer, true},
		{"ends without a word", can, nil, one(said(0, "a") + choice(0, "{}", "stop")), "a|alone|alone", "3 0 0", 20, fewer, true},
		{"gives two of three", can, nil, one(said(1, "b") + said(0, "a") + choice(0, "{}", "stop") + choice(1, "{}", "stop") + used + closed), "a|b|alone", "3 0", 20, fewer, true},
		{"refuses n", can, nil, refuses(400, refusal("n", "Unsupported value")), "alone|alone|alone", "3 0 0 0", 30, fewer, true},
		{"vLLM at temperature 0", can, nil, refuses(400, refusal("", "n must be 1 when using greedy sampling, got 3.")), "alone|alone|alone", "3 0 0 0", 30, fewer, true},
		{"llama.cpp", can, nil, refuses(400, refusal("", "Only one completion choice is allowed")), "alone|alone|alone", "3 0 0 0", 30, fewer, true},
		{"Groq", can, nil, refuses(400, refusal("", "'n' : number must be at most 1")), "alone|alone|alone", "3 0 0 0", 30, fewer, true},
		{"refuses it without saying so", can, nil, refuses(422, refusal("", "bad request")), "alone|alone|alone", "3 0 0 0", 30, "", false},
		{"is down", can, nil, refuses(503, `{"error":{"message":"down"}}`), "ERROR|ERROR|ERROR", "3", 0, "", false},
		{"is cut", can, nil, one(said(0, "a") + said(1, "b") + choice(1, "{}", "stop")), "a ERROR|b|alone", "3 0", 10, fewer, true},
		{"is cut before anything ended", can, nil, one(said(0, "a") + said(1, "b")), "a ERROR|b ERROR|ERROR", "3", 0, "", false},
		{"fails in between", can, nil, one(said(1, "b") + `data: {"error":{"message":"exploded"}}` + "\n\n"), "ERROR|b ERROR|ERROR", "3", 0, "", false},
		{"an answer that nobody asked for", can, nil, one(said(7, "x") + said(-1, "y") + interleaved), "aA|b | t:f{}|cC", "3", 10, "", false},
	} {
		m, asked, limits := several(t, test.dialect, test.body, func(w http.ResponseWriter, r *http.Request, n int) {
			status, body := test.answer(n)
			if strings.HasPrefix(body, "{") {
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
		var texts, notices []string
		input := 0
		for _, c := range candidates(t.Context(), m, 3, llm.Request{Messages: []llm.Message{llm.UserText("hi")}}, nil) {
			text := show(c.parts)
			if c.err != nil {
				text = strings.TrimSpace(text + " ERROR")
			}
			texts = append(texts, text)
			notices = append(notices, c.notices...)
			for _, u := range c.usage {
				input += u.Input
			}
		}
		if got := strings.Join(texts, "|"); got != test.texts {
			t.Errorf("%s: got %q, want %q", test.name, got, test.texts)
		}
		var counts []string
		for _, body := range asked() {
			n, _ := body["n"].(float64)
			counts = append(counts, fmt.Sprint(n))
		}
		if got := strings.Join(counts, " "); got != test.asked {
			t.Errorf("%s: asked for %q answers, want %q", test.name, got, test.asked)
		}
		if input != test.input {
			t.Errorf("%s: counted %d tokens, want %d", test.name, input, test.input)
		}
		if got := strings.Join(notices, "; "); got != test.notice {
			t.Errorf("%s: told %q, want %q", test.name, got, test.notice)
		}
		if limits.Has(adapter.LimitCandidates) != test.learned {
			t.Errorf("%s: learned %v", test.name, limits.All())
		}
	}
}

// The usage of a response with several answers is reported with the first of them, and marked as
// shared.
func TestSeveralUsage(t *testing.T) {
	m, _, _ := several(t, openai.Dialect{MultipleChoices: true}, nil, func(w http.ResponseWriter, r *http.Request, n int) {
		io.WriteString(w, said(1, "b")+said(0, "a")+choice(1, "{}", "stop")+choice(0, "{}", "stop")+used+closed)
	})
	for range 20 {
		got := candidates(t.Context(), m, 2, llm.Request{}, nil)
		if want := []llm.Usage{{Input: 10, Output: 6, Shared: true}}; !slices.Equal(got[0].usage, want) || len(got[1].usage) > 0 {
			t.Fatalf("got %v and %v, want %v with the first", got[0].usage, got[1].usage, want)
		}
	}
}

// A consumer that leaves does not end the other answers, and the request ends with the last of
// them.
func TestSeveralLeft(t *testing.T) {
	more, gone := make(chan struct{}), make(chan struct{})
	m, asked, _ := several(t, openai.Dialect{MultipleChoices: true}, nil, func(w http.ResponseWriter, r *http.Request, n int) {
		io.WriteString(w, said(0, "a")+said(1, "b")+said(2, "c"))
		w.(http.Flusher).Flush()
		<-more
		io.WriteString(w, said(0, "A")+said(1, "B")+said(2, "C"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	got := candidates(t.Context(), m, 3, llm.Request{}, func(i int, e llm.Event) bool {
		d, ok := e.(llm.Delta)
		if ok && i == 0 {
			close(more)
			return true
		}
		return ok && strings.ToUpper(d.Text) == d.Text
	})
	<-gone
	if a, b, c := show(got[0].parts), show(got[1].parts), show(got[2].parts); a != "a" || b != "bB" || c != "cC" {
		t.Errorf("got %q, %q, %q", a, b, c)
	}
	if n := len(asked()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// An answer that reaches a limit ends there, and the others continue.
func TestSeveralLimits(t *testing.T) {
	m, _, _ := several(t, openai.Dialect{MultipleChoices: true}, nil, func(w http.ResponseWriter, r *http.Request, n int) {
		for i := range 200 {
			io.WriteString(w, choice(0, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"t%d","function":{"name":"f","arguments":"{}"}}]}`, i, i), ""))
		}
		io.WriteString(w, said(1, "fine")+choice(0, "{}", "tool_calls")+choice(1, "{}", "stop")+used+closed)
	})
	limit := ""
	got := candidates(t.Context(), m, 2, llm.Request{}, func(i int, e llm.Event) bool {
		if f, ok := e.(llm.Finish); ok && i == 0 {
			limit = f.Limit
		}
		return false
	})
	if limit != "128 tool calls" || show(got[1].parts) != "fine" {
		t.Errorf("the first ended at %q, the second said %q", limit, show(got[1].parts))
	}
	if len(got[0].usage) != 0 || len(got[1].usage) != 1 {
		t.Errorf("counted %v and %v", got[0].usage, got[1].usage)
	}
}

// Canceling ends all of them.
func TestSeveralCanceled(t *testing.T) {
	gone := make(chan struct{})
	m, _, _ := several(t, openai.Dialect{MultipleChoices: true}, nil, func(w http.ResponseWriter, r *http.Request, n int) {
		io.WriteString(w, said(0, "a"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i, c := range candidates(ctx, m, 3, llm.Request{}, func(_ int, e llm.Event) bool {
		if _, ok := e.(llm.Delta); ok {
			cancel()
		}
		return false
	}) {
		if !errors.Is(c.err, context.Canceled) {
			t.Errorf("answer %d ended with %v", i, c.err)
		}
	}
	<-gone
}

// If separate requests for several answers run at the same time and the server refuses a field, all
// are sent again, although only the first one learns the limit.
func TestSeveralRefused(t *testing.T) {
	var refused sync.WaitGroup
	refused.Add(3)
	warm := 0.5
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, _ := io.ReadAll(r.Body); strings.Contains(string(data), "temperature") {
			refused.Done()
			refused.Wait() // until all were sent
			w.WriteHeader(400)
			io.WriteString(w, refusal("temperature", "Unsupported"))
			return
		}
		io.WriteString(w, said(0, "fine")+choice(0, "{}", "stop")+closed)
	}))
	defer server.Close()
	m := openai.New(openai.Options{Provider: "mock", Model: "m", BaseURL: server.URL}, openai.Dialect{})
	for i, c := range candidates(t.Context(), m, 3, llm.Request{Settings: llm.Settings{Temperature: &warm}}, nil) {
		if c.err != nil || show(c.parts) != "fine" {
			t.Errorf("answer %d: %q, %v", i, show(c.parts), c.err)
		}
	}
}

// TestAt sends one request for several answers only to OpenAI's own servers and vLLM's, since the
// support of others is unknown.
func TestAt(t *testing.T) {
	got := map[string]bool{}
	for kind, url := range map[string]string{
		"openai": "https://api.openai.com/v1", "vllm": "http://localhost:8000/v1", "groq": "https://api.groq.com/openai/v1",
	} {
		got[kind] = openai.DialectOf(openai.Options{Kind: kind, BaseURL: url}).MultipleChoices
	}
	got["like openai"] = openai.DialectOf(openai.Options{Kind: "openai", BaseURL: "https://example.com/v1"}).MultipleChoices
	if want := map[string]bool{"openai": true, "vllm": true, "groq": false, "like openai": false}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
