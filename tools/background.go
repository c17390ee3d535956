package tools

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/tools/act"
	"parley/tools/process"
)

// errKilled is the cause when the user or the model ends a background command.
var errKilled = errors.New("killed")

// stopReason returns the reason for which ctx ended a command.
func stopReason(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, errKilled) {
		return cause
	}
	return ctx.Err()
}

// runShell runs a command in the workspace, sandboxed if there is a policy. It returns when the
// command ends, reaches its deadline or moves to the background.
func (w *workspace) runShell(ctx context.Context, policy *process.SandboxPolicy, args shellCommand, progress func(string)) act.Outcome {
	argv, err := shellArgv(args.Command)
	if err != nil {
		return failedOutcome("%v", err)
	}
	if policy == nil {
		defer process.Sandbox.Trust()() // until it has ended or moved to the background
	}
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	j := w.jobs.begin(act.JobOwner(ctx), args.Command, progress, cancel)
	r := &runningCommand{policy: policy, result: headTail{limit: maxText - 1000}, progress: j.show, sink: j.write} // leaves room for notes
	r.undone.divert = func(text string) bool { return w.jobs.notify(j, text, &w.notices) }
	ended := make(chan act.Outcome, 1)
	go func() {
		defer cancel(nil)
		defer func() {
			if p := recover(); p != nil { // in the progress function
				ended <- failedOutcome("shell: internal error: %v", p)
			}
		}()
		ended <- w.runForModel(running, r, argv, time.Duration(args.Timeout)*time.Second)
	}()
	out, moved := w.jobs.waitOrMove(ctx, j, args, ended)
	if !moved {
		j.stopProgress()
		w.jobs.removeForeground(j)
		return out
	}
	go func() { w.jobs.finish(j, r, <-ended) }()
	return out
}

// waitOrMove waits until a command ends or moves to the background.
func (l *Jobs) waitOrMove(ctx context.Context, j *job, args shellCommand, ended <-chan act.Outcome) (out act.Outcome, moved bool) {
	var expired, due <-chan time.Time
	if !args.userTyped && args.Timeout == 0 {
		expired = l.timer(defaultTimeout)
	}
	switch after := l.backgroundAfter(); {
	case args.Background:
		due, expired = l.timer(settleTime), nil
	case after > 0 && args.userTyped:
		due = l.timer(max(after, maxTimeout)) // the user watches a command that they typed, so wait longer
	case after > 0:
		due = l.timer(after)
	}
	canceled, wanted, refused := ctx.Done(), j.moveRequested, false
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
			j.stopProgress()
			return j.movedOutcome(l.now()), true
		}
	}
}

// RunUserCommand runs a command that the user typed, in dir, with all their rights: it needs no
// approval and is not sandboxed. On request, or after ten minutes if SetBackground is in effect, it
// moves to the background among jobs, for the conversation of [act.WithJobOwner].
func RunUserCommand(ctx context.Context, dir string, jobs *Jobs, command string, progress func(string)) act.Outcome {
	set, err := Open(dir)
	if err != nil {
		return failedOutcome("%v", err)
	}
	if jobs != nil {
		set.jobs = jobs
	}
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

// pruneEnded removes the oldest ended jobs. It keeps the last output of jobs whose end the model
// does not know. The caller holds the list's lock.
func (l *Jobs) pruneEnded() {
	over := -maxEndedJobs
	for _, j := range l.list {
		if !j.snapshot().Runs() {
			over++
		}
	}
	l.list = slices.DeleteFunc(l.list, func(j *job) bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		if over <= 0 || j.info.Runs() {
			return false
		}
		over--
		if !j.endReported {
			j.truncateOutput()
		}
		return j.endReported
	})
}

// truncateOutput keeps only the last output of a job. The caller holds the
// job's lock.
func (j *job) truncateOutput() {
	for _, text := range []*headTail{&j.unread.headTail, &j.all} {
		if kept := text.String(); len(kept) > maxUnreadText {
			*text = headTail{limit: maxUnreadText}
			text.write(note("only the end of its output is kept") + "\n" + strings.ToValidUTF8(kept[len(kept)-maxUnreadText/2:], ""))
		}
	}
	j.info.Command, j.notes = truncate(j.info.Command, maxUnreadText), truncate(j.notes, maxUnreadText)
}

// endState describes briefly how a command ended.
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
