package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/undo"
	"parley/tools/undo/snapshot"
)

// A slowCall is a model whose answer ends only once the first call of it was seen to arrive.
type slowCall struct {
	llm.Model
	seen func()
}

func (m slowCall) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range m.Model.Stream(ctx, req) {
			if !yield(e, err) {
				return
			}
			if d, ok := e.(llm.Delta); ok && d.Kind == llm.Call {
				m.seen()
			}
		}
	}
}

// stored returns the bytes that the store of earlier contents holds.
func stored(dir string) (n int) {
	found, _ := filepath.Glob(filepath.Join(dir, "objects", "*", "*"))
	for _, name := range found {
		if info, err := os.Stat(name); err == nil {
			n += int(info.Size())
		}
	}
	return n
}

// TestReadingStoresNothing: a turn whose calls only read stores no earlier contents of files.
func TestReadingStoresNothing(t *testing.T) {
	set, dir := workspace(t)
	kept := filepath.Join(t.TempDir(), "undo")
	fake := llmtest.New(llmtest.Call(call("1", "list", `{"path":"."}`), call("2", "glob", `{"pattern":"*"}`)), llmtest.Say("done"))
	store := MemoryStore()
	defer store.Close()
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: store.Create(Info{Dir: dir}), Files: snapshot.Open(kept).Files})
	if err := os.WriteFile(filepath.Join(dir, "file.txt"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range s.Turn(t.Context(), say("go")) {
	}
	s.Close() // waits for what is read ahead
	if n := stored(kept); n > 0 {
		t.Errorf("%d bytes were stored", n)
	}
}

// The files that a command may change are read while its call still arrives, in each turn.
func TestFilesAreReadWhileTheCallArrives(t *testing.T) {
	set, dir := workspace(t)
	kept := filepath.Join(t.TempDir(), "undo")
	turn, before := 0, 0
	contents := func() int {
		return stored(kept)
	}
	seen := func() {
		turn++
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if contents() > before {
				return
			}
		}
		t.Errorf("turn %d: nothing was read before the end of the answer", turn)
	}
	fake := llmtest.New(
		llmtest.Call(call("1", "shell", `{"command":"true"}`)), llmtest.Say("done"),
		llmtest.Call(call("2", "shell", `{"command":"true"}`)), llmtest.Say("done"))
	store := MemoryStore()
	defer store.Close()
	s := New(Options{Model: endpoint("fake/a", slowCall{fake, seen}), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: store.Create(Info{Dir: dir}), Files: snapshot.Open(kept).Files})
	defer s.Close()
	for _, text := range []string{"by hand\n", "by hand, later\n"} {
		if err := os.WriteFile(filepath.Join(dir, "file.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		before = contents()
		for range s.Turn(t.Context(), say("go")) {
		}
	}
	if turn != 2 {
		t.Errorf("%d calls arrived", turn)
	}
}

// A change by the user after a call arrived, and before it runs, is not taken for the call's.
func TestChangesBeforeTheCallRuns(t *testing.T) {
	set, dir := workspace(t)
	do := tools.External{Name: "mcp_do", Schema: json.RawMessage(`{"type":"object"}`)}
	do.Plan = func(context.Context, json.RawMessage) (*act.Action, error) {
		return &act.Action{Access: act.AccessRun, Title: "do", Do: func(context.Context, func(string)) act.Outcome {
			if err := os.WriteFile(filepath.Join(dir, "made.txt"), []byte(time.Now().String()), 0o644); err != nil {
				t.Error(err)
			}
			return act.Outcome{}
		}}, nil
	}
	if err := set.AddExternal(do); err != nil {
		t.Fatal(err)
	}
	store := MemoryStore()
	defer store.Close()
	step := 0
	arrived := func() {
		step++
		if err := os.WriteFile(filepath.Join(dir, "file.txt"), fmt.Append(nil, "step ", step), 0o644); err != nil {
			t.Error(err)
		}
	}
	fake := llmtest.New(llmtest.Call(call("1", "list", `{"path":"."}`)), llmtest.Call(call("2", "mcp_do", `{"a":1}`)), llmtest.Call(call("3", "mcp_do", `{}`)), llmtest.Say("done"))
	s := New(Options{Model: endpoint("fake/a", slowCall{fake, arrived}), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: store.Create(Info{Dir: dir}), Files: snapshot.Open(filepath.Join(t.TempDir(), "undo")).Files})
	defer s.Close()
	for range s.Turn(t.Context(), say("go")) {
	}
	calls := ""
	for _, r := range s.Files().(undo.History).Records() {
		for _, c := range r.Changes {
			calls += fmt.Sprint(r.Call, " ", c.Path, "; ")
		}
	}
	if calls != "2 made.txt; 3 made.txt; " {
		t.Errorf("calls are taken to have changed: %s", calls)
	}
}

// Nothing reads or keeps files once the session is closed, also where a turn was stopped while
// its call arrived.
func TestNothingIsKeptAfterClose(t *testing.T) {
	set, dir := workspace(t)
	kept := filepath.Join(t.TempDir(), "undo")
	content := make([]byte, 30<<20) // reading one takes a while
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	for i := range 2 {
		content[0] = byte(i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	store := MemoryStore()
	defer store.Close()
	ctx, stop := context.WithCancel(t.Context())
	s := New(Options{Model: endpoint("fake/a", slowCall{llmtest.New(llmtest.Call(call("1", "shell", `{"command":"true"}`))), func() {
		for !isKeeping() {
			runtime.Gosched()
		}
		stop()
	}}), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: store.Create(Info{Dir: dir}), Files: snapshot.Open(kept).Files})
	for range s.Turn(ctx, say("go")) {
	}
	if err := s.Close(); err != nil || isKeeping() {
		t.Errorf("files are kept after the session was closed: %v", err)
	}
}

// isKeeping reports whether some goroutine reads a file to keep it.
func isKeeping() bool {
	stacks := make([]byte, 1<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("snapshot.(*readWorker).process("))
}
