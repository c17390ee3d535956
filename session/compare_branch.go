package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/providers/llm"
	"parley/providers/llm/share"
	"parley/session/store"
	"parley/tools/act"
)

func (c *comparison) onEvent(one *candidate, e llm.Event) {
	r := one.last
	if _, ok := e.(llm.Delta); ok && r.partial == nil {
		r.event.TTFT = c.turn.now().Sub(r.began)
		r.partial = c.beginBranch(one, r.event.Message)
	}
	if shown := r.add(e); shown != nil {
		c.emit(one, shown)
	}
}

// leaveOut ends a candidate without asking it.
func (c *comparison) leaveOut(one *candidate) {
	one.done, one.last = true, newResponseStream(one.model, llm.Request{}, c.turn.now())
	c.turn.emit(CandidateEvent{N: one.n, Event: one.last.event, Err: one.skipped, Done: true})
}

// beginBranch begins to store a candidate's response next to those of others.
func (c *comparison) beginBranch(one *candidate, m llm.Message) (p *partialResponse) {
	c.at(one, func() { p = c.turn.newPartial(m, true) }) // another response may take the next Seq before this one is complete
	p.node.Purpose = store.PurposeCompare
	c.turn.persist(p.node) // stored messages have no gaps
	c.saveHead()           // this response must not hide earlier answers
	return p
}

// saveHead stores where the conversation continues if parley ends now: after the
// first complete answer, or else at the common base.
func (c *comparison) saveHead() {
	head := c.base
	if i := slices.IndexFunc(c.list, func(one *candidate) bool { return one.answered }); i >= 0 {
		head = c.list[i].tip
	}
	c.turn.persistHead(head)
}

// endStep ends a response of a candidate, and reports whether it was the last. A response
// that never arrived is not stored.
func (c *comparison) endStep(one *candidate) (over bool) {
	r, t := one.last, c.turn
	if r.partial == nil && r.event.UsageKnown { // it has to be paid for
		r.partial = c.beginBranch(one, r.event.Message)
	}
	one.billed = one.billed || r.event.Usage.Shared
	r.answers = c.unbilledAnswers(one)
	t.endStream(r)
	if r.partial != nil {
		t.addResponse(r)
	}
	t.budget.endReservations(one.reservation)
	one.ended, one.reservation = true, Reservation{}
	calls := r.event.Message.Calls()
	over = len(calls) == 0 || c.toolsForCandidates == nil || r.err != nil || one.steps == comparedSteps || r.event.Finish.Limit != "" || c.ctx.Err() != nil
	if r.event.Seq > 0 {
		one.tip, one.answered = r.event.Seq, over && r.err == nil
	}
	if over && len(calls) > 0 {
		c.refuseCalls(one, calls)
	}
	c.saveHead()
	t.emit(CandidateEvent{N: one.n, Event: r.event, Err: r.err, Done: over})
	if !over {
		c.runReadCalls(one, calls, r.event.Finish.Reason)
	}
	return over
}

// reserveNext reserves the cost of a further request of a candidate. Reservations of other
// candidates do not prevent it; the limits themselves were checked.
func (c *comparison) reserveNext(one *candidate) {
	t := c.turn
	if t.log == nil || !slices.ContainsFunc(t.session.Spending.limitsOf(one.model), Limit.Shared) {
		return
	}
	room, err := t.log.Ledger().Reserve(one.model.Name, t.session.Next.estimate(one.model))
	t.budget.noticeUnreserved(err)
	one.reservation, t.budget.reservations = room, append(t.budget.reservations, room)
}

// newCandidates returns a candidate for each model. Candidates of the same model may
// share a response.
func newCandidates(models []llm.Endpoint) []*share.Candidate {
	byName := map[string][]int{}
	for i, m := range models {
		byName[m.Name] = append(byName[m.Name], i)
	}
	list := make([]*share.Candidate, len(models))
	for _, same := range byName {
		for i, c := range share.NewCandidates(len(same)) {
			list[same[i]] = c
		}
	}
	return list
}

// unbilledAnswers returns how many answers an estimate has to cover if the response that ended
// has no usage: 0 if another answer sharing the response has the usage, or ends later.
func (c *comparison) unbilledAnswers(one *candidate) (answers int) {
	answers = 1
	if one.steps > 1 || !one.shared.Shares() {
		return answers
	}
	for _, other := range c.list {
		switch {
		case other == one || other.model.Name != one.model.Name || !other.shared.Shares():
		case other.billed || other.last.event.Usage.Shared || !other.ended && other.steps == 1:
			return 0
		default:
			answers++
		}
	}
	return answers
}

// runReadCalls runs the read-only calls of a candidate, in parallel to other candidates.
func (c *comparison) runReadCalls(one *candidate, calls []llm.Part, reason llm.Reason) {
	pending := make([]*pendingCall, len(calls))
	for i, call := range calls {
		pending[i] = &pendingCall{part: call, err: rejectReason(i, call, reason)}
		c.emit(one, Call{call})
	}
	c.start(modelEvent{n: one.n, ran: pending}, func() {
		for _, call := range pending {
			call.outcome = c.runReadCall(one, call)
		}
	})
}

