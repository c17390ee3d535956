package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// timeout is how long a test waits before it fails.
const timeout = 20 * time.Second

// opaque is State as services make it: base64 with all of its characters.
const opaque = `"EvgCCkgIDRABGAIqQKb/wFIBWhtf+ZLSnNhQwwG129YAAA=="`

var offered = []llm.Tool{
	{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "list", Description: "Lists a folder.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
}

func ask(prompt string) llm.Request {
	return llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText(prompt)}, Tools: offered}
}

// Suite checks that an adapter has all properties that the session relies on.
func Suite(t *testing.T, w Wire) {
	t.Run("answers", w.answers)
	t.Run("splits", w.splits)
	t.Run("runes", w.runes)
	t.Run("halves", w.halves)
	t.Run("ids", w.ids)
	t.Run("request", w.request)
	t.Run("statuses", w.statuses)
	t.Run("wait", w.wait)
	t.Run("unreachable", w.unreachable)
	t.Run("cut", w.cut)
	t.Run("broken", w.broken)
	t.Run("leave", w.breakLoop)
	t.Run("cancel", w.cancel)
	t.Run("round trip", w.roundTrip)
	t.Run("foreign history", w.foreign)
}

func (w Wire) answers(t *testing.T) {
	for name, in := range Answers {
		t.Run(name, func(t *testing.T) {
			if !w.Thinks && in.Parts[0].Kind == llm.Thinking {
				t.Skip("the format carries no thinking")
			}
			s := serve(t, w.events(w.Encode(in), 0))
			got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			checkSame(t, got.Parts, in.Parts)
			if got.Finish.Reason != in.Reason {
				t.Errorf("finish %q (%q), want %q", got.Finish.Reason, got.Finish.Raw, in.Reason)
			}
			want := in.Usage
			if want != (llm.Usage{}) && (got.Usage.Input != want.Input || got.Usage.Output != want.Output) {
				t.Errorf("usage %+v, want %+v", got.Usage, want)
			}
		})
	}
}

// checkSame compares parts without State, and without ids, which a format may lack.
func checkSame(t *testing.T, got, want []llm.Part) {
	t.Helper()
	if g, w := neutral(t, got), neutral(t, want); !reflect.DeepEqual(g, w) {
		t.Errorf("got  %+v\nwant %+v", g, w)
	}
}

func neutral(t *testing.T, parts []llm.Part) []llm.Part {
	t.Helper()
	var out []llm.Part
	ids := map[string]bool{}
	for _, p := range parts {
		if p.Kind == llm.Opaque {
			continue
		}
		if p.Kind == llm.Call {
			input, ok := llm.Arguments(p.Input)
			if !ok {
				t.Errorf("arguments of %s are no JSON object: %q", p.Name, p.Input)
			}
			if p.ID == "" || ids[p.ID] {
				t.Errorf("id %q of %s is empty or taken", p.ID, p.Name)
			}
			ids[p.ID] = true
			p.ID, p.Input = "", string(input)
		}
		p.State = nil
		out = append(out, p)
	}
	return out
}

