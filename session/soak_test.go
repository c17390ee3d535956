package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
)

// A caller calls tools in every turn, and then answers. Unlike llmtest.Fake it keeps and counts
// nothing of requests.
type caller struct{ turns int }

func (c *caller) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(_ context.Context, out *llm.Out) error {
		if req.Messages[len(req.Messages)-1].Parts[0].Kind == llm.Result {
			out.Send(llm.Delta{Block: "0", Part: say(strings.Repeat("so it says ", 300))})
			out.Send(llm.Finish{Reason: llm.Stop})
			return nil
		}
		c.turns++
		third := call("", "grep", `{"pattern":"turn"}`)
		if c.turns%4 == 0 { // each waits for the disk
			third = call("", "write", fmt.Sprintf(`{"path":"b.txt","content":"turn %d\n"}`, c.turns))
		}
		for i, p := range []llm.Part{call("", "read", `{"path":"a.txt"}`), call("", "list", `{}`), third} {
			p.Kind, p.ID = llm.Call, fmt.Sprint("call", c.turns, "-", i)
			out.Send(llm.Delta{Block: p.ID, Part: p})
		}
		out.Send(llm.Finish{Reason: llm.Calls})
		return nil
	})
}

// resources holds the resources of a process, after a garbage collection.
type resources struct {
	goroutines, files int
	heap              int64
}

func held() resources {
	var stats runtime.MemStats
	for range 3 { // finalizers, and what they let go
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	files, _ := os.ReadDir("/dev/fd") // nowhere else but on Unix
	return resources{runtime.NumGoroutine(), len(files), int64(stats.HeapAlloc)}
}

// level reports whether goroutines and descriptors are what they were: two more or fewer are
// those of connections that a pool keeps.
func (r resources) level(before resources) bool {
	return max(r.goroutines-before.goroutines, before.goroutines-r.goroutines, r.files-before.files, before.files-r.files) <= 2
}

// A hundred turns with tools leave nothing but their messages: goroutines and open files
// are as many as at the start, and the second half of the turns takes at most a tenth more memory
// than its text explains, with what a message costs beside it. Thousands with PARLEY_LONG=1.
func TestSoak(t *testing.T) {
	turns := 100
	if llmtest.Long {
		turns = 5000
	}
	start := held()
	set, _ := workspace(t)
	db, err := store.Open(filepath.Join(llmtest.Folder(t), "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	model := endpoint("soak", &caller{})
	model.Context = 1 << 30
	s := New(Options{Model: model, Tools: set, Log: db.Create(store.Session{}), Policy: tools.NewPolicy(act.ModeYolo)})
	round := func(n int) {
		for i := range n {
			if done := doneOf(t, play(t.Context(), s, allow, say(fmt.Sprint(i, strings.Repeat(" and what now?", 500))))); done.Err != nil {
				t.Fatal(done.Err)
			}
		}
	}
	round(turns / 10) // what is made once
	warm, warmText := held(), textOf(s)
	round(turns / 2)
	half, halfText := held(), textOf(s)
	round(turns / 2)
	end, endText := held(), textOf(s)
	first, second := half.heap-warm.heap, end.heap-half.heap
	const perTurn = 8 << 10 // messages, parts and rows beside their text, and what files were
	explained := endText - halfText + perTurn*int64(turns/2)
	t.Logf("%d turns, %d bytes of text: half of them takes %d bytes, the other one %d", turns, endText-warmText, first, second)
	if slack == 0 && (second > first+first/10 || second > explained+explained/10) {
		t.Errorf("the second half takes %d bytes, the first one %d; its text explains %d", second, first, explained)
	}
	if !half.level(warm) || !end.level(warm) {
		t.Errorf("behind %d turns %+v, %+v behind the others, %+v behind all", turns/10, warm, half, end)
	}
	_ = s.Close()
	_ = db.Close()
	set.Close()
	if closed := held(); !closed.level(start) {
		t.Errorf("closed: %+v, it was %+v", closed, start)
	}
}

// textOf returns the bytes of a conversation's messages in memory.
func textOf(s *Session) (n int64) {
	for _, m := range s.History() {
		for _, p := range m.Parts {
			n += int64(len(p.Text) + len(p.Input) + len(p.Data) + len(p.State))
		}
	}
	return n
}
