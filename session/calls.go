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
	"parley/tools/act"
	"parley/tools/act/mediagate"
	"parley/tools/sanitize"
)

// Results sent to the model for calls that did not run.
const (
	notRun           = "This was not run: "
	canceledCallText = notRun + "the user stopped the answer before."
	deniedCallText   = "The user did not allow this call."
	keepPlanningText = "The user has not accepted this plan: keep planning, and change nothing yet."
	stoppedCallText  = "The user stopped this call before it was finished. Until then:\n\n"
)

// Bounds for a response with many or long calls.
const (
	maxQuotedCall    = 2000 // characters of a call that could not be parsed
	maxCalls         = 128
	maxParallelCalls = 8 // calls that run at the same time
)

// A pendingCall is a call without a final result yet.
type pendingCall struct {
	part            llm.Part
	origin          func(*act.Action) *act.Action // marks the action with its origin; nil: a model's call
	action          *act.Action                   // the planned action
	err             error                         // why it cannot be planned, in words for the model
	rejected        bool                          // err is final and does not depend on the tools
	changed         string                        // arguments from the user or a hook that replace those of part; "" if unchanged
	notice          string                        // for the model, before the output
	ctx             context.Context               // of the call once it may run; Calls.Stop ends it
	started         bool                          // it is or was running, and may have changed something
	outcome         act.Outcome                   // outcome for result, or for the result of a compared model
	result          *Result
	media           []llm.Part      // media of the result
	fileWatch       act.FileWatch   // watches the files that the call changes; nil: none
	filesRecorded   <-chan struct{} // closed once the files are backed up; nil: none are
	hook            *act.HookAnswer // answer of the hooks; nil: they were not asked
	denied, stopped bool            // why the call did not complete
}

// A callBatch is the calls of one response, or a command of a prompt, until each has a result.
type callBatch struct {
	turn    *turn
	calls   []*pendingCall
	results store.Node // the message of the results, without them; Seq 0: not stored, because no response made the calls
}

// newCallBatch returns the calls of a response that ended with reason.
func newCallBatch(t *turn, calls []llm.Part, reason llm.Reason) *callBatch {
	b := &callBatch{turn: t, calls: make([]*pendingCall, len(calls))}
	for i, call := range calls {
		b.calls[i] = &pendingCall{part: call, err: rejectReason(i, call, reason)}
		b.calls[i].rejected = b.calls[i].err != nil
	}
	b.keepLastPlan()
	t.mu.Lock()
	defer t.mu.Unlock()
	b.results = t.tree.newNode(llm.Message{Role: llm.RoleTool})
	b.results.At, b.results.Partial = t.now(), true
	return b
}

// run always gives every call one result, in order. Adjacent read-only calls run in
// parallel. All others run alone, so that a read after a write sees the change; so do
// calls whose order matters.
func (b *callBatch) run() error {
	t := b.turn
	for rest := b.calls; len(rest) > 0 && t.ctx.Err() == nil; {
		n := 0
		for n < len(rest) && b.plan(rest[n], rest[n].part.Input) && rest[n].action.Access == act.AccessRead && !rest[n].action.Ordered {
			n++
		}
		n = max(n, 1)
		b.process(rest[:n])
		rest = rest[n:]
		if len(rest) > 0 {
			b.persistResults() // keeps the results of calls that ran, even if parley ends now
		}
	}
	for _, call := range b.calls {
		if call.result == nil { // canceled before it started
			b.setResult(call, act.Outcome{Text: canceledCallText, Failed: true})
		}
	}
	n := b.node()
	n.Partial = false
	t.mu.Lock()
	t.tree.Put(n)
	t.mu.Unlock()
	t.persist(n)
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	for _, call := range b.calls {
		if err := cmp.Or(call.stoppedByHook(), call.outcome.Ends); err != nil {
			return err
		}
	}
	return nil
}

// node returns the message with the results so far. For calls without one it
// records which have started.
func (b *callBatch) node() store.Node {
	n := b.results
	n.Results = map[string]store.Outcome{}
	for _, call := range b.calls {
		if call.result == nil && call.started {
			n.Results[call.part.ID] = store.Outcome{Started: true}
		}
		if call.result != nil {
			n.Parts = append(n.Parts, call.result.Part)
			n.Parts = append(n.Parts, call.media...)
			n.Results[call.part.ID] = store.Outcome{Input: call.result.Input, Diff: call.result.Diff, Duration: call.result.Duration, Denied: call.denied, Stopped: call.stopped, By: call.result.By}
		}
	}
	return n
}

// persistResults stores the progress of a response's calls.
func (b *callBatch) persistResults() {
	if b.results.Seq > 0 {
		b.turn.persist(b.node())
	}
}

