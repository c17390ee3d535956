package llmtest

import (
	"bytes"
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
)

// patience bounds waiting for what should come at once, so that a failure is a
// failure and not a test that hangs.
const patience = 20 * time.Second

// opaque is State as services make it: base64, with every character base64 has.
const opaque = `"EvgCCkgIDRABGAIqQKb/wFIBWhtf+ZLSnNhQwwG129YAAA=="`

var offered = []llm.Tool{
	{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "list", Description: "Lists a folder.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
}

func ask(prompt string) llm.Request {
	return llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText(prompt)}, Tools: offered}
}

// Suite checks an adapter against everything the session relies on.
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
	t.Run("leave", w.leave)
	t.Run("cancel", w.cancel)
	t.Run("round trip", w.roundTrip)
	t.Run("foreign history", w.foreign)
}

// answer is a message as it came out of a stream.
type answer struct {
	parts  []llm.Part
	finish llm.Finish
	usage  llm.Usage
	err    error
}

// take ranges over s, checking what holds for every stream.
func take(t *testing.T, s llm.Stream) answer {
	t.Helper()
	var a answer
	var draft llm.Draft
	finished := false
	for e, err := range s {
		if a.err != nil || finished {
			t.Fatalf("%#v after the end", e)
		}
		if err != nil {
			a.err = err
			continue
		}
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Usage:
			a.usage = e
		case llm.Finish:
			a.finish, finished = e, true
		}
	}
	if a.err == nil && !finished {
		t.Fatal("the stream ended without finish or error")
	}
	a.parts = draft.Complete()
	if a.err != nil {
		a.parts = draft.Interrupted()
	}
	return a
}

func (w Wire) answers(t *testing.T) {
	for name, in := range Answers {
		t.Run(name, func(t *testing.T) {
			if !w.Thinks && in.Parts[0].Kind == llm.Thinking {
				t.Skip("the format carries no thinking")
			}
			s := serve(t, w.events(w.Encode(in), 0))
			got := take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
			if got.err != nil {
				t.Fatal(got.err)
			}
			same(t, got.parts, in.Parts)
			if got.finish.Reason != in.Reason {
				t.Errorf("finish %q (%q), want %q", got.finish.Reason, got.finish.Raw, in.Reason)
			}
			want := in.Usage
			if want != (llm.Usage{}) && (got.usage.Input != want.Input || got.usage.Output != want.Output) {
				t.Errorf("usage %+v, want %+v", got.usage, want)
			}
		})
	}
}

// same compares parts without State, and without ids, which a format may lack.
func same(t *testing.T, got, want []llm.Part) {
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

// splits checks that where the network cuts the stream changes nothing.
func (w Wire) splits(t *testing.T) {
	in := Answer{Parts: []llm.Part{
		{Kind: llm.Text, Text: "Žluťoučký kůň 🐎 reads:"},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"příliš.go"}`},
	}, Reason: llm.Calls}
	for _, size := range []int{1, 7, 1 << 20} {
		s := serve(t, w.events(w.Encode(in), size))
		got := take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Read it")))
		if got.err != nil {
			t.Fatalf("in pieces of %d bytes: %v", size, got.err)
		}
		same(t, got.parts, in.Parts)
	}
}

// request checks what a first request says.
func (w Wire) request(t *testing.T) {
	s := serve(t, w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Hi"}}, Reason: llm.Stop}), 0))
	take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello \xff there")))
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
		got := take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
		e := fault(t, got.err, test.want)
		if e.Status != test.status || !strings.Contains(e.Message, test.message) {
			t.Errorf("status %d: %+v", test.status, e)
		}
		if n := s.asked(); n != 1 {
			t.Errorf("status %d: asked %d times; retrying is not the adapter's", test.status, n)
		}
	}
}

// fault checks that err is an error of the vocabulary, that it names the
// provider, and that it is of this fault.
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

// wait checks that the server's word on waiting arrives.
func (w Wire) wait(t *testing.T) {
	s := serve(t, func(res http.ResponseWriter, _ *http.Request) {
		res.Header().Set("Retry-After", "7")
		res.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(res, w.Failure(429, "slow down"))
	})
	got := take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
	if e := fault(t, got.err, llm.RateLimit); e.Wait != 7*time.Second {
		t.Errorf("wait %s, want 7s", e.Wait)
	}
}

func (w Wire) unreachable(t *testing.T) {
	s := serve(t, http.NotFound)
	s.Close()
	fault(t, take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello"))).err, llm.Network)
}

// cut checks that an answer without an end is an error of the network, however
// calmly the connection closed, and that what came is kept.
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
			got := take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
			fault(t, got.err, llm.Network)
			same(t, got.parts, partial.Parts[:1]) // a call of an answer that broke off never runs
		})
	}
}

// broken checks an error in mid-stream.
func (w Wire) broken(t *testing.T) {
	if w.Broken == "" {
		t.Skip("the format has no errors in mid-stream")
	}
	partial := Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "The answer"}}}
	s := serve(t, w.events(append(w.Encode(partial), w.Broken), 0))
	got := take(t, w.Open(t, s.URL).Stream(t.Context(), ask("Hello")))
	fault(t, got.err, llm.Server)
	same(t, got.parts, partial.Parts)
}

// leave checks that leaving the loop closes the connection at once.
func (w Wire) leave(t *testing.T) {
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
	gone(t, left)
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
	gone(t, left)
}

func gone(t *testing.T, left <-chan struct{}) {
	t.Helper()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the connection stayed open")
	}
}

// roundTrip checks that what the service signed comes back to it, byte for byte,
// and calls and results in the order and the company they were in.
func (w Wire) roundTrip(t *testing.T) {
	first := Answer{Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "I need both."},
		{Kind: llm.Text, Text: "Let me look."},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a.go"}`},
		{Kind: llm.Call, ID: "call_2", Name: "list", Input: `{}`},
	}, Reason: llm.Calls}
	if !w.Thinks {
		first.Parts = first.Parts[1:]
	}
	signed := slices.IndexFunc(first.Parts, func(p llm.Part) bool { return slices.Contains(w.Carries, p.Kind) })
	if signed >= 0 {
		first.Parts[signed].State = json.RawMessage(opaque)
	}
	s := serve(t, w.events(w.Encode(first), 0),
		w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}, Reason: llm.Stop}), 0))
	model := w.Open(t, s.URL)
	req := ask("Read and list")
	got := take(t, model.Stream(t.Context(), req))
	if got.err != nil {
		t.Fatal(got.err)
	}
	written := llm.Message{Role: llm.RoleAssistant, Origin: w.Origin, Parts: got.parts}
	req.Messages = append(req.Messages, written, results(written))
	var changes []llm.Change
	req.Messages, changes = llm.Portable(req.Messages, w.Origin)
	if len(changes) > 0 {
		t.Errorf("its own history was changed: %v", changes)
	}
	if got := take(t, model.Stream(t.Context(), req)); got.err != nil {
		t.Fatal(got.err)
	}
	body := s.request(t, 1)
	if signed >= 0 && !bytes.Contains(body, []byte(opaque[1:len(opaque)-1])) {
		t.Errorf("the state did not go back: %s", body)
	}
	paired(t, w.read(t, body), []string{"read", "list"})
}

