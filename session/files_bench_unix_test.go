//go:build unix

package session_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// A commander is a model that calls a command, which tells when it began, and then is done.
type commander struct {
	llm.Model
	arrives  time.Duration // how long the call takes to arrive
	approved time.Duration // how long the user takes to approve it; 0: they are not asked
	ended    time.Time     // when the last one had arrived, or was approved
	calls    int
}

func (m *commander) Stream(ctx context.Context, req llm.Request) llm.Stream {
	if req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
		return llmtest.New(llmtest.Say("done")).Stream(ctx, req)
	}
	m.calls++
	answer := llmtest.New(llmtest.Call(call(strconv.Itoa(m.calls), "shell", `{"command":"echo $EPOCHREALTIME"}`))).Stream(ctx, req)
	return func(yield func(llm.Event, error) bool) {
		for e, err := range answer {
			if _, ok := e.(llm.Finish); ok {
				time.Sleep(m.arrives)
				m.ended = time.Now()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// BenchmarkUndoAdds measures what undo adds between the end of an answer, or the user's approval, and the
// first instruction of its command, in a repository of 5,000 files: conversations with undo and without take turns.
func BenchmarkUndoAdds(b *testing.B) {
	dir := b.TempDir()
	for i := range 5_000 {
		folder := filepath.Join(dir, fmt.Sprintf("a%d/b%d", i/2000, i/100))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s/f%d.go", folder, i), fmt.Appendf(nil, "package f\n\nconst N = %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add -A"} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	time.Sleep(200 * time.Millisecond) // files that have just changed are read again
	for _, sandboxed := range []bool{true, false} {
		for _, c := range []commander{{}, {arrives: 100 * time.Millisecond}, {approved: 100 * time.Millisecond}, {approved: 400 * time.Millisecond}} {
			b.Run(fmt.Sprintf("sandbox=%v/arrives=%v/approved=%v", sandboxed, c.arrives, c.approved), func(b *testing.B) {
				without := newUndoArm(b, dir, sandboxed, c, nil)
				with := newUndoArm(b, dir, sandboxed, c, snapshot.Open(filepath.Join(b.TempDir(), "undo")))
				without.run(b)
				with.run(b)
				without.took, with.took = nil, nil
				for i := 0; b.Loop(); i++ {
					arms := []*undoArm{without, with}
					arms[i%2].run(b)
					arms[1-i%2].run(b)
				}
				for _, a := range []*undoArm{without, with} {
					slices.Sort(a.took)
				}
				middle := len(with.took) / 2
				b.ReportMetric(without.took[0], "without-min-ms")
				b.ReportMetric(with.took[0], "with-min-ms")
				b.ReportMetric(without.took[middle], "without-p50-ms")
				b.ReportMetric(with.took[middle], "with-p50-ms")
				b.ReportMetric(with.took[middle]-without.took[middle], "adds-ms")
			})
		}
	}
}

// An undoArm is a conversation whose model calls a command in each turn.
type undoArm struct {
	*Session
	commander *commander
	took      []float64 // from the end of a call, or its approval, to the first instruction of its command, in ms
}

func newUndoArm(b *testing.B, dir string, sandboxed bool, model commander, kept undo.Store) *undoArm {
	b.Helper()
	set, err := tools.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { set.Close() })
	set.EnableSandbox(tools.SandboxConfig{Off: !sandboxed})
	set.Sandbox()
	data := b.TempDir()
	store, err := OpenStore(func(name string) string {
		if name == "XDG_DATA_HOME" {
			return data
		}
		return ""
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	model.Model = llmtest.New()
	a := &undoArm{commander: &model}
	mode := act.ModeYolo
	if model.approved > 0 {
		mode = act.ModeAsk
	}
	a.Session = New(Options{Model: endpoint("fake/a", &model), Tools: set, Policy: tools.NewPolicy(mode), Log: store.Create(Info{Dir: dir}), Files: kept.Files})
	b.Cleanup(func() { a.Close() })
	return a
}

// run plays a turn.
func (a *undoArm) run(b *testing.B) {
	b.Helper()
	for e := range a.Turn(b.Context(), say("go")) {
		if ask, ok := e.(ApprovalRequest); ok {
			time.Sleep(a.commander.approved)
			a.commander.ended = time.Now()
			ask.Reply(act.Approval{Verdict: act.Allow})
		}
		if r, ok := e.(Result); ok {
			seconds, _, _ := strings.Cut(r.Part.Text, "\n")
			began, err := strconv.ParseInt(strings.Replace(seconds, ".", "", 1), 10, 64) // in µs, by bash
			if err != nil {
				b.Fatalf("%q: %v", r.Part.Text, err)
			}
			a.took = append(a.took, float64(began-a.commander.ended.UnixMicro())/1000)
		}
	}
}
