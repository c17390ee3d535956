package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "parley/providers/llm"
)

func text(s string) Part         { return Part{Kind: Text, Text: s} }
func call(id, input string) Part { return Part{Kind: Call, ID: id, Name: "read", Input: input} }
func result(id, s string) Part   { return Part{Kind: Result, ID: id, Name: "read", Text: s} }
func assistant(origin string, parts ...Part) Message {
	return Message{Role: RoleAssistant, Origin: origin, Parts: parts}
}
func toolMessage(parts ...Part) Message { return Message{Role: RoleTool, Parts: parts} }

// answer holds a difficult answer: every kind of part, appended fields in pieces, ids and names
// that come late or twice, state that is replaced.
var answer = []Delta{
	{Block: "a", Part: Part{Kind: Thinking, Text: "let me "}},
	{Block: "b", Part: Part{Kind: Text, Text: "héllo "}},
	{Block: "a", Part: Part{Text: "see 日本"}},
	{Block: "c", Part: Part{Kind: Call, Name: "read", Input: `{"path":`}},
	{Block: "b", Part: Part{Text: "wörld"}},
	{Block: "c", Part: Part{ID: "call_1", Name: "read", Input: `"a.txt"}`}},
	{Block: "a", Part: Part{State: json.RawMessage(`{"sig":1}`)}},
	{Block: "a", Part: Part{State: json.RawMessage(`{"sig":2}`)}},
	{Block: "d", Part: Part{Kind: Media, MIME: "image/png", Data: []byte{1, 2, 3}}},
	{Block: "e", Part: Part{Kind: Opaque, State: json.RawMessage(`[1, 2]`)}},
}

func TestDraft(t *testing.T) {
	var d Draft
	for _, delta := range answer {
		d.Add(delta)
	}
	want := []Part{
		{Kind: Thinking, Text: "let me see 日本", State: json.RawMessage(`{"sig":2}`)},
		{Kind: Text, Text: "héllo wörld"},
		{Kind: Call, ID: "call_1", Name: "read", Input: `{"path":"a.txt"}`},
		{Kind: Media, MIME: "image/png", Data: []byte{1, 2, 3}},
		{Kind: Opaque, State: json.RawMessage(`[1, 2]`)},
	}
	if got := d.Complete(); !reflect.DeepEqual(got, want) {
		t.Errorf("Done:\n got %+v\nwant %+v", got, want)
	}
	cut := []Part{
		{Kind: Thinking, Text: "let me see 日本"},
		{Kind: Text, Text: "héllo wörld"},
		{Kind: Media, MIME: "image/png", Data: []byte{1, 2, 3}},
	}
	if got := d.Interrupted(); !reflect.DeepEqual(got, cut) {
		t.Errorf("Close:\n got %+v\nwant %+v", got, cut)
	}
}

// TestDraftDiscards: after any blocks are discarded, the draft contains the others, and a block
// with a reused name is a new one.
func TestDraftDiscards(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for set := range 1 << len(names) {
		var some, all Draft
		discarded := []string{"of nobody"}
		for i, name := range names {
			if set>>i&1 == 1 {
				discarded = append(discarded, name)
			}
		}
		for _, delta := range answer {
			all.Add(delta)
			if !slices.Contains(discarded, delta.Block) {
				some.Add(delta)
			}
		}
		all.Discard(discarded)
		for _, name := range names { // continue with more blocks
			again := Delta{Block: name, Part: Part{Kind: Text, Text: " again"}}
			if !slices.Contains(discarded, name) {
				again.Kind = ""
			}
			some.Add(again)
			all.Add(again)
		}
		if got, want := all.Complete(), some.Complete(); !reflect.DeepEqual(got, want) {
			t.Fatalf("without %v: got %+v\nwant %+v", discarded, got, want)
		}
	}
}

