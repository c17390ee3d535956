package tools

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/tools/sandbox"
)

// errKilled is why a command in the background was ended: somebody wanted it.
var errKilled = errors.New("killed")

// stopReason returns why a command is ended whose context has ended.
func stopReason(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, errKilled) {
		return cause
	}
	return ctx.Err()
}

// runShell runs a command in the workspace, held if there is a policy, to its end or its
// deadline, or until it goes on in the background.
func (w *workspace) runShell(ctx context.Context, held *sandbox.Policy, args shellCommand, progress func(string)) Outcome {
	shell, err := findShell()
	if err != nil {
		return failedOutcome("%v", err)
	}
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	j := w.jobs.begin(jobOwner(ctx), args.Command, progress, cancel)
	r := &runningCommand{policy: held, result: headTail{limit: maxText - 1000}, progress: j.show, sink: j.write} // the rest is for notes
	ended := make(chan Outcome, 1)
	go func() {
		defer cancel(nil)
		defer func() {
			if p := recover(); p != nil { // of whoever watches
				ended <- failedOutcome("shell: internal error: %v", p)
			}
		}()
		ended <- w.run(running, r, append(shell, args.Command), time.Duration(args.Timeout)*time.Second)
	}()
	out, moved := w.jobs.attend(ctx, j, args, ended)
	if !moved {
		w.jobs.leave(j)
		return out
	}
	if held != nil {
		w.watchRepositories()
	}
	go func() { w.jobs.end(j, r, <-ended) }()
	return out
}

// attend waits for the end of a command, or until it goes on in the background.
func (l *Jobs) attend(ctx context.Context, j *job, args shellCommand, ended <-chan Outcome) (out Outcome, moved bool) {
	var expired, due <-chan time.Time
	if !args.own && args.Timeout == 0 {
		expired = l.timer(defaultTimeout)
	}
	switch after := l.backgroundAfter(); {
	case args.Background:
		due, expired = l.timer(settleTime), nil
	case after > 0 && args.own:
		due = l.timer(max(after, maxTimeout)) // they look on meanwhile
	case after > 0:
		due = l.timer(after)
	}
	canceled, wanted, refused := ctx.Done(), j.wanted, false
	for {
		select {
		case out := <-ended:
			if refused {
				out = failedOutcome("%v: it was ended. End another one with the tool jobs", errTooManyJobs)
			}
			return out, false
		case <-canceled:
			canceled, expired, due, wanted = nil, nil, nil, nil
			j.cancel(context.Cause(ctx))
		case <-expired:
			expired, due, wanted = nil, nil, nil
			j.cancel(context.DeadlineExceeded)
		case <-due:
			due = nil
			if moved = l.move(j); !moved && args.Background {
				refused, wanted = true, nil
				j.cancel(errTooManyJobs)
			}
		case <-wanted:
			moved = l.move(j)
		}
		if moved {
			j.detach()
			return j.movedOutcome(l.now()), true
		}
	}
}

// RunOwn runs a command that the user typed in dir: with all of their rights, and neither asked
// about nor held. Once they want that, and by itself after ten minutes if commands do so, it goes
// on in the background among jobs, for the conversation of [WithJobOwner].
func RunOwn(ctx context.Context, dir string, jobs *Jobs, command string, progress func(string)) Outcome {
	set, err := Open(dir)
	if err != nil {
		return failedOutcome("%v", err)
	}
	if jobs != nil {
		set.jobs = jobs
	}
	set.EnableSandbox(SandboxConfig{Off: true}) // a helper still sees to it that nothing outlives parley
	args := shellCommand{shellArgs{Command: command}, true}
	if _, err := planShell(ctx, set.workspace, args.shellArgs); err != nil {
		_ = set.release()
		return failedOutcome("%v", err)
	}
	out := set.runShell(ctx, nil, args, progress)
	j := set.jobs.find(out.Job)
	if j == nil {
		_ = set.release()
		return out
	}
	go func() {
		<-j.done
		_ = set.release()
	}()
	return out
}

// forget drops the oldest of the jobs that ended. Those that the model was not told of stay, with
// the end of their output. The list is locked.
func (l *Jobs) forget() {
	over := -maxEndedJobs
	for _, j := range l.list {
		if !j.snapshot().Runs() {
			over++
		}
	}
	l.list = slices.DeleteFunc(l.list, func(j *job) bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		if over <= 0 || j.is.Runs() {
			return false
		}
		over--
		if !j.told {
			j.shrink()
		}
		return j.told
	})
}

// shrink keeps the end of what a job has written, for a model that was not told of it yet. The
// job is locked.
func (j *job) shrink() {
	for _, text := range []*headTail{&j.unread, &j.all} {
		if kept := text.String(); len(kept) > maxToldText {
			*text = headTail{limit: maxToldText}
			text.write(note("only the end of its output is kept") + "\n" + strings.ToValidUTF8(kept[len(kept)-maxToldText/2:], ""))
		}
	}
	j.is.Command, j.notes = truncate(j.is.Command, maxToldText), truncate(j.notes, maxToldText)
}

// endState says in a few words how a command ended.
func (r *runningCommand) endState() string {
	switch {
	case errors.Is(r.stopped, errKilled):
		return r.stopped.Error()
	case errors.Is(r.stopped, context.DeadlineExceeded):
		return "timed out"
	case r.stopped != nil:
		return "canceled"
	case r.Child == nil || r.State() == nil:
		return "failed"
	}
	return r.State().String()
}
