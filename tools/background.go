package tools

import (
	"context"
	"errors"
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
func (w *workspace) runShell(ctx context.Context, held *sandbox.Policy, args shellArgs, progress func(string)) Outcome {
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
func (l *Jobs) attend(ctx context.Context, j *job, args shellArgs, ended <-chan Outcome) (out Outcome, moved bool) {
	var expired, due <-chan time.Time
	if args.Timeout == 0 {
		expired = l.timer(defaultTimeout)
	}
	switch after := l.backgroundAfter(); {
	case args.Background:
		due, expired = l.timer(settleTime), nil
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
