package session

import (
	"context"
	"errors"
	"parley/providers/llm"
	"sync"
)

// errStopped holds why the context of a call ended that the user stopped.
var errStopped = errors.New("stopped by the user")

// runningCalls holds the tool calls of the moment. The zero value is none.
type runningCalls struct {
	prepareMedia func(llm.Part) (llm.Part, string, error) // see Options; nil: media goes as it is
	callsLock    sync.Mutex
	cancels      map[*job]context.CancelCauseFunc
}

// StopCalls ends the tool calls that run at the moment, and returns how many that
// are. The turn goes on: the model is told that the user stopped them, and what
// they had to say until then.
func (r *runningCalls) StopCalls() int {
	r.callsLock.Lock()
	defer r.callsLock.Unlock()
	n := len(r.cancels)
	for _, cancel := range r.cancels {
		cancel(errStopped)
	}
	clear(r.cancels)
	return n
}

// start returns a context for each job, which StopCalls ends.
func (r *runningCalls) start(ctx context.Context, jobs []*job) []context.Context {
	r.callsLock.Lock()
	defer r.callsLock.Unlock()
	r.cancels = map[*job]context.CancelCauseFunc{}
	contexts := make([]context.Context, len(jobs))
	for i, j := range jobs {
		contexts[i], r.cancels[j] = context.WithCancelCause(ctx)
	}
	return contexts
}

// end forgets a job that does not run any more, and reports whether it was stopped.
func (r *runningCalls) end(j *job, ctx context.Context) (stopped bool) {
	r.callsLock.Lock()
	defer r.callsLock.Unlock()
	if cancel, runs := r.cancels[j]; runs {
		cancel(nil)
		delete(r.cancels, j)
	}
	return errors.Is(context.Cause(ctx), errStopped)
}
