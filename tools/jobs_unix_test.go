//go:build unix

package tools

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tools/act"
	"parley/tools/permission"
)

// A clock has timers that end when a test says so.
type clock struct {
	mu     sync.Mutex
	timers map[time.Duration]chan time.Time
}

func (c *clock) timer(d time.Duration) <-chan time.Time { return c.timerOf(d) }

func (c *clock) timerOf(d time.Duration) chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers[d] == nil {
		c.timers[d] = make(chan time.Time)
	}
	return c.timers[d]
}

// passes ends a time for those who wait for it.
func (c *clock) passes(d time.Duration) { c.timerOf(d) <- time.Time{} }

// openJobs returns tools whose commands go to the background after a minute of a clock.
func openJobs(t *testing.T) (fixture, *clock) {
	f, c := open(t, nil), &clock{timers: map[time.Duration]chan time.Time{}}
	f.jobs.timer = c.timer
	f.SetBackground(time.Minute)
	return f, c
}

// plan plans a call for a conversation.
func (f fixture) plan(owner, tool string, with ...any) *act.Action {
	f.t.Helper()
	a, err := f.Plan(act.WithJobOwner(f.t.Context(), owner), tool, args(with...))
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// start runs a call beside the test. What it answers comes from the channel.
func (f fixture) start(owner string, a *act.Action) <-chan act.Outcome {
	ended := make(chan act.Outcome, 1)
	go func() { ended <- a.Run(act.WithJobOwner(f.t.Context(), owner), nil) }()
	return ended
}

// job works with a job as a model does.
func (f fixture) job(owner, action string, n int) string {
	f.t.Helper()
	return f.plan(owner, "jobs", "action", action, "job", n).Run(f.t.Context(), nil).Text
}

// until waits until a job has ended.
func (f fixture) until(n int) Job {
	<-f.jobs.find(n).done
	return f.jobs.find(n).snapshot()
}

// Offspring are processes that live long, and write their ids to pids.
const offspring = "sh -c 'echo $$ >> pids; sleep 1000 & echo $! >> pids; sleep 1000'"

func TestCommandsGoToTheBackground(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		background bool
		move       func(f fixture, c *clock)
	}{
		{"after a minute", false, func(_ fixture, c *clock) { c.passes(time.Minute) }},
		{"when the user wants it", false, func(f fixture, _ *clock) {
			if n, err := f.Jobs().Move(); n != 1 || err != nil {
				t.Errorf("%d are moved: %v", n, err)
			}
		}},
		{"when the model wants it", true, func(_ fixture, c *clock) { c.passes(settleTime) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, c := openJobs(t)
			told := make(chan Job, 1)
			f.Jobs().OnNews(func(j Job) { told <- j })
			a := f.plan("me", "shell", "command", "echo one; echo > here; until [ -e go ]; do sleep 0.01; done; echo two", "background", test.background)
			call := f.start("me", a)
			f.wait("here", 1)
			test.move(f, c)
			out := <-call
			if out.Job != 1 || out.Failed || !strings.Contains(out.Text, "continues in the background as job 1") {
				t.Fatalf("got %+v", out)
			}
			if is := f.Jobs().List(); len(is) != 1 || !is[0].Runs() || is[0].State != "" || is[0].Owner != "me" {
				t.Errorf("got %+v", is)
			}
			if ended := f.Jobs().TakeEnded("me"); len(ended) > 0 {
				t.Errorf("%v has ended", ended)
			}
			write(t, f.at("go"), "")
			f.until(1)
			if is := <-told; is.State != "exit status 0" || is.Runs() || is.Failed {
				t.Errorf("told of %+v", is)
			}
			if ended := f.Jobs().TakeEnded("other"); len(ended) > 0 {
				t.Errorf("another conversation is told of %v", ended)
			}
			first, again := f.Jobs().TakeEnded("me"), f.Jobs().TakeEnded("me")
			if len(first) != 1 || len(again) != 0 {
				t.Errorf("told %v, and again %v", first, again)
			}
			text := f.job("me", "read", 1)
			early, _, _ := strings.Cut(out.Text, "[")
			late, rest, _ := strings.Cut(text, "[")
			if whole := early + late; !strings.HasSuffix(whole, "two\n") || strings.Count(whole, "one") != 1 || !strings.HasPrefix(rest, "exit status 0]\n[job 1 has ended") {
				t.Errorf("it wrote %q, and then %q", out.Text, text)
			}
			if _, all, _ := f.Jobs().Output(1); all != "one\ntwo\n" {
				t.Errorf("the user reads %q", all)
			}
		})
	}
}

