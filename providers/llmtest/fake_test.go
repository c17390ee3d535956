package llmtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTurns(t *testing.T) {
	refused := &llm.Error{Fault: llm.Quota, Message: "empty"}
	text := func(s string) []llm.Part { return []llm.Part{{Kind: llm.Text, Text: s}} }
	for _, test := range []struct {
		name   string
		turn   Turn
		parts  []llm.Part
		reason llm.Reason
		fault  llm.Fault
	}{
		{"say", Say("a", "b"), text("ab"), llm.Stop, ""},
		{"think", Think("hm", "a"), append([]llm.Part{{Kind: llm.Thinking, Text: "hm"}}, text("a")...), llm.Stop, ""},
		{"call", Call(llm.Part{Name: "f", Input: "{}"}, llm.Part{ID: "mine", Name: "g"}), []llm.Part{
			{Kind: llm.Call, ID: "call_1", Name: "f", Input: "{}"}, {Kind: llm.Call, ID: "mine", Name: "g", Input: "{}"}}, llm.Calls, ""},
		{"fail", Fail(refused), nil, "", llm.Quota},
		{"cut", Cut("a"), text("a"), "", llm.Network},
		{"script", Script(llm.Delta{Block: "x", Part: text("s")[0]}, llm.Finish{Reason: llm.Length}), text("s"), llm.Length, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Collect(t, New(test.turn).Stream(t.Context(), llm.Request{}))
			if !reflect.DeepEqual(got.Parts, test.parts) || got.Finish.Reason != test.reason {
				t.Errorf("got %+v, %s, want %+v, %s", got.Parts, got.Finish.Reason, test.parts, test.reason)
			}
			if (got.Err != nil) != (test.fault != "") || test.fault != "" && llm.FaultOf(got.Err) != test.fault {
				t.Errorf("error %v, want %q", got.Err, test.fault)
			}
			if got.Err == nil && test.name != "script" && (got.Usage.Input == 0 || got.Usage.Output == 0) {
				t.Errorf("usage %+v", got.Usage)
			}
		})
	}
}

func TestHang(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for e, err := range New(Hang("a")).Stream(ctx, llm.Request{}) {
		if _, ok := e.(llm.Delta); ok {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v", last)
	}
	for range New(Hang("a", "b")).Stream(t.Context(), llm.Request{}) {
		break // leaving also ends the stream
	}
}

func TestExhausted(t *testing.T) {
	f := New(Say("a"))
	Collect(t, f.Stream(t.Context(), llm.Request{}))
	for range 2 {
		got := Collect(t, f.Stream(t.Context(), llm.Request{}))
		if got.Err == nil || !strings.Contains(got.Err.Error(), "1 turns are scripted") {
			t.Errorf("error %v", got.Err)
		}
	}
	if n := len(f.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// TestRequests checks that recorded requests do not change when the originals do, and that a fake
// can be used from several goroutines.
func TestRequests(t *testing.T) {
	f := New(Say("a"), Say("b"), Say("c"))
	req := llm.Request{Messages: []llm.Message{llm.UserText("first")}, Tools: []llm.Tool{{Name: "read"}}}
	req.Messages[0].Parts[0].Data = []byte("data")
	Collect(t, f.Stream(t.Context(), req))
	req.Messages[0].Parts[0].Text, req.Messages[0].Parts[0].Data[0] = "changed", 'X'

	got := f.Requests()[0]
	if p := got.Messages[0].Parts[0]; p.Text != "first" || string(p.Data) != "data" || got.Tools[0].Name != "read" {
		t.Errorf("changed afterwards: %+v", got)
	}
	got.Messages[0].Parts[0].Text = "changed"
	if f.Requests()[0].Messages[0].Parts[0].Text != "first" {
		t.Error("a look at the requests changes them")
	}

	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for range f.Stream(t.Context(), llm.Request{System: fmt.Sprint(i)}) {
				f.Requests()
			}
		})
	}
	all.Wait()
	if n := len(f.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}
