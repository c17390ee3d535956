package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools"
	"parley/tools/undo"
)

// What the model is told of calls that did not run.
const (
	notRun           = "This was not run: "
	canceledCallText = notRun + "the user stopped the answer before."
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
	origin        func(*tools.Action) *tools.Action // adds to action who wants it; nil: a model does
	action        *tools.Action                     // what it would do
	err           error                             // why it cannot be understood, in words for the model
	rejected      bool                              // err stands, whatever the tools say
	notice        string                            // told to the model in front of the output
	started       bool                              // it runs, or ran, and may have changed something
	outcome       tools.Outcome                     // of a call of a compared model, until result has it
	result        *Result
	media         []llm.Part      // that goes with it
	fileWatch     *undo.Watch     // looks at what it changes; nil: nothing does
	filesRecorded <-chan struct{} // closed once that is kept; nil: nothing is
	hook          hookVerdict     // what hooks say of it

	denied, stopped bool // why there is no better result
}

// A callBatch is the calls of one response, or a command of a prompt, on their way to results.
type callBatch struct {
	*turn
	jobs    []*job
	results store.Node // the message of the results, without them; Seq 0: it is not stored, and no response has the calls
}

// newCallBatch returns the calls of a response, which ended for reason.
func newCallBatch(t *turn, calls []llm.Part, reason llm.Reason) *callBatch {
	b := &callBatch{turn: t, jobs: make([]*job, len(calls))}
	for i, call := range calls {
		b.jobs[i] = &job{call: call, err: rejectReason(i, call, reason)}
		b.jobs[i].rejected = b.jobs[i].err != nil
	}
	b.keepLastPlan()
	t.mu.Lock()
	defer t.mu.Unlock()
	b.results = t.tree.NewNode(llm.Message{Role: llm.RoleTool})
	b.results.At, b.results.Partial = t.now(), true
	return b
}

// run gives every call one result, in their order, whatever happens. Neighbours that only
// read run in parallel; all others run alone, so that a read behind a write sees what was
// written, and so do those whose order matters.
func (b *callBatch) run() error {
	b.warmFiles(false)
	for rest := b.jobs; len(rest) > 0 && b.ctx.Err() == nil; {
		n := 0
		for n < len(rest) && b.plan(rest[n], rest[n].call.Input) && rest[n].action.Access == tools.AccessRead && !rest[n].action.Ordered {
			n++
		}
		n = max(n, 1)
		b.process(rest[:n])
		rest = rest[n:]
		if len(rest) > 0 {
			b.persistResults() // what ran, ran, even if parley ends now
		}
	}
	for _, j := range b.jobs {
		if j.result == nil { // canceled before it began
			b.setResult(j, tools.Outcome{Text: canceledCallText, Failed: true})
		}
	}
	n := b.node()
	n.Partial = false
	b.mu.Lock()
	b.tree.Put(n)
	b.mu.Unlock()
	b.persist(n)
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return b.stoppedByHook()
}

