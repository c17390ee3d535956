package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools"
	"parley/tools/undo"
)

// What the model is told of calls that did not run.
const (
	notRun           = "This was not run: "
	canceledCallText = "The user stopped this before it was finished."
	deniedCallText   = "The user did not allow this call."
	keepPlanningText = "The user has not accepted this plan: keep planning, and change nothing yet."
	stoppedCallText  = "The user stopped this call before it was finished. Until then:\n\n"
)

// Bounds for an answer that asks for very much at once.
const (
	maxCalls         = 128
	maxParallelCalls = 8 // calls that run at the same time
)

// A job is one call on its way to a result.
type job struct {
	call          llm.Part
	project       string        // the file of the working directory that wants it; "": the model does, or the user
	action        *tools.Action // what it would do
	err           error         // why it cannot be understood, in words for the model
	rejected      bool          // err stands, whatever the tools say
	notice        string        // told to the model in front of the output
	started       bool          // it runs, or ran, and may have changed something
	outcome       tools.Outcome // of one that ran beside others, until result says it
	result        *Result
	media         []llm.Part      // that goes with it
	fileWatch     *undo.Watch     // looks at what it changes; nil: nothing does
	filesRecorded <-chan struct{} // closed once that is kept; nil: nothing is
	hook          hookVerdict     // what hooks say of it

	denied, stopped bool // why there is no better result
}

// runCalls deals with every call of an answer and adds one result for each, in
// their order, whatever happens. Neighbours that only read run in parallel; all
// others run alone, so that a read behind a write sees what was written.
func (t *turn) runCalls(calls []llm.Part, reason llm.Reason) error {
	jobs := make([]*job, len(calls))
	for i, call := range calls {
		jobs[i] = &job{call: call, err: rejectReason(i, call, reason)}
		jobs[i].rejected = jobs[i].err != nil
	}
	keepLastPlan(t, jobs)
	t.results = t.newResults(jobs)
	t.warmFiles(false)
	for rest := jobs; len(rest) > 0 && t.ctx.Err() == nil; {
		n := 0
		for n < len(rest) && t.planCall(rest[n], rest[n].call.Input) && rest[n].action.Access == tools.AccessRead {
			n++
		}
		n = max(n, 1)
		t.settleCalls(rest[:n])
		rest = rest[n:]
		if len(rest) > 0 {
			t.persist(t.results.node()) // what ran, ran, even if parley ends now
		}
	}
	for _, j := range jobs {
		if j.result == nil { // canceled before it ended, or began
			t.setResult(j, tools.Outcome{Text: canceledCallText, Failed: true})
		}
	}
	n := t.results.node()
	n.Partial = false
	t.mu.Lock()
	t.tree.Put(n)
	t.mu.Unlock()
	t.persist(n)
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return stoppedByHook(jobs)
}

// toolResults holds the message that answers a response's calls, while they run.
type toolResults struct {
	store.Node // without parts
	jobs       []*job
}

func (t *turn) newResults(jobs []*job) toolResults {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.tree.NewNode(llm.Message{Role: llm.RoleTool})
	n.At, n.Partial = t.now(), true
	return toolResults{n, jobs}
}

// node returns the message with the result of each job that has one. Of others
// it says which began to run. Writing it says how far the calls are.
func (r toolResults) node() store.Node {
	n := r.Node
	n.Results = map[string]store.Outcome{}
	for _, j := range r.jobs {
		if j.result == nil && j.started {
			n.Results[j.call.ID] = store.Outcome{Started: true}
		}
		if j.result != nil {
			n.Parts = append(n.Parts, j.result.Part)
			n.Parts = append(n.Parts, j.media...)
			n.Results[j.call.ID] = store.Outcome{Diff: j.result.Diff, Duration: j.result.Duration, Denied: j.denied, Stopped: j.stopped}
		}
	}
	return n
}