// Until a command is in the background, its call ends it; from then on nothing of the call does.
func TestCancelAndTheBackground(t *testing.T) {
	t.Parallel()
	f, c := openJobs(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan act.Outcome, 1)
	a := f.plan("", "shell", "command", offspring)
	go func() { ended <- a.Run(ctx, nil) }()
	pids := f.wait("pids", 2)
	c.passes(time.Minute)
	<-ended
	cancel()
	if got := f.job("", "list", 0); !strings.HasPrefix(got, "1\truns") {
		t.Errorf("got %q", got)
	}
	f.job("", "kill", 1)
	gone(t, pids...)
}

func TestJobsAreKilled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, state string
		kill        func(f fixture)
	}{
		{"by the model", "killed", func(f fixture) {
			if got := f.job("me", "kill", 1); !strings.Contains(got, "[killed after") {
				t.Errorf("got %q", got)
			}
		}},
		{"by the user", "killed by the user", func(f fixture) {
			if _, err := f.Jobs().Kill(1); err != nil {
				t.Error(err)
			}
			if _, err := f.Jobs().Kill(1); err == nil {
				t.Error("it is killed twice")
			}
		}},
		{"at the end", "killed", func(f fixture) {
			if ended := f.Jobs().Close(); len(ended) != 1 {
				t.Errorf("%v are ended", ended)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, c := openJobs(t)
			call := f.start("me", f.plan("me", "shell", "command", offspring, "background", true))
			pids := f.wait("pids", 2)
			c.passes(settleTime)
			<-call
			test.kill(f)
			gone(t, pids...)
			if is := f.until(1); is.State != test.state || is.Runs() {
				t.Errorf("it is %+v", is)
			}
		})
	}
}

func TestJobsOfOthersAreOutOfReach(t *testing.T) {
	f, c := openJobs(t)
	call := f.start("me", f.plan("me", "shell", "command", "echo > here; exec sleep 1000", "background", true))
	f.wait("here", 1)
	c.passes(settleTime)
	<-call
	for _, action := range []string{"read", "wait", "kill"} {
		if _, err := f.Plan(act.WithJobOwner(t.Context(), "you"), "jobs", args("action", action, "job", 1)); err == nil || !strings.Contains(err.Error(), "no job 1 of this conversation") {
			t.Errorf("%s: %v", action, err)
		}
	}
	if got := f.job("you", "list", 0); !strings.Contains(got, "no jobs") {
		t.Errorf("got %q", got)
	}
}

