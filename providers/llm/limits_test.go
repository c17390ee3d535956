package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

// An answer ends at each of its limits, with the part within the limit.
func TestLimits(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	euros := strings.Repeat("€", 1<<20)
	image := make([]byte, 32<<20)
	block := func(n int) string { return fmt.Sprint("b", n) }
	for _, tt := range []struct {
		name  string
		delta func(n int) llm.Delta // the nth, from 0
		sent  int                   // deltas that arrive
		size  int                   // bytes of text, arguments and data of them
		limit string
	}{
		{"text", func(int) llm.Delta { return llm.Delta{Part: llm.Part{Kind: llm.Text, Text: mega}} }, 32, 32 << 20, "32 MB of text"},
		{"text and thinking", func(n int) llm.Delta {
			return llm.Delta{Block: block(n % 2), Part: llm.Part{Kind: []llm.Kind{llm.Text, llm.Thinking}[n%2], Text: mega}}
		}, 32, 32 << 20, "32 MB of text"},
		{"characters stay whole", func(int) llm.Delta {
			return llm.Delta{Part: llm.Part{Kind: llm.Text, Text: euros}}
		}, 11, 32<<20 - 2, "32 MB of text"}, // 3 bytes each
		{"results of remote tools", func(int) llm.Delta {
			return llm.Delta{Part: llm.Part{Kind: llm.Result, Remote: true, Text: mega}}
		}, 32, 32 << 20, "32 MB of text"},
		{"arguments of one call", func(int) llm.Delta { return llm.Delta{Part: llm.Part{Kind: llm.Call, Input: mega}} }, 16, 16 << 20, "16 MB of arguments of one tool call"},
		{"arguments of many calls", func(n int) llm.Delta {
			return llm.Delta{Block: block(n), Part: llm.Part{Kind: llm.Call, Input: mega}}
		}, 32, 32 << 20, "32 MB of arguments"},
		{"calls", func(n int) llm.Delta { return llm.Delta{Block: block(n), Part: llm.Part{Kind: llm.Call, ID: "c"}} }, 128, 0, "128 tool calls"},
		{"remote calls", func(n int) llm.Delta {
			return llm.Delta{Block: block(n), Part: llm.Part{Kind: llm.Call, ID: "c", Remote: true}}
		}, 4096, 0, "4096 blocks"},
		{"one image", func(int) llm.Delta { return llm.Delta{Part: llm.Part{Kind: llm.Media, Data: image}} }, 2, 64 << 20, "64 MB of one image"},
		{"images", func(n int) llm.Delta { return llm.Delta{Block: block(n), Part: llm.Part{Kind: llm.Media, Data: image}} }, 8, 256 << 20, "256 MB of images and data"},
		{"state", func(n int) llm.Delta {
			return llm.Delta{Block: block(n), Part: llm.Part{Kind: llm.Opaque, State: image}}
		}, 8, 0, "256 MB of images and data"},
		{"state that replaces state", func(n int) llm.Delta {
			return llm.Delta{Part: llm.Part{Kind: llm.Opaque, Text: mega, State: image}}
		}, 33, 32 << 20, "32 MB of text"},
	} {
		sent, size := 0, 0
		var last []string
		out := llm.NewOut(func(e llm.Event, _ error) bool {
			switch e := e.(type) {
			case llm.Delta:
				sent, size = sent+1, size+len(e.Text)+len(e.Input)+len(e.Data)
			case llm.Notice:
				last = append(last, e.Text)
			case llm.Finish:
				last = append(last, string(e.Reason), e.Limit)
			}
			return true
		})
		n := 0
		for out.Send(tt.delta(n)) && n < 10_000 {
			n++
		}
		want := []string{"Answer stopped at " + tt.limit + ", the most that one answer may have", "length", tt.limit}
		if sent != tt.sent || size != tt.size || fmt.Sprint(last) != fmt.Sprint(want) || !out.Stopped() {
			t.Errorf("%s: %d deltas of %d bytes, then %q; want %d, %d, %q", tt.name, sent, size, last, tt.sent, tt.size, want)
		}
	}
}

// An answer that reached a limit can go back to any model: none of its calls ran, and none has
// truncated arguments.
func TestCapped(t *testing.T) {
	var d llm.Draft
	for _, delta := range []llm.Delta{
		{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm", State: []byte(`"signed"`)}},
		{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "I write."}},
		{Block: "1", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "write", Input: `{"path":"a"}`}},
		{Block: "r", Part: llm.Part{Kind: llm.Call, ID: "r", Name: "search", Remote: true}},
		{Block: "2", Part: llm.Part{Kind: llm.Call, ID: "2", Name: "write", Input: `{"path":"b","content":"xx`}},
	} {
		d.Add(delta)
	}
	var got []string
	for _, p := range d.Limited() {
		got = append(got, fmt.Sprintf("%s %s %s%s%s", p.Kind, p.ID, p.Text, p.Input, p.State))
	}
	want := []string{"thinking  hm", "text  I write.", `call 1 {"path":"a"}`, "call 2 {}"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