// rejectReason returns why the nth call of an answer must not run at all. An answer that
// was refused or reached its limit may hold only a part of what was meant.
func rejectReason(n int, call llm.Part, reason llm.Reason) error {
	switch {
	case call.Failed:
		return errors.New("this call could not be read and was not run: write it again in the required form, with complete JSON")
	case reason == llm.Refused:
		return errors.New("this was not run: the answer was refused")
	case reason == llm.Length:
		return errors.New("this was not run: the answer reached its length limit before it was complete")
	case call.Repeated:
		return errors.New("this was not run: an earlier call of the same answer has its id; call it again if it was meant")
	case n >= maxCalls:
		return fmt.Errorf("this was not run: an answer may ask for %d tools at once", maxCalls)
	}
	return nil
}

// planCall works out what a call would do, and reports whether it can be
// understood. It is done anew when the call's turn comes: what ran in between
// may have changed the answer.
func (t *turn) planCall(j *job, input string) bool {
	if j.rejected {
		return false
	}
	j.action, j.err = nil, nil
	if t.tools == nil {
		j.err = fmt.Errorf("no tool %q: no tools are available here", j.call.Name)
		return false
	}
	if args, ok := llm.Arguments(input); ok {
		input = string(args)
	}
	j.action, j.err = t.tools.Plan(t.ctx, j.call.Name, input)
	if j.err == nil && j.project != "" {
		j.action = tools.FromProject(j.action, j.project)
	}
	return j.err == nil
}

// settleCalls announces jobs, decides about them one by one, and runs together what
// may run.
func (t *turn) settleCalls(jobs []*job) {
	var cleared []*job
	for _, j := range jobs {
		t.emit(Call{j.call})
		if j.err != nil {
			t.setResult(j, tools.Outcome{Text: j.err.Error(), Failed: true})
			continue
		}
		if t.decide(j) {
			cleared = append(cleared, j)
		}
	}
	t.executeCalls(cleared)
}

// decide asks the policy, and the user where the policy wants that. A job
// that may not run gets its result.
func (t *turn) decide(j *job) bool {
	for {
		verdict, ok := verdictOf(t, j)
		if !ok {
			return false
		}
		t.watch(j)
		switch verdict {
		case tools.Allow:
			t.emit(Decision{ID: j.call.ID, Verdict: tools.Allow, By: "policy"})
			return true
		case tools.Deny:
			t.deny(j, "policy", notRun+t.policy.DenialReason(j.action))
			return false
		}
		j.tellIrreversible()
		answer, ok := t.ask(j)
		if !ok {
			j.unwatch()
			return false // canceled; runCalls closes it
		}
		if answer.Verdict != tools.Allow {
			by, text := "person", deniedCallText
			if j.action.Proposal != "" {
				text = keepPlanningText
			}
			switch {
			case answer.Reason != "":
				by, text = "policy", notRun+answer.Reason
			case answer.Note != "":
				text += " They said: " + answer.Note
			}
			t.deny(j, by, text)
			return false
		}
		if answer.Input != "" && answer.Input != string(j.action.Input) {
			// What is shown is what runs: changed arguments are planned and
			// shown anew.
			j.unwatch()
			j.notice, j.hook = "The user changed the arguments to "+answer.Input+"\n\n", hookVerdict{}
			if !t.planCall(j, answer.Input) {
				t.setResult(j, tools.Outcome{Text: j.err.Error(), Failed: true})
				return false
			}
			continue
		}
		t.rememberApproval(j, answer)
		t.emit(Decision{ID: j.call.ID, Verdict: tools.Allow, By: "person"})
		return true
	}
}

func (t *turn) ask(j *job) (tools.Approval, bool) {
	t.persistResults() // a user may take long, and nothing of it ran until then
	reply := make(chan tools.Approval, 1)
	notifyHooks(t, j.action)
	t.emit(ApprovalRequest{Call: j.call, Action: j.action, reply: reply})
	select {
	case answer := <-reply:
		return answer, t.ctx.Err() == nil
	case <-t.ctx.Done():
		return tools.Approval{}, false
	}
}