func TestJobCallsThatAreRefused(t *testing.T) {
	f := open(t, nil)
	for input, want := range map[string]string{
		`{"action":"read"}`:          "needs the number of a job",
		`{"action":"stop","job":1}`:  "use list, read, wait or kill",
		`{"action":"read","job":1}`:  "Jobs end when parley does",
		`{"action":"kill","job":-1}`: "bad arguments",
	} {
		if _, err := f.Plan(t.Context(), "jobs", input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// A model waits for a job as long as it says, and no longer than its call.
func TestWaitForJob(t *testing.T) {
	f, c := openJobs(t)
	call := f.start("", f.plan("", "shell", "command", "echo > here; until [ -e go ]; do sleep 0.01; done; exit 3", "background", true))
	f.wait("here", 1)
	c.passes(settleTime)
	<-call
	waiting := f.start("", f.plan("", "jobs", "action", "wait", "job", 1, "seconds", 7))
	c.passes(7 * time.Second)
	if out := <-waiting; out.Failed || !strings.Contains(out.Text, "[no new output]\n[job 1 runs, for ") {
		t.Errorf("got %+v", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := f.jobs.await(ctx, f.jobs.find(1), 0); !out.Failed {
		t.Errorf("got %+v", out)
	}
	waiting = f.start("", f.plan("", "jobs", "action", "wait", "job", 1))
	write(t, f.at("go"), "")
	if out := <-waiting; !strings.Contains(out.Text, "[exit status 3]\n[job 1 has ended") {
		t.Errorf("got %+v", out)
	}
	if told := f.Jobs().TakeEnded(""); len(told) > 0 {
		t.Errorf("told again: %v", told)
	}
}

// A model reads of a job what is new, and a line that was drawn again as a whole.
func TestJobOutputIsPlayed(t *testing.T) {
	t.Parallel()
	f, c := openJobs(t)
	call := f.start("", f.plan("", "shell", "background", true, "command", `echo first; printf 'get 10%%'; echo > here
		until [ -e go ]; do sleep 0.01; done; for i in $(seq 10 90); do printf '\rget %d%%' $i; done
		until [ -e end ]; do sleep 0.01; done; printf '\rgot it\033[K\nlast\n'`))
	f.wait("here", 1)
	c.passes(settleTime)
	shown := func(want string) {
		for text := ""; !strings.HasSuffix(text, want); time.Sleep(time.Millisecond) {
			_, text, _ = f.Jobs().Output(1)
		}
	}
	shown("first\nget 10%")
	got := (<-call).Text + "\n" + f.job("", "read", 1) // which of them has it depends on when the command began
	if strings.Count(got, "first\nget 10%\n[") != 1 {
		t.Errorf("at first %q", got)
	}
	write(t, f.at("go"), "")
	shown("first\nget 90%")
	if got := f.job("", "read", 1); !strings.HasPrefix(got, "get 90%\n[job 1 runs") {
		t.Errorf("then %q", got)
	}
	write(t, f.at("end"), "")
	if is := f.until(1); is.Size != int64(len("first\ngot it\nlast\n")) {
		t.Errorf("%d bytes", is.Size)
	}
	if got := f.job("", "read", 1); !strings.HasPrefix(got, "got it\nlast\n[exit status 0]\n[job 1 has ended") {
		t.Errorf("at the end %q", got)
	}
}

// Whatever a job writes, what is kept of it is bounded, and can be shown.
func TestJobOutputIsBoundedAndPlain(t *testing.T) {
	t.Parallel()
	f, c := openJobs(t)
	call := f.start("", f.plan("", "shell", "background", true,
		"command", `printf '\033]0;evil\007\033[31mred\n'; head -c 3000000 /dev/zero | tr '\0' 'x'; printf 'last\n\377\n'; echo > here; until [ -e go ]; do sleep 0.01; done`))
	f.wait("here", 1)
	c.passes(settleTime)
	out := <-call
	write(t, f.at("go"), "")
	f.until(1)
	_, all, _ := f.Jobs().Output(1)
	for name, text := range map[string]string{"call": out.Text + f.job("", "read", 1), "user": all} {
		if strings.Contains(text, "\x1b") || !strings.HasPrefix(text, "red\nxxx") || !strings.Contains(text, "last\n\uFFFD") || !strings.Contains(text, "characters left out") || len(text) > 1<<20 {
			t.Errorf("%s: %d bytes: %.80q", name, len(text), text)
		}
	}
	if cap(f.jobs.find(1).all.tail) > 1<<20 {
		t.Errorf("%d bytes are kept", cap(f.jobs.find(1).all.tail))
	}
	if text := f.jobs.find(1).notes; !strings.Contains(text, "can be paged through") {
		t.Errorf("notes %q", text)
	}
}

func TestTooManyJobs(t *testing.T) {
	t.Parallel()
	f, c := openJobs(t)
	for i := range maxJobs + 1 {
		call := f.start("", f.plan("", "shell", "command", "echo $$ >> pids; exec sleep 1000", "background", true))
		pids := f.wait("pids", i+1)
		c.passes(settleTime)
		if out := <-call; out.Failed != (i == maxJobs) {
			t.Errorf("command %d: %+v", i, out)
		} else if out.Failed {
			gone(t, pids[i])
		}
	}
	if _, err := f.Jobs().Move(); err != nil {
		t.Errorf("there was nothing to move: %v", err)
	}
}

// Those that ended are forgotten one day, and numbers are not used again.
func TestEndedJobsAreForgotten(t *testing.T) {
	t.Parallel()
	f, c := openJobs(t)
	const all = maxEndedJobs + 3
	told := make(chan Job, all)
	f.Jobs().OnNews(func(j Job) { told <- j })
	for i := 1; i <= all; i++ {
		name := fmt.Sprint("go", i)
		call := f.start("", f.plan("", "shell", "command", "until [ -e "+name+" ]; do sleep 0.01; done", "background", true))
		c.passes(settleTime)
		<-call
		write(t, f.at(name), "")
		<-told // it is noted by then, after its end
		f.Jobs().TakeEnded("")
	}
	if list := f.Jobs().List(); len(list) != maxEndedJobs || list[0].N != all-maxEndedJobs+1 || list[maxEndedJobs-1].N != all {
		t.Errorf("got %+v", list)
	}
}

// Without jobs a model could not get back to a command: where there is a shell they are offered.
func TestJobsComeWithTheShell(t *testing.T) {
	f := open(t, nil)
	only, err := f.Only("shell")
	if err != nil {
		t.Fatal(err)
	}
	if names := only.(*Set).toolNames(); strings.Join(names, " ") != "shell jobs" {
		t.Errorf("offered are %v", names)
	}
}

// The permission of the call counts for all that the command does later, and nothing more is
// allowed: jobs are read and ended in every mode, and started as the mode says.
func TestPermissionOfJobs(t *testing.T) {
	f, c := openJobs(t)
	call := f.start("", f.plan("", "shell", "command", "echo > here; exec sleep 1000", "background", true))
	f.wait("here", 1)
	c.passes(settleTime)
	<-call
	for _, mode := range []act.Mode{act.ModeAsk, act.ModeAuto, act.ModePlan, act.ModeReadOnly} {
		p := NewPolicy(mode)
		p.AddRules([]permission.Rule{{Effect: permission.Ask, Tool: "shell"}})
		if v := p.Decide(f.plan("", "jobs", "action", "kill", "job", 1)); v != act.Allow {
			t.Errorf("%s: killing: %s", mode, v)
		}
		if v := p.Decide(f.plan("", "shell", "command", "true", "background", true)); v == act.Allow {
			t.Errorf("%s: starting: %s", mode, v)
		}
	}
}

// A job stays in the sandbox of its call.
func TestJobsAreHeld(t *testing.T) {
	f, c := openJobs(t)
	f.EnableSandbox(SandboxConfig{})
	if !f.Sandbox().Available() {
		t.Skip("no sandbox here")
	}
	outside := filepath.Join(t.TempDir(), "file")
	call := f.start("", f.plan("", "shell", "background", true, "command", "echo > here; until [ -e go ]; do sleep 0.01; done; echo x > "+outside+" || exit 7"))
	f.wait("here", 1)
	c.passes(settleTime)
	<-call
	write(t, f.at("go"), "")
	if is := f.until(1); is.State != "exit status 7" {
		t.Errorf("it is %+v", is)
	}
}

// A job that the model was not told of is kept until it was, with the end of its output alone once
// there are many.
func TestUntoldJobsAreKept(t *testing.T) {
	t.Parallel()
	f, c := openJobs(t)
	const all = maxEndedJobs + 3
	run := func(i int, owner, before string) {
		name := fmt.Sprint("go", i)
		call := f.start(owner, f.plan(owner, "shell", "command", "until [ -e "+name+" ]; do sleep 0.01; done; "+before+"echo last"+name, "background", true))
		c.passes(settleTime)
		<-call
		ended := make(chan Job, 1)
		f.Jobs().OnNews(func(j Job) { ended <- j })
		write(t, f.at(name), "")
		<-ended
	}
	run(1, "away", `head -c 50000 /dev/zero | tr '\0' 'x'; `)
	for i := 2; i <= all; i++ {
		run(i, "me", "")
		f.Jobs().TakeEnded("me")
	}
	list := f.Jobs().List()
	if list[0].N != 1 || len(list) > maxEndedJobs+1 {
		t.Fatalf("%d are kept, from job %d on", len(list), list[0].N)
	}
	_, text, _ := f.Jobs().Output(1)
	if len(text) > maxUnreadText || !strings.HasPrefix(text, "[only the end of its output is kept]\n") || !strings.HasSuffix(text, "xlastgo1\n") {
		t.Errorf("%d bytes are kept of it: %.60q", len(text), text)
	}
	if got := f.job("away", "read", 1); !strings.Contains(got, "xlastgo1\n[exit status 0]\n") || !strings.Contains(got, "[job 1 has ended") {
		t.Errorf("the model reads %q", got)
	}
	run(all+1, "me", "")
	if list = f.Jobs().List(); list[0].N == 1 {
		t.Error("it is kept though the model knows of it")
	}
}

// A command of the user's own goes to the background when they want that, and by itself only after
// ten minutes, if commands do so at all.
func TestOwnCommandInTheBackground(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		after time.Duration
		move  func(t *testing.T, f fixture, c *clock)
		waits []time.Duration // what it may go there after
	}{
		{"when they want that", time.Minute, moveByUser, []time.Duration{maxTimeout}},
		{"by itself", time.Minute, func(_ *testing.T, _ fixture, c *clock) { c.passes(maxTimeout) }, []time.Duration{maxTimeout}},
		{"none does by itself", 0, moveByUser, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, c := openJobs(t)
			f.SetBackground(test.after)
			shown, ended := make(chan string, 2), make(chan act.Outcome, 1)
			go func() {
				ended <- RunUserCommand(act.WithJobOwner(t.Context(), "me"), f.dir, f.Jobs(), "echo one; until [ -e go ]; do sleep 0.01; done; echo two; pwd", func(text string) { shown <- text })
			}()
			if got := <-shown; got != "one\n" {
				t.Fatalf("the user sees %q", got)
			}
			test.move(t, f, c)
			if out := <-ended; out.Job != 1 || !strings.HasPrefix(out.Text, "one\n[it continues in the background as job 1") {
				t.Errorf("got %+v", out)
			}
			c.mu.Lock()
			if got := slices.Collect(maps.Keys(c.timers)); !slices.Equal(got, test.waits) {
				t.Errorf("it waited for %v", got)
			}
			c.mu.Unlock()
			write(t, f.at("go"), "")
			f.until(1)
			if got := f.job("me", "read", 1); !strings.HasPrefix(got, "two\n"+f.dir+"\n[exit status 0]") {
				t.Errorf("the model reads %q", got)
			}
		})
	}
}

func moveByUser(t *testing.T, f fixture, _ *clock) {
	if n, err := f.Jobs().Move(); n != 1 || err != nil {
		t.Fatalf("%d are moved: %v", n, err)
	}
}

// Once the jobs are closed no command goes to the background, also none that runs already.
func TestNoJobAfterClose(t *testing.T) {
	f := open(t, nil)
	if ended := f.Jobs().Close(); len(ended) > 0 {
		t.Fatalf("ended %v", ended)
	}
	if text, failure := f.do("shell", "command", "sleep 100", "background", true); failure == "" || len(f.Jobs().List()) > 0 {
		t.Errorf("got %q, jobs %v", text, f.Jobs().List())
	}
}