// runReadCall runs a call if it is read-only and needs no approval.
func (c *comparison) runReadCall(one *candidate, call *pendingCall) act.Outcome {
	fail := func(text string) act.Outcome { return act.Outcome{Text: text, Failed: true} }
	reads := slices.ContainsFunc(c.toolsForCandidates.Tools(), func(t llm.Tool) bool { return t.Name == call.part.Name })
	input := call.part.Input
	if args, ok := llm.Arguments(input); ok {
		input = string(args)
	}
	switch {
	case c.ctx.Err() != nil:
		return fail(canceledCallText)
	case call.err != nil:
		return fail(call.err.Error())
	case len(one.last.req.Tools) == 0:
		return fail(noTools(call.part.Name).Error())
	case !reads:
		return fail(comparedWriteText)
	}
	action, err := c.toolsForCandidates.Plan(c.ctx, call.part.Name, input)
	if err != nil {
		return fail(err.Error())
	}
	t := c.turn
	s := t.session
	verdict := s.policy.Decide(action)
	switch {
	case action.Access != act.AccessRead:
		return fail(comparedWriteText)
	case verdict == act.Deny:
		return fail(notRun + s.policy.DenialReason(action))
	case verdict != act.Allow:
		return fail(comparedAskText)
	}
	call.action = action
	if denied := c.askHooks(one, call); denied != "" {
		return fail(denied)
	}
	ctx, turn := c.media.Turn(c.ctx)
	defer turn.End()
	out := action.Run(ctx, func(string) {})
	prepareOutcome(s.prepareMedia, call, &out, turn)
	c.tell(one, s.hooks.afterCall(c.ctx, t.id, call, &out))
	c.stopByHook(call)
	return out
}

// askHooks asks the hooks about a call, and returns why it may not run; "" if it may.
func (c *comparison) askHooks(one *candidate, call *pendingCall) (denied string) {
	t := c.turn
	if t.session.hooks.Hooks == nil {
		return ""
	}
	a := t.session.hooks.Fire(c.ctx, act.HookInput{Session: t.id, Event: act.HookPreToolUse, Tool: call.part.Name, Input: call.action.Input})
	c.tell(one, a.Notices)
	call.hook = &a
	c.stopByHook(call)
	if denied = call.forbiddenByHook(); denied == "" && (a.Verdict == act.Ask || a.Input != nil) {
		denied = withContext(comparedAskText, a.Context())
	}
	return denied
}

// tell emits notices about a candidate. It may run in any goroutine that wait
// waits for.
func (c *comparison) tell(one *candidate, notices []string) {
	for _, notice := range notices {
		c.events <- modelEvent{n: one.n, event: llm.Notice{Text: notice}}
	}
}

// stopByHook ends the comparison if a hook stopped it because of a call.
func (c *comparison) stopByHook(call *pendingCall) {
	if err := call.stoppedByHook(); err != nil {
		c.stop(err)
	}
}

// addResults adds the results of calls after the response with the calls.
func (c *comparison) addResults(one *candidate, calls []*pendingCall) {
	own := *c.turn // a copy whose events are the candidate's
	own.emit = func(e Event) { c.emit(one, e) }
	b := callBatch{turn: &own, calls: calls}
	for _, call := range calls {
		b.setResult(call, call.outcome)
	}
	c.addBehind(one, func(n store.Node) store.Node {
		b.results = n
		return b.node()
	})
}

// refuseCalls adds results for the calls of a model that may not call tools.
func (c *comparison) refuseCalls(one *candidate, calls []llm.Part) {
	c.addBehind(one, func(n store.Node) store.Node {
		for _, call := range calls {
			n.Parts = append(n.Parts, llm.Part{Kind: llm.Result, ID: call.ID, Name: call.Name, Text: comparedCallText, Failed: true})
		}
		return n
	})
}

// addBehind adds a message of results at the end of a candidate's branch.
func (c *comparison) addBehind(one *candidate, fill func(store.Node) store.Node) {
	t := c.turn
	var n store.Node
	c.at(one, func() {
		n = fill(t.tree.newNode(llm.Message{Role: llm.RoleTool}))
		n.At = t.now()
		t.tree.Put(n)
	})
	one.tip = n.Seq
	t.persist(n)
}

// chooseBranch makes the conversation continue with the first complete answer, or
// else with the first answer.
func (c *comparison) chooseBranch() error {
	t := c.turn
	var chosen *responseStream
	var failures []error
	head, asked := c.base, 0
	for _, one := range c.list {
		r := one.last
		if one.skipped == nil {
			asked++
		}
		if r.err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", one.model.Name, r.err))
		}
		if r.event.Seq > 0 && (chosen == nil || chosen.err != nil && r.err == nil) {
			chosen, head = r, one.tip
			t.done.Reason = r.event.Finish.Reason
		}
	}
	t.mu.Lock()
	t.tree.head = head
	t.session.Spending.last = t.tree.lastUsage()
	t.mu.Unlock()
	t.persistHead(head)
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if len(failures) == asked {
		return errors.Join(failures...)
	}
	return nil
}