// executeCalls runs jobs side by side and yields their progress and results from
// this goroutine.
func (t *turn) executeCalls(jobs []*job) {
	type news struct {
		job          *job
		text, notice string
		end          *tools.Outcome
	}
	t.recordStart(jobs)
	stoppable := t.runningCalls.start(t.ctx, jobs)
	events := make(chan news)
	slots, media := make(chan struct{}, maxParallelCalls), tools.NewMediaGate()
	var running sync.WaitGroup
	for i, j := range jobs {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, turn := media.Turn(tools.WithShown(stoppable[i], func(text string) bool { return HasSkill(t.Session, text) }))
			defer turn.End()
			ctx = tools.WithReady(ctx, j.keepFiles(func(notice string) { events <- news{job: j, notice: notice} }))
			out := j.action.Run(ctx, func(text string) { events <- news{job: j, text: text} })
			if told := j.compareFiles(t.tools, &out); told != "" {
				events <- news{job: j, notice: told}
			}
			t.prepare(j, &out, turn)
			for _, told := range afterCall(t, ctx, j, &out) {
				events <- news{job: j, notice: told}
			}
			if stopped := t.runningCalls.end(j, stoppable[i]); stopped && out.Failed {
				j.stopped, out.Text = true, stoppedCallText+out.Text
			}
			events <- news{job: j, end: &out}
		})
	}
	go func() {
		running.Wait()
		close(events)
	}()
	for n := range events {
		if n.end != nil {
			tellEndedJobs(t, n.end)
			t.setResult(n.job, *n.end)
			continue
		}
		if n.notice != "" {
			t.emit(llm.Notice{Text: n.notice})
		} else {
			t.emit(Progress{ID: n.job.call.ID, Text: n.text})
		}
	}
}

// prepare makes the media of an outcome fit to be sent, while the call has its turn.
func (t *turn) prepare(j *job, out *tools.Outcome, turn *tools.MediaTurn) {
	media := out.Media
	out.Media = nil
	for _, p := range media {
		p.Kind, p.ID, p.Name = llm.Media, j.call.ID, cmp.Or(p.Name, j.call.Name)
		if t.prepareMedia != nil {
			prepared, told, err := llm.Part{}, "", turn.Wait()
			if err == nil {
				prepared, told, err = t.prepareMedia(p)
			}
			if err != nil {
				out.Text += "\n[not shown: " + err.Error() + "]"
				continue
			}
			if p = prepared; told != "" {
				out.Text += "\n[" + told + "]"
			}
			p.Kind, p.ID = llm.Media, j.call.ID
		}
		out.Media = append(out.Media, p)
	}
}

// recordStart writes that jobs are about to run, before they do, unless they only
// read: whatever ends parley from here on, nobody is told that they did not run.
func (t *turn) recordStart(jobs []*job) {
	changes := false
	for _, j := range jobs {
		j.started = j.action.Access != tools.AccessRead
		changes = changes || j.started
	}
	if changes {
		t.persistResults()
	}
}

func (t *turn) setResult(j *job, out tools.Outcome) {
	j.stopped = out.Failed && !j.denied && (j.stopped || t.ctx.Err() != nil)
	j.result = &Result{
		Part:     llm.Part{Kind: llm.Result, ID: j.call.ID, Name: j.call.Name, Text: j.notice + out.Text, Failed: out.Failed},
		Diff:     out.Diff,
		Duration: out.Duration,

		Stopped: j.stopped,
	}
	j.media = out.Media
	t.emit(*j.result)
}

// errStopped holds why the context of a call ended that the user stopped.
var errStopped = errors.New("stopped by the user")

// runningCalls holds the tool calls of the moment. The zero value is none.
type runningCalls struct {
	prepareMedia func(llm.Part) (llm.Part, string, error) // see Options; nil: media goes as it is
	files        *undo.History                            // of what they change; nil: none is kept
	warmed       bool                                     // files were read before the first of them in this turn
	hooks        sessionHooks
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