// node returns the message with the result of each job that has one. Of others
// it says which began to run. Writing it says how far the calls are.
func (b *callBatch) node() store.Node {
	n := b.results
	n.Results = map[string]store.Outcome{}
	for _, j := range b.jobs {
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

// persistResults writes how far the calls of a response are.
func (b *callBatch) persistResults() {
	if b.results.Seq > 0 {
		b.persist(b.node())
	}
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

// keepLastPlan rejects the plans of an answer but for its last one, while the model plans: the
// user is asked about one.
func (b *callBatch) keepLastPlan() {
	if b.policy.Mode() != tools.ModePlan {
		return
	}
	last := true
	for _, j := range slices.Backward(b.jobs) {
		if j.call.Name != tools.PlanTool || j.rejected {
			continue
		}
		if !last {
			j.rejected, j.err = true, errors.New("this plan was not shown: a later call of the same answer has another one")
		}
		last = false
	}
}

// plan works out what a call would do, and reports whether it can be
// understood. It is done anew when the call's turn comes: what ran in between
// may have changed the answer.
func (b *callBatch) plan(j *job, input string) bool {
	if j.rejected {
		return false
	}
	j.action, j.err = nil, nil
	if j.err = b.notOffered(j.call.Name); j.err != nil {
		return false
	}
	if args, ok := llm.Arguments(input); ok {
		input = string(args)
	}
	j.action, j.err = b.tools.Plan(b.ctx, j.call.Name, input)
	if j.err == nil && j.origin != nil {
		j.action = j.origin(j.action)
	}
	return j.err == nil
}

// process emits the calls of jobs, decides about them one by one, and runs those that may run side by
// side.
func (b *callBatch) process(jobs []*job) {
	var allowed []*job
	for _, j := range jobs {
		b.emit(Call{j.call})
		if j.err != nil {
			b.setResult(j, tools.Outcome{Text: j.err.Error(), Failed: true})
			continue
		}
		if b.decide(j) {
			allowed = append(allowed, j)
		}
	}
	b.execute(allowed)
}

// decide asks the policy, and the user where the policy wants that. A job
// that may not run gets its result.
func (b *callBatch) decide(j *job) bool {
	for {
		verdict, ok := b.verdict(j)
		if !ok {
			return false
		}
		b.watch(j)
		switch verdict {
		case tools.Allow:
			b.emit(Decision{ID: j.call.ID, Verdict: tools.Allow, By: "policy"})
			return true
		case tools.Deny:
			b.deny(j, "policy", notRun+b.policy.DenialReason(j.action))
			return false
		}
		j.tellIrreversible()
		answer, ok := b.ask(j)
		if !ok {
			j.unwatch()
			return false // canceled; run closes it
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
			b.deny(j, by, text)
			return false
		}
		if answer.Input != "" && answer.Input != string(j.action.Input) {
			// What is shown is what runs: changed arguments are planned and
			// shown anew.
			j.unwatch()
			j.notice, j.hook = "The user changed the arguments to "+answer.Input+"\n\n", hookVerdict{}
			if !b.plan(j, answer.Input) {
				b.setResult(j, tools.Outcome{Text: j.err.Error(), Failed: true})
				return false
			}
			continue
		}
		b.rememberApproval(j, answer)
		b.emit(Decision{ID: j.call.ID, Verdict: tools.Allow, By: "person"})
		return true
	}
}

// rememberApproval remembers an answer that is for more than one time. With the network it
// is for this time only: no rule says that a command may reach it.
func (b *callBatch) rememberApproval(j *job, answer tools.Approval) {
	switch {
	case j.action.Proposal != "":
		want := tools.ModeAsk
		if answer.Session {
			want = tools.ModeAuto
		}
		if mode := b.policy.Accept(want); mode != want {
			b.emit(llm.Notice{Text: fmt.Sprintf("the approval mode stays %s: it was changed while the plan was asked about", mode)})
		}
	case answer.Network:
		j.action = j.action.WithNetwork()
	case j.action.AskEachTime:
	case answer.Always:
		if _, err := b.policy.AllowAlways(j.action, answer.PrefixWords); err != nil {
			b.emit(llm.Notice{Text: "not remembered: " + err.Error()})
		}
	case answer.Session:
		b.policy.AllowForSession(j.action)
	}
}

// ask waits for the user's word about a call; not ok: the turn was canceled.
func (b *callBatch) ask(j *job) (tools.Approval, bool) {
	b.persistResults() // a user may take long, and nothing of it ran until then
	reply := make(chan tools.Approval, 1)
	notifyHooks(b.turn, j.action)
	b.emit(ApprovalRequest{Call: j.call, Action: j.action, reply: reply})
	select {
	case answer := <-reply:
		return answer, b.ctx.Err() == nil
	case <-b.ctx.Done():
		return tools.Approval{}, false
	}
}

// execute runs jobs side by side and yields their progress and results from
// this goroutine.
func (b *callBatch) execute(jobs []*job) {
	type update struct {
		job          *job
		text, notice string
		end          *tools.Outcome
	}
	b.recordStart(jobs)
	stoppable := b.runningCalls.start(b.ctx, jobs)
	events := make(chan update)
	slots, media := make(chan struct{}, maxParallelCalls), tools.NewMediaGate()
	var running sync.WaitGroup
	for i, j := range jobs {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, turn := media.Turn(tools.WithShown(stoppable[i], func(text string) bool { return b.Session.HasSkill(text) }))
			defer turn.End()
			ctx = tools.WithReady(ctx, j.keepFiles(func(notice string) { events <- update{job: j, notice: notice} }))
			out := j.action.Run(ctx, func(text string) { events <- update{job: j, text: text} })
			if told := j.compareFiles(b.tools, &out); told != "" {
				events <- update{job: j, notice: told}
			}
			b.prepare(j, &out, turn)
			for _, told := range b.afterCall(ctx, j, &out) {
				events <- update{job: j, notice: told}
			}
			if stopped := b.runningCalls.end(j, stoppable[i]); stopped && out.Failed {
				j.stopped, out.Text = true, stoppedCallText+out.Text
			}
			events <- update{job: j, end: &out}
		})
	}
	go func() {
		running.Wait()
		close(events)
	}()
	for n := range events {
		if n.end != nil {
			b.tellEndedJobs(n.end)
			b.setResult(n.job, *n.end)
			continue
		}
		if n.notice != "" {
			b.emit(llm.Notice{Text: n.notice})
		} else {
			b.emit(Progress{ID: n.job.call.ID, Text: n.text})
		}
	}
}

// prepare makes the media of an outcome fit to be sent, while the call has its turn.
func (b *callBatch) prepare(j *job, out *tools.Outcome, turn *tools.MediaTurn) {
	media := out.Media
	out.Media = nil
	for _, p := range media {
		p.Kind, p.ID, p.Name = llm.Media, j.call.ID, cmp.Or(p.Name, j.call.Name)
		if b.prepareMedia != nil {
			prepared, told, err := llm.Part{}, "", turn.Wait()
			if err == nil {
				prepared, told, err = b.prepareMedia(p)
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

// recordStart stores that jobs are about to run, unless they only read: if parley ends from here on,
// their results do not say that they did not run.
func (b *callBatch) recordStart(jobs []*job) {
	changes := false
	for _, j := range jobs {
		j.started = j.action.Access != tools.AccessRead
		changes = changes || j.started
	}
	if changes {
		b.persistResults()
	}
}

func (b *callBatch) setResult(j *job, out tools.Outcome) {
	j.stopped = out.Failed && !j.denied && (j.stopped || b.ctx.Err() != nil)
	j.result = &Result{
		Part:     llm.Part{Kind: llm.Result, ID: j.call.ID, Name: j.call.Name, Text: j.notice + out.Text, Failed: out.Failed},
		Diff:     out.Diff,
		Duration: out.Duration,

		Stopped: j.stopped,
	}
	j.media = out.Media
	b.emit(*j.result)
}