// rejectReason returns why the nth call of a response must not run at all. A response
// that was refused or truncated may have incomplete calls.
func rejectReason(n int, call llm.Part, reason llm.Reason) error {
	switch {
	case call.Failed:
		quoted := sanitize.Truncate(sanitize.Plain(call.Input), maxQuotedCall)
		return fmt.Errorf("this call could not be read and was not run: write it again in the required form, with complete JSON. It was:\n%s", quoted)
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

// keepLastPlan rejects all plans of a response but the last one in plan mode, because the user
// is asked about one plan.
func (b *callBatch) keepLastPlan() {
	if b.turn.session.policy.Mode() != act.ModePlan {
		return
	}
	last := true
	for _, call := range slices.Backward(b.calls) {
		if call.part.Name != act.PlanTool || call.rejected {
			continue
		}
		if !last {
			call.rejected, call.err = true, errors.New("this plan was not shown: a later call of the same answer has another one")
		}
		last = false
	}
}

// plan plans a call and reports whether that succeeded. It is repeated right
// before the call runs, because earlier calls may have changed the outcome.
func (b *callBatch) plan(call *pendingCall, input string) bool {
	if call.rejected {
		return false
	}
	call.action, call.err = nil, nil
	if call.err = b.turn.notOffered(call.part.Name); call.err != nil {
		return false
	}
	if args, ok := llm.Arguments(input); ok {
		input = string(args)
	}
	call.action, call.err = b.turn.callable.Plan(b.turn.ctx, call.part.Name, input)
	if call.err == nil && call.origin != nil {
		call.action = call.origin(call.action)
	}
	return call.err == nil
}

// process emits calls, decides about them one by one, and runs the allowed ones in
// parallel.
func (b *callBatch) process(calls []*pendingCall) {
	var allowed []*pendingCall
	for _, call := range calls {
		b.turn.emit(Call{call.part})
		if call.err != nil {
			b.setResult(call, act.Outcome{Text: call.err.Error(), Failed: true})
			continue
		}
		if !b.decide(call) {
			continue
		}
		if allowed = append(allowed, call); call.action.Tool == act.AskTool {
			notifyHooks(b.turn, call.action)
		}
	}
	b.execute(allowed)
}

// decide asks the policy, and the user if the policy requires it. A call that
// may not run gets its result here.
func (b *callBatch) decide(call *pendingCall) bool {
	t := b.turn
	for {
		verdict, ok := b.verdict(call)
		if !ok {
			return false
		}
		b.watch(call)
		switch verdict {
		case act.Allow:
			t.session.Calls.start(t.ctx, call)
			t.emit(Decision{ID: call.part.ID, Verdict: act.Allow, By: "policy"})
			return true
		case act.Deny:
			b.deny(call, "policy", notRun+t.session.policy.DenialReason(call.action))
			return false
		}
		call.tellIrreversible()
		answer, ok := b.ask(call)
		if !ok {
			call.unwatch()
			return false // canceled; run adds the result
		}
		if answer.Verdict != act.Allow {
			by, text := "person", deniedCallText
			if call.action.Proposal != "" {
				text = keepPlanningText
			}
			switch {
			case answer.Reason != "":
				by, text = "policy", notRun+answer.Reason
			case answer.Note != "":
				text += " They said: " + answer.Note
			}
			b.deny(call, by, text)
			return false
		}
		if answer.Input != "" && answer.Input != string(call.action.Input) {
			// The user sees the call that runs: changed arguments are planned
			// and shown again.
			call.unwatch()
			call.changed, call.notice, call.hook = answer.Input, "The user changed the arguments to "+answer.Input+"\n\n", nil
			if !b.plan(call, answer.Input) {
				b.setResult(call, act.Outcome{Text: call.err.Error(), Failed: true})
				return false
			}
			continue
		}
		b.rememberApproval(call, answer)
		t.session.Calls.start(t.ctx, call)
		t.emit(Decision{ID: call.part.ID, Verdict: act.Allow, By: "person"})
		return true
	}
}

// rememberApproval stores an approval for more than this call. An approval with network
// access is for this call only, because no rule can allow that.
func (b *callBatch) rememberApproval(call *pendingCall, answer act.Approval) {
	t := b.turn
	s := t.session
	switch {
	case call.action.Proposal != "":
		want := act.ModeAsk
		if answer.Session {
			want = act.ModeAuto
		}
		if mode := s.policy.Accept(want); mode != want {
			t.notice("the approval mode stays %s: it was changed while the plan was asked about", mode)
		}
	case answer.Network:
		call.action = call.action.WithNetwork()
	case call.action.AskEachTime:
	case answer.Always:
		if err := s.policy.AllowAlways(call.action, answer.PrefixWords); err != nil {
			t.notice("not remembered: %v", err)
		}
	case answer.Session:
		s.policy.AllowForSession(call.action)
	}
}

// ask waits for the user's decision about a call; ok is false if the turn was
// canceled.
func (b *callBatch) ask(call *pendingCall) (act.Approval, bool) {
	b.persistResults() // the user may take long, and none of these calls has run yet
	t, reply := b.turn, make(chan act.Approval, 1)
	notifyHooks(t, call.action)
	part := call.part
	part.Input = cmp.Or(call.changed, part.Input)
	t.emit(ApprovalRequest{Call: part, Action: call.action, Policy: t.session.policy, reply: reply})
	select {
	case answer := <-reply:
		return answer, t.ctx.Err() == nil
	case <-t.ctx.Done():
		return act.Approval{}, false
	}
}

// execute runs calls in parallel and emits their progress and results from this
// goroutine.
func (b *callBatch) execute(calls []*pendingCall) {
	type update struct {
		call         *pendingCall
		text, notice string
		end          *act.Outcome
	}
	t := b.turn
	s := t.session
	b.recordStart(calls)
	events := make(chan update)
	slots, media := make(chan struct{}, maxParallelCalls), make(mediagate.Gate, 1)
	var running sync.WaitGroup
	for _, call := range calls {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, turn := media.Turn(act.WithShown(call.ctx, s.HasSkill))
			defer turn.End()
			ctx = act.WithReady(ctx, call.keepFiles(func(notice string) { events <- update{call: call, notice: notice} }))
			out := call.action.Run(ctx, func(text string) { events <- update{call: call, text: text} })
			if notice := call.compareFiles(t.callable, &out); notice != "" {
				events <- update{call: call, notice: notice}
			}
			prepareOutcome(s.prepareMedia, call, &out, turn)
			for _, notice := range s.hooks.afterCall(ctx, t.id, call, &out) {
				events <- update{call: call, notice: notice}
			}
			if stopped := s.Calls.end(call); stopped && out.Failed {
				call.stopped, out.Text = true, stoppedCallText+out.Text
			}
			events <- update{call: call, end: &out}
		})
	}
	go func() {
		running.Wait()
		close(events)
	}()
	for n := range events {
		if n.end != nil {
			b.tellEndedJobs(n.end)
			b.setResult(n.call, *n.end)
			continue
		}
		if n.notice != "" {
			t.notice("%s", n.notice)
		} else {
			t.emit(Progress{ID: n.call.part.ID, Text: n.text})
		}
	}
}