// splits checks that the result does not depend on how the stream is split.
func (w Wire) splits(t *testing.T) {
	in := Answer{Parts: []llm.Part{
		{Kind: llm.Text, Text: "Žluťoučký kůň 🐎 reads:"},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"příliš.go"}`},
	}, Reason: llm.Calls}
	for _, size := range []int{1, 7, 1 << 20} {
		s := serve(t, w.events(w.Encode(in), size))
		got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Read it")))
		if got.Err != nil {
			t.Fatalf("in pieces of %d bytes: %v", size, got.Err)
		}
		checkSame(t, got.Parts, in.Parts)
	}
}

// request checks the content of a first request.
func (w Wire) request(t *testing.T) {
	s := serve(t, w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Hi"}}, Reason: llm.Stop}), 0))
	llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello \xff there")))
	got := w.read(t, s.request(t, 0))
	if !strings.Contains(got.System, "Be brief.") {
		t.Errorf("system prompt %q", got.System)
	}
	if len(got.Messages) != 1 || !strings.Contains(got.Messages[0].Text(), "Hello \uFFFD there") {
		t.Errorf("messages %+v", got.Messages)
	}
	var names []string
	for _, tool := range got.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"read", "list"}) {
		t.Errorf("tools %q", names)
	}
}

func (w Wire) read(t *testing.T, body []byte) llm.Request {
	t.Helper()
	req, err := w.Read(body)
	if err != nil {
		t.Fatalf("request %s: %v", body, err)
	}
	return req
}

// statuses checks that each HTTP status becomes its fault.
func (w Wire) statuses(t *testing.T) {
	for _, test := range []struct {
		status  int
		message string
		want    llm.Fault
	}{
		{400, "the value of a field is wrong", llm.InvalidRequest},
		{401, "who are you", llm.Authentication},
		{402, "the account is empty", llm.Quota},
		{403, "not for you", llm.Permission},
		{404, "the model test does not exist", llm.ModelNotFound},
		{422, "the value of a field is wrong", llm.InvalidRequest},
		{429, "slow down", llm.RateLimit},
		{500, "something broke", llm.Server},
		{502, "the upstream broke", llm.Server},
		{503, "come back later", llm.Server},
		{529, "too many people", llm.Server},
	} {
		s := serve(t, func(res http.ResponseWriter, _ *http.Request) {
			res.Header().Set("Content-Type", "application/json")
			res.WriteHeader(test.status)
			io.WriteString(res, w.Failure(test.status, test.message))
		})
		got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
		e := fault(t, got.Err, test.want)
		if e.Status != test.status || !strings.Contains(e.Message, test.message) {
			t.Errorf("status %d: %+v", test.status, e)
		}
		if n := s.requestCount(); n != 1 {
			t.Errorf("status %d: asked %d times; retrying is not the adapter's", test.status, n)
		}
	}
}

// fault checks that err is an *llm.Error with this fault, a provider and a URL.
func fault(t *testing.T, err error, want llm.Fault) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %#v, want an *llm.Error", err)
	}
	if e.Fault != want {
		t.Errorf("fault %q, want %q: %v", e.Fault, want, err)
	}
	if e.Provider == "" || e.URL == "" {
		t.Errorf("error without provider or URL: %+v", e)
	}
	return e
}

// wait checks that Retry-After becomes llm.Error.Wait.
func (w Wire) wait(t *testing.T) {
	s := serve(t, func(res http.ResponseWriter, _ *http.Request) {
		res.Header().Set("Retry-After", "7")
		res.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(res, w.Failure(429, "slow down"))
	})
	got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
	if e := fault(t, got.Err, llm.RateLimit); e.Wait != 7*time.Second {
		t.Errorf("wait %s, want 7s", e.Wait)
	}
}

func (w Wire) unreachable(t *testing.T) {
	s := serve(t, http.NotFound)
	s.Close()
	fault(t, llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello"))).Err, llm.Network)
}

// cut checks that a response without an end is a network error, even if the connection was closed
// normally, and that its text is kept.
func (w Wire) cut(t *testing.T) {
	partial := Answer{Parts: []llm.Part{
		{Kind: llm.Text, Text: "This will"},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a"}`},
	}}
	calm := w.events(w.Encode(partial), 0)
	for name, handler := range map[string]http.HandlerFunc{
		"closed": calm,
		"reset": func(res http.ResponseWriter, r *http.Request) {
			calm(res, r)
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, handler)
			got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
			fault(t, got.Err, llm.Network)
			checkSame(t, got.Parts, partial.Parts[:1]) // a call of an interrupted answer never runs
		})
	}
}

// broken checks an error in the middle of a stream.
func (w Wire) broken(t *testing.T) {
	if w.Broken == "" {
		t.Skip("the format has no errors in mid-stream")
	}
	partial := Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "The answer"}}}
	s := serve(t, w.events(append(w.Encode(partial), w.Broken), 0))
	got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
	fault(t, got.Err, llm.Server)
	checkSame(t, got.Parts, partial.Parts)
}

// breakLoop checks that leaving the loop closes the connection at once.
func (w Wire) breakLoop(t *testing.T) {
	left := make(chan struct{})
	s := serve(t, w.hanging(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Some text"}}}), left))
	for e, err := range w.Open(t, s.URL).Stream(t.Context(), ask("Hello")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(llm.Delta); ok {
			break
		}
	}
	checkClosed(t, left)
}

// cancel checks that canceling ends a silent stream with the context's error.
func (w Wire) cancel(t *testing.T) {
	left := make(chan struct{})
	s := serve(t, w.hanging(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Some text"}}}), left))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for e, err := range w.Open(t, s.URL).Stream(ctx, ask("Hello")) {
		if _, ok := e.(llm.Delta); ok {
			cancel()
		}
		last = err
	}
	if !llm.Canceled(last) {
		t.Errorf("error %v, want the context's", last)
	}
	checkClosed(t, left)
}

func checkClosed(t *testing.T, left <-chan struct{}) {
	t.Helper()
	select {
	case <-left:
	case <-time.After(timeout):
		t.Fatal("the connection stayed open")
	}
}
