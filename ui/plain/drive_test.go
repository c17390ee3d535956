// The dialogues in testdata are compared as a whole. go test ./ui/plain -update rewrites them,
// and the part of the manual that lists commands. Read the diff.

package plain

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/plain/console"
	_ "parley/ui/uitest" // registers the flag -update
)

// A drive is a front end with its own clock, which only the test moves, and a
// terminal that echoes input.
type drive struct {
	*frontend
	t    *testing.T
	fake *llmtest.Fake
	heap bytes.Buffer
	past int // length of the dialogue when the front end got the last line
	time atomic.Int64
	dir  string
}

// talk returns a front end whose model answers with turns, in a directory with one file.
func talk(t *testing.T, change func(*app.Options, *session.Options), turns ...llmtest.Turn) *drive {
	t.Helper()
	d := &drive{t: t, fake: llmtest.New(turns...), dir: t.TempDir()}
	d.time.Store(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixNano())
	if err := os.WriteFile(filepath.Join(d.dir, "a.txt"), []byte("alpha\nbeta\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := tools.Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	now := d.clock
	policy := tools.NewPolicy(act.ModeAsk)
	policy.SetWorkspace(d.dir)
	set.SetPolicy(policy)
	so := session.Options{Model: endpoint("fake/m", d.fake), Tools: set, Policy: policy, Now: now}
	o := app.Options{
		Export: func(_ *session.Session, format, path string) (string, string, error) {
			return d.dir + "/" + path, "", nil
		},
		Workspace: "~/src", Directory: d.dir, Now: now, Getenv: func(string) string { return "" },
		Models: app.Models{Choices: func() []app.ModelChoice {
			return []app.ModelChoice{
				{Name: "fake/m", Abilities: "tools", Window: "32K", Ready: true}, {Name: "fake/other", Title: "Other", Window: "8K", Input: "$2", Output: "$8", Ready: true},
				{Name: "far/away", Why: "set FAR_API_KEY"},
			}
		}, Open: func(name string) (llm.Endpoint, error) { return endpoint(name, d.fake), nil }},
		AbbrevPath: func(path string) string { return strings.ReplaceAll(path, d.dir, "~/src") },
		Machine: app.Machine{Shell: func(_ context.Context, _, command string, progress func(string)) act.Outcome {
			progress("one\ntw")
			progress("o\n")
			return act.Outcome{Text: "one\ntwo\n[exit status 0]", Duration: 2 * time.Second}
		}},
	}
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	o.Library, so.Log = lib, lib.Create(session.Info{Dir: d.dir})
	o.Flows = flows.Register
	if change != nil {
		change(&o, &so)
	}
	if o.Session == nil {
		o.Session = session.New(so)
	}
	o.Opening.New = func() (*session.Session, error) {
		fresh := so
		fresh.Log = lib.Create(session.Info{Dir: d.dir})
		return session.New(fresh), nil
	}
	o.Opening.Resume = func(id string) (*session.Session, string, error) {
		log, err := lib.Resume(id)
		if err != nil {
			return nil, "", err
		}
		old := so
		old.Log = log
		return session.New(old), "", nil
	}
	o.Opening.Fork = func(id string, head int) (*session.Session, string, error) {
		log, _, err := lib.ForkInto(lib, id, head)
		if err != nil {
			return nil, "", err
		}
		copied := so
		copied.Log = log
		return session.New(copied), "", nil
	}
	d.frontend = newFrontend(o, &d.heap)
	d.out.Width = func() int { return 80 }
	t.Cleanup(func() {
		d.close()
		d.tasks.Wait()
		d.app.Session.Close()
	})
	d.start()
	d.settle()
	return d
}

func endpoint(name string, m llm.Model) llm.Endpoint {
	return llm.Endpoint{Model: m, Name: name, Origin: name, Strategy: "native", Efforts: []llm.Effort{llm.EffortLow, llm.EffortHigh}}
}

func (d *drive) clock() time.Time { return time.Unix(0, d.time.Load()).UTC() }

// enter types lines, each after a pause, and lets the front end react.
func (d *drive) enter(lines ...string) *drive {
	d.t.Helper()
	for _, line := range lines {
		d.input.lastLine = time.Time{}
		d.paste(line)
		d.idle()
	}
	return d
}

// paste types lines at once.
func (d *drive) paste(lines ...string) {
	for _, line := range lines {
		d.heap.WriteString(line + "\n") // the terminal's echo
		d.past = d.heap.Len()
		d.line(console.Line{Text: line, At: d.clock()})
	}
	d.pass(together)
}

// pass advances the clock.
func (d *drive) pass(span time.Duration) *drive {
	for d.time.Add(int64(span)); ; {
		due := false
		for _, at := range d.deadlines() {
			due = due || !at.IsZero() && !d.clock().Before(at)
		}
		if !due {
			break
		}
		d.tick()
		d.settle()
	}
	d.settle()
	return d
}

// until lets the front end work until so returns true.
func (d *drive) until(so func() bool) *drive {
	d.t.Helper()
	stuck := time.After(time.Minute)
	for !so() {
		select {
		case f := <-d.events:
			f()
		case <-d.mail.signal:
			d.mail.runPosted()
		case <-stuck:
			d.t.Fatalf("nothing comes any more:\n%s", d.said())
		}
		d.settle()
	}
	return d
}

// idle lets the front end work until it waits for the user.
func (d *drive) idle() *drive {
	d.t.Helper()
	d.until(func() bool {
		return d.isOver || d.pending == 0 && (d.turns.current == nil || d.questions.open() != nil)
	})
	if q := d.questions.first(); q != nil && !q.settled {
		d.pass(answerDelay)
	}
	return d
}

// heard lets the front end work until it has written text since the last typed line.
func (d *drive) heard(text string) *drive {
	d.t.Helper()
	return d.until(func() bool { return strings.Contains(d.said()[d.past:], text) })
}

func (d *drive) said() string { return d.heap.String() }

// golden compares the dialogue with a file.
func (d *drive) golden(name string) {
	d.t.Helper()
	got := strings.NewReplacer(d.dir, "DIR", d.app.Session.ID(), "ID").Replace(d.said())
	file := filepath.Join("testdata", name+".txt")
	if flag.Lookup("update").Value.String() == "true" { // of uitest
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatalf("%v; make it with -update. The dialogue is\n%s", err, got)
	}
	if got != string(want) {
		d.t.Errorf("the dialogue is not %s (-update accepts it). got\n%s\nwant\n%s", file, got, want)
	}
	if strings.ContainsRune(got, '\x1b') {
		d.t.Errorf("there is an escape in %q", got)
	}
}

// valid verifies the rules of all providers for the conversation.
func (d *drive) valid() {
	d.t.Helper()
	history := d.app.Session.History()
	got, _ := json.Marshal(llm.Repair(history))
	if want, _ := json.Marshal(history); !bytes.Equal(got, want) {
		d.t.Errorf("the conversation needs repair:\n got %s\nwant %s", want, got)
	}
}

// asks answers with a shell call.
func asks(command string) llmtest.Turn {
	input, _ := json.Marshal(map[string]string{"command": command})
	return llmtest.Call(llm.Part{ID: "c1", Name: "shell", Input: string(input)})
}