// Any split of the appended fields, down to single bytes, gives the same message.
func TestDraftSplit(t *testing.T) {
	var whole Draft
	for _, delta := range answer {
		whole.Add(delta)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var split Draft
		for _, delta := range answer {
			for _, piece := range cutUp(rng, delta) {
				split.Add(piece)
			}
		}
		if got, want := split.Complete(), whole.Complete(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	}
}

func cutUp(rng *rand.Rand, d Delta) []Delta {
	var pieces []Delta
	for d.Text != "" || d.Input != "" || len(d.Data) > 0 {
		p := d
		n := rng.IntN(len(d.Text) + 1)
		p.Text, d.Text = d.Text[:n], d.Text[n:]
		n = rng.IntN(len(d.Input) + 1)
		p.Input, d.Input = d.Input[:n], d.Input[n:]
		n = rng.IntN(len(d.Data) + 1)
		p.Data, d.Data = d.Data[:n], d.Data[n:]
		pieces = append(pieces, p)
	}
	return append(pieces, d)
}

func TestDraftDone(t *testing.T) {
	tests := []struct {
		name string
		in   []Delta
		want []Part
	}{
		{"nothing", nil, nil},
		{"an empty text is left out", []Delta{{Block: "a", Part: Part{Kind: Text}}}, nil},
		{"an empty text with a signature stays", []Delta{{Block: "a", Part: Part{Kind: Text, State: json.RawMessage(`"sig"`)}}},
			[]Part{{Kind: Text, State: json.RawMessage(`"sig"`)}}},
		{"no arguments are an empty object", []Delta{{Block: "a", Part: call("1", "")}}, []Part{call("1", "{}")}},
		{"so is null", []Delta{{Block: "a", Part: call("1", " null ")}}, []Part{call("1", "{}")}},
		{"broken arguments stay for the error to show", []Delta{{Block: "a", Part: call("1", `{"a":`)}}, []Part{call("1", `{"a":`)}},
		{"a rune cut for good is replaced", []Delta{{Block: "a", Part: text("a\xe6\x97")}}, []Part{text("a\uFFFD")}},
		{"a rune in two pieces is whole", []Delta{{Block: "a", Part: text("\xe6\x97")}, {Block: "a", Part: Part{Text: "\xa5"}}}, []Part{text("日")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d Draft
			for _, delta := range tt.in {
				d.Add(delta)
			}
			if got := d.Complete(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRepair(t *testing.T) {
	hi, more := UserText("hi"), UserText("more")
	asks := assistant("", call("1", "{}"), call("2", "{}"))
	closed := func(id string) Part {
		return Part{Kind: Result, ID: id, Name: "read", Text: NoResult, Failed: true}
	}
	image := Part{Kind: Media, ID: "1", MIME: "image/png", Data: []byte{1}}
	tests := []struct {
		name     string
		in, want []Message
	}{
		{"valid stays", []Message{hi, asks, toolMessage(result("1", "a"), image, result("2", "b"))},
			[]Message{hi, asks, toolMessage(result("1", "a"), image, result("2", "b"))}},
		{"a call without a result is closed", []Message{hi, asks, toolMessage(result("2", "b"))},
			[]Message{hi, asks, toolMessage(closed("1"), result("2", "b"))}},
		{"results are put in order", []Message{hi, asks, toolMessage(result("2", "b")), toolMessage(result("1", "a"))},
			[]Message{hi, asks, toolMessage(result("1", "a"), result("2", "b"))}},
		{"a user message between moves behind", []Message{hi, asks, more, toolMessage(result("1", "a"), result("2", "b"))},
			[]Message{hi, asks, toolMessage(result("1", "a"), result("2", "b")), more}},
		{"a result without a call is dropped", []Message{hi, toolMessage(result("9", "x")), assistant("", text("yo"))},
			[]Message{hi, assistant("", text("yo"))}},
		{"the same id in two turns is two calls", []Message{hi, assistant("", call("1", "{}")), toolMessage(result("1", "a")), assistant("", call("1", "{}")), toolMessage(result("1", "b"))},
			[]Message{hi, assistant("", call("1", "{}")), toolMessage(result("1", "a")), assistant("", call("1", "{}")), toolMessage(result("1", "b"))}},
		{"a second result is dropped", []Message{hi, assistant("", call("1", "{}")), toolMessage(result("1", "a"), result("1", "b"))},
			[]Message{hi, assistant("", call("1", "{}")), toolMessage(result("1", "a"))}},
		{"an empty answer is left out and its neighbours joined", []Message{hi, assistant(""), more},
			[]Message{{Role: RoleUser, Parts: []Part{text("hi"), text("more")}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Repair(tt.in); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestPortable(t *testing.T) {
	sig := json.RawMessage(`{"signature": "c2ln" }`)
	history := []Message{
		UserText("hi"),
		assistant("a", Part{Kind: Thinking, Text: "hm", State: sig}, Part{Kind: Text, Text: "answer", State: sig},
			Part{Kind: Source, Name: "A page", Text: "which says so", URL: "https://a.example", State: sig}, text("and more"),
			Part{Kind: Source, Text: "Another\npage", URL: "https://b.example"},
			Part{Kind: Opaque, State: sig}, Part{Kind: Text, State: sig}, Part{Kind: Media, Name: "a.png", Data: []byte{1}, State: sig},
			Part{Kind: Call, ID: "r", Name: "web_search", Input: `{"q":"x"}`, Remote: true, State: sig},
			Part{Kind: Call, ID: "1", Name: "read", Input: "{}", State: sig}),
		toolMessage(result("1", "out")),
		assistant("a", Part{Kind: Thinking, Text: "only thinking", State: sig}),
	}
	before, _ := json.Marshal(history)

	own, changes := Portable(history, "a")
	if after, _ := json.Marshal(own); string(after) != string(before) || len(changes) != 0 {
		t.Errorf("to its own origin:\n got %s %v\nwant %s", after, changes, before)
	}
	foreign, changes := Portable(history, "b")
	want := []Message{
		UserText("hi"),
		assistant("a", text("answerand more"), Part{Kind: Text, Begins: true, Text: `[used the tool web_search: {"q":"x"}]`},
			Part{Kind: Text, Begins: true, Text: "[sources: [1] A page https://a.example; [2] Another page https://b.example]"}, call("1", "{}")),
		toolMessage(result("1", "out")),
		{Role: RoleUser, Parts: []Part{text("Made by the assistant: a.png"), {Kind: Media, Name: "a.png", Data: []byte{1}}}},
	}
	if !reflect.DeepEqual(foreign, want) {
		t.Errorf("to another origin:\n got %+v\nwant %+v", foreign, want)
	}
	if got := fmt.Sprint(changes); got != "[earlier models' thinking not sent (2) earlier models' private data not sent other providers' tool calls sent as text sources sent as text (2)]" {
		t.Errorf("changes: %s", got)
	}
	if after, _ := json.Marshal(history); string(after) != string(before) {
		t.Errorf("the history itself was changed:\n got %s\nwant %s", after, before)
	}
}

// valid checks a history by the requirements of every provider.
func valid(history []Message) error {
	var open []string
	for i, m := range history {
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if len(open) > 0 != (m.Role == RoleTool) {
			return fmt.Errorf("message %d is of role %s while %v wait for results", i, m.Role, open)
		}
		if i > 0 && m.Role == RoleUser && history[i-1].Role == RoleUser {
			return fmt.Errorf("message %d: two of the user's in a row", i)
		}
		for _, p := range m.Parts {
			if !utf8.ValidString(p.Text) {
				return fmt.Errorf("message %d: invalid UTF-8", i)
			}
			if p.Kind != Result {
				continue
			}
			if len(open) == 0 || open[0] != p.ID {
				return fmt.Errorf("message %d: result of %s, want %v", i, p.ID, open)
			}
			open = open[1:]
		}
		for _, c := range m.Calls() {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v have no result", open)
	}
	return nil
}

// With any canceled, truncated, duplicated or lost messages, a repaired history is valid, and
// repairing it again changes nothing.
func TestRepairAlwaysValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		var history []Message
		for range rng.IntN(8) {
			history = append(history, randomMessage(rng))
		}
		got := Repair(history)
		if err := valid(got); err != nil {
			t.Fatalf("%v\n in %+v\nout %+v", err, history, got)
		}
		if again := Repair(got); !reflect.DeepEqual(again, got) {
			t.Fatalf("not stable:\nonce  %+v\ntwice %+v", got, again)
		}
	}
}

func randomMessage(rng *rand.Rand) Message {
	id := func() string { return fmt.Sprint(rng.IntN(3)) }
	switch rng.IntN(4) {
	case 0:
		return UserText("u")
	case 1:
		return toolMessage(result(id(), "r"), result(id(), "r"))
	case 2:
		return Message{Role: []Role{RoleUser, RoleAssistant, RoleTool}[rng.IntN(3)]}
	}
	var d Draft
	ids := map[string]bool{}
	for range rng.IntN(4) {
		p := answer[rng.IntN(len(answer))]
		if p.Kind == Call {
			p.ID = id()
			if ids[p.ID] {
				continue // the session makes the ids of one answer unique
			}
			ids[p.ID] = true
			p.Block = p.ID
		}
		d.Add(p)
	}
	if rng.IntN(2) == 0 {
		return assistant("", d.Interrupted()...)
	}
	return assistant("", d.Complete()...)
}

func TestProduce(t *testing.T) {
	boom := &Error{Fault: Server, Message: "boom"}
	finish := Finish{Reason: Stop}
	hello := Delta{Block: "a", Part: text("hello")}
	tests := []struct {
		name string
		f    func(context.Context, *Out) error
		take int // number of events to read before leaving; 0 for all
		want []Event
		err  string
	}{
		{"whole", func(_ context.Context, o *Out) error { o.Send(hello); o.Send(finish); return nil }, 0, []Event{hello, finish}, ""},
		{"cut", func(_ context.Context, o *Out) error { o.Send(hello); return nil }, 0, []Event{hello}, "network: the stream ended before the answer was complete"},
		{"an error", func(_ context.Context, o *Out) error { return boom }, 0, nil, "server: boom"},
		{"nothing counts after the finish", func(_ context.Context, o *Out) error { o.Send(finish); o.Send(hello); return boom }, 0, []Event{finish}, ""},
		{"the consumer leaves", func(_ context.Context, o *Out) error {
			for o.Send(hello) {
			}
			return boom
		}, 2, []Event{hello, hello}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []Event
			var fail error
			for e, err := range Produce(context.Background(), tt.f) {
				if err != nil {
					fail = err
					continue
				}
				if got = append(got, e); len(got) == tt.take {
					break
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("events: got %v, want %v", got, tt.want)
			}
			if (fail != nil || tt.err != "") && fmt.Sprint(fail) != tt.err {
				t.Errorf("error: got %v, want %q", fail, tt.err)
			}
		})
	}
}

func TestProduceCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range Produce(ctx, func(context.Context, *Out) error { return errors.New("read: connection reset") }) {
		if !Canceled(err) {
			t.Errorf("got %v, want the context's error", err)
		}
	}
}

func TestError(t *testing.T) {
	err := &Error{Fault: RateLimit, Provider: "openai", Status: 429, Message: "slow down", Wait: 3 * time.Second}
	if got, want := err.Error(), "openai: rate limit (429): slow down"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := FaultOf(fmt.Errorf("turn: %w", err)); got != RateLimit {
		t.Errorf("FaultOf a wrapped error: got %s", got)
	}
}

// Every fault has advice, and a wrong key names its variable and the server.
func TestHint(t *testing.T) {
	for _, f := range []Fault{Quota, RateLimit, Authentication, Permission, ModelNotFound, InvalidRequest, ContextOverflow, ContentFilter, Network, Server, Unsupported, Unknown, ""} {
		if hint := InShell.Hint(&Error{Fault: f}); hint == "" {
			t.Errorf("%q has no hint", f)
		}
	}
	rejected := Error{Fault: Authentication, Provider: "openai", Status: 401, Key: "OPENAI_API_KEY", URL: "https://api.openai.com/v1"}
	stored := rejected
	stored.Key, stored.KeyStored = "the system keyring", true
	unread := rejected
	unread.Status = 0
	for _, tt := range []struct {
		a    Audience
		err  Error
		want string
	}{
		{InShell, rejected, "Replace the key in OPENAI_API_KEY: https://api.openai.com/v1 rejected it"},
		{InShell, stored, "Replace the key in the system keyring with parley connect openai: https://api.openai.com/v1 rejected it"},
		{InChat, stored, "Replace the key in the system keyring with /connect openai: https://api.openai.com/v1 rejected it"},
		{InChat, unread, "Check OPENAI_API_KEY, which should provide the key"},
		{InChat, Error{Fault: Authentication, Provider: "openai", Key: "OPENAI_API_KEY", KeyMissing: true}, "Set OPENAI_API_KEY or run /connect openai"},
		{InShell, Error{Fault: Authentication, Provider: "openai", Key: "OPENAI_API_KEY", KeyMissing: true}, "Set OPENAI_API_KEY or run parley connect openai"},
		{InChat, Error{Fault: ModelNotFound}, "Choose another model with /model"},
		{InChat, Error{Fault: ModelNotFound, Purpose: "image"}, "Choose another model with /image"},
		{InShell, Error{Fault: ModelNotFound}, "Run parley models to list models, and choose one with -m"},
		{InShell, Error{Fault: ModelNotFound, Purpose: "image"}, "Run parley models --image to list models, and choose one with -m"},
		{InShell, Error{Fault: ModelNotFound, Purpose: "embed"}, "Run parley models --embed to list models, and choose one with -m"},
		{InShell, Error{Fault: InvalidRequest, Provider: "mock", Status: 404, URL: "http://127.0.0.1:8000"}, "Check base_url, http://127.0.0.1:8000: for most servers it ends in /v1"},
		{InShell, Error{Fault: InvalidRequest, Provider: "mock", Status: 400, URL: "http://127.0.0.1:8000"}, "mock rejected the request; another model (-m) or fewer settings may work"},
		{InShell, Error{Fault: Network, Provider: "ollama"}, "Try again, or choose another model with -m"},
		{InShell, Error{Fault: Network, Provider: "mock", URL: "http://127.0.0.1:8000"}, "Check the connection to http://127.0.0.1:8000 and try again"},
		{InChat, Error{Fault: Quota, Wait: 3 * time.Hour}, "Try again in 3 h (/wait waits for it), or choose another model with /model"},
		{InShell, Error{Fault: Quota, Wait: 7 * time.Minute, Allowed: 10 * time.Second}, "Try again in 7 min (--wait 10s is shorter than that), or choose another model with -m"},
		{InShell, Error{Fault: Quota, Wait: 7 * time.Minute, Allowed: 8 * time.Minute}, "Try again in 7 min, or choose another model with -m"},
		{InShell, Error{Fault: RateLimit, Wait: time.Minute}, "Try again in 60 s (--wait waits for it), or choose another model with -m"},
		{InShell, Error{Fault: RateLimit, Wait: time.Minute, Purpose: "image"}, "Try again in 60 s, or choose another model with -m"},
		{InShell, Error{Fault: Quota, Wait: 9 * 24 * time.Hour}, "Try again in 9 days, or choose another model with -m"},
		{InChat, Error{Fault: Quota, Provider: "mock"}, "Add credit to your mock account, or choose another model with /model"},
	} {
		if got := tt.a.Hint(&tt.err); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if InChat.Hint(nil) != "" {
		t.Error("no error needs no hint")
	}
}

func TestArguments(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"", "{}", true},
		{"null", "{}", true},
		{` { "a" : 1 } `, `{"a":1}`, true},
		{`{"a":1`, "", false},
		{`{"a":1} trailing`, "", false},
		{`[1]`, "", false},
		{`"text"`, "", false},
	}
	for _, tt := range tests {
		got, ok := Arguments(tt.in)
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("Arguments(%q) = %q, %v; want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func BenchmarkDraft(b *testing.B) {
	d := Draft{}
	delta := Delta{Block: "a", Part: Part{Kind: Text, Text: "token "}}
	b.ReportAllocs()
	for b.Loop() {
		d.Add(delta)
	}
}

// TestWaitText: the returned time is never too short.
func TestWaitText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 1500 * time.Millisecond: "2 s", 90 * time.Second: "90 s", 91 * time.Second: "2 min",
		time.Hour: "60 min", 2*time.Hour - time.Second: "2 h", 25 * time.Hour: "25 h", 49 * time.Hour: "3 days",
	} {
		if got := WaitText(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestTextCost: one part is returned without copying, and many parts are not copied repeatedly.
func TestTextCost(t *testing.T) {
	message := UserText("a")
	if n := testing.AllocsPerRun(10, func() { _ = message.Text() }); n != 0 {
		t.Errorf("one part: %v allocations", n)
	}
	for range 1999 {
		message.Parts = append(message.Parts, Part{Kind: Text}, Part{Kind: Thinking, Text: "-"}, Part{Kind: Text, Text: "a"})
	}
	if got, want := message.Text(), strings.TrimSuffix(strings.Repeat("a\n\n", 2000), "\n\n"); got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
	if n := testing.AllocsPerRun(10, func() { _ = message.Text() }); n > 50 {
		t.Errorf("2000 parts: %v allocations", n)
	}
}