// prepareOutcome prepares the media of an outcome for sending. The calls take turns.
func prepareOutcome(prepare mediaPreparer, call *pendingCall, out *act.Outcome, turn *mediagate.Turn) {
	media := out.Media
	out.Media = nil
	for _, p := range media {
		p.Kind, p.ID, p.Name = llm.Media, call.part.ID, cmp.Or(p.Name, call.part.Name)
		if prepare != nil {
			prepared, change, err := llm.Part{}, "", turn.Wait()
			if err == nil {
				prepared, change, err = prepare(p)
			}
			if err != nil {
				out.Text += "\n[not shown: " + err.Error() + "]"
				continue
			}
			if p = prepared; change != "" {
				out.Text += "\n[" + change + "]"
			}
			p.Kind, p.ID = llm.Media, call.part.ID
		}
		out.Media = append(out.Media, p)
	}
}

// recordStart stores which calls are about to run, except for those that only read. If parley ends after this, the
// results of the others do not claim that they changed nothing.
func (b *callBatch) recordStart(calls []*pendingCall) {
	for _, call := range calls {
		call.started = call.action.Access != act.AccessRead
	}
	b.persistResults()
}

func (b *callBatch) setResult(call *pendingCall, out act.Outcome) {
	call.stopped = out.Failed && !call.denied && (call.stopped || b.turn.ctx.Err() != nil)
	call.result = &Result{
		Part:     llm.Part{Kind: llm.Result, ID: call.part.ID, Name: call.part.Name, Text: call.notice + out.Text, Failed: out.Failed},
		Media:    out.Media,
		Input:    call.changed,
		Diff:     out.Diff,
		Duration: out.Duration,
		Stopped:  call.stopped,
		By:       out.By,
	}
	call.outcome, call.media = out, out.Media
	b.turn.emit(*call.result)
}

// errStopped is the cause when the user stops a call.
var errStopped = errors.New("stopped by the user")

// runningCalls holds the running tool calls, the last one last. The zero value has none.
type runningCalls struct {
	lock sync.Mutex
	list []runningCall
}

type runningCall struct {
	call   *pendingCall
	cancel context.CancelCauseFunc
}

// Stop stops the running tool call id, or the last one if id is "". It reports whether there was one, and how many
// others are running. The turn continues: the model gets the output so far and the note that the user stopped the call.
func (r *runningCalls) Stop(id string) (stopped bool, others int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for i, c := range slices.Backward(r.list) {
		if id == "" || c.call.part.ID == id {
			c.cancel(errStopped)
			r.list = slices.Delete(r.list, i, i+1)
			return true, len(r.list)
		}
	}
	return false, len(r.list)
}

// start adds a call that is about to run, before anybody is told.
func (r *runningCalls) start(ctx context.Context, call *pendingCall) {
	r.lock.Lock()
	defer r.lock.Unlock()
	c := runningCall{call: call}
	call.ctx, c.cancel = context.WithCancelCause(ctx)
	r.list = append(r.list, c)
}

// end removes a call that has ended, and reports whether it was stopped.
func (r *runningCalls) end(call *pendingCall) (stopped bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if i := slices.IndexFunc(r.list, func(c runningCall) bool { return c.call == call }); i >= 0 {
		r.list[i].cancel(nil)
		r.list = slices.Delete(r.list, i, i+1)
	}
	return errors.Is(context.Cause(call.ctx), errStopped)
}