// results answers every call of m.
func results(m llm.Message) llm.Message {
	out := llm.Message{Role: llm.RoleTool}
	for _, c := range m.Calls() {
		out.Parts = append(out.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: "result of " + c.Name})
	}
	return out
}

// paired checks that a request holds these calls, in one message, and their
// results directly behind them, joined by ids.
func paired(t *testing.T, req llm.Request, names []string) {
	t.Helper()
	at := slices.IndexFunc(req.Messages, func(m llm.Message) bool { return len(m.Calls()) > 0 })
	if at < 0 {
		t.Fatalf("no calls in %+v", req.Messages)
	}
	calls := req.Messages[at].Calls()
	var answers []llm.Part
	for _, m := range req.Messages[at+1:] {
		for _, p := range m.Parts {
			if p.Kind == llm.Result {
				answers = append(answers, p)
			}
		}
	}
	if len(calls) != len(names) || len(answers) != len(names) {
		t.Fatalf("%d calls and %d results, want %d: %+v", len(calls), len(answers), len(names), req.Messages)
	}
	for i, name := range names {
		if calls[i].Name != name || calls[i].ID != answers[i].ID || !strings.Contains(answers[i].Text, "result of "+name) {
			t.Errorf("call %+v has the result %+v", calls[i], answers[i])
		}
	}
}

// foreign checks that a conversation with another provider can go on here.
func (w Wire) foreign(t *testing.T) {
	other := llm.Message{Role: llm.RoleAssistant, Origin: "elsewhere", Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "A foreign thought", State: json.RawMessage(`"foreign-signature"`)},
		{Kind: llm.Text, Text: "One moment."},
		{Kind: llm.Opaque, State: json.RawMessage(`{"foreign":"item"}`)},
		{Kind: llm.Call, ID: "functions.read:0", Name: "read", Input: `{"path":"a"}`},
		{Kind: llm.Call, ID: strings.Repeat("long", 30), Name: "list", Input: ""},
	}}
	req := ask("Start")
	req.Messages = append(req.Messages, other, results(other), llm.Message{
		Role: llm.RoleAssistant, Origin: "elsewhere", Parts: []llm.Part{{Kind: llm.Text, Text: "Both are there."}},
	}, llm.UserText("Go on"))
	req.Messages, _ = llm.Portable(req.Messages, w.Origin)
	s := serve(t, w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}, Reason: llm.Stop}), 0))
	if got := take(t, w.Open(t, s.URL).Stream(t.Context(), req)); got.err != nil {
		t.Fatal(got.err)
	}
	body := s.request(t, 0)
	if bytes.Contains(body, []byte("oreign")) {
		t.Errorf("foreign state or thinking was sent: %s", body)
	}
	got := w.read(t, body)
	paired(t, got, []string{"read", "list"})
	for _, want := range []string{"One moment.", "Both are there.", "Go on"} {
		if !slices.ContainsFunc(got.Messages, func(m llm.Message) bool { return strings.Contains(m.Text(), want) }) {
			t.Errorf("%q is gone from %+v", want, got.Messages)
		}
	}
}
