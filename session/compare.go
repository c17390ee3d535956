package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"parley/providers/llm"
)

// comparedCallText is what a model is told that calls a tool all the same.
const comparedCallText = "This was not run: several models were asked at once, and none of them could use tools. Call it again if it is still needed."

// A CandidateEvent is something that happened to one of the models that are compared: the
// nth. Its events are Step, what the model sent, and last an Answer.
type CandidateEvent struct {
	N     int
	Event Event
	Err   error // why the answer, which is the Event then, broke off
}

// Compare asks several models the same at once. Each answer is a branch of the
// conversation, which goes on with the first of models that answered until
// Switch says otherwise. Tools are offered as ever, for some providers want that
// where there were calls before, but none may be called: models at work in one
// folder would be in each other's way.
//
// Its events are Prompt, then Lanes, then Done, whose error is that of the
// context, or what every model failed with. Without parts the last prompt is
// asked again.
func (s *Session) Compare(ctx context.Context, models []llm.Endpoint, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return t.compare(models, parts) })
}

// A candidate is one of the models that are compared, while it answers.
type candidate struct {
	model llm.Endpoint
	req   llm.Request
	keep  *partialResponse // nil until something arrives
	a     Response
	fail  error
	began time.Time
}

// modelEvent is what a model sent, or that it is done.
type modelEvent struct {
	lane  int
	event llm.Event
	err   error
	over  bool
	crash string // a panic, and where it was
}

func (t *turn) compare(models []llm.Endpoint, parts []llm.Part) error {
	if len(models) < 2 {
		return fmt.Errorf("comparing takes two models or more, not %d", len(models))
	}
	if len(parts) > 0 {
		t.prompt(llm.Message{Role: llm.RoleUser, Parts: parts})
	} else if err := t.prepareRetry(); err != nil {
		return err
	}
	if err := t.checkBudget(); err != nil {
		return err
	}
	if err := t.autoCompact(); err != nil {
		return err
	}
	base := t.Head()
	lanes := make([]*candidate, len(models))
	for i, model := range models {
		lanes[i] = &candidate{model: model, req: t.requestTo(model), began: t.now()}
		lanes[i].a.Message = llm.Message{Role: llm.RoleAssistant, Origin: model.Origin, Model: model.Name}
		t.emit(CandidateEvent{N: i, Event: Step{Model: model.Name, N: 1}})
	}
	t.done.Steps = len(models)
	ctx, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	running := len(lanes)
	for h := range t.streamAll(ctx, lanes) {
		l := lanes[h.lane]
		if h.crash != "" {
			panic(h.crash) // as it would be if this model answered alone
		}
		if h.err != nil {
			l.fail = h.err
		}
		switch {
		case h.over:
			t.finishCandidate(base, h.lane, l)
			running--
			if err := t.checkBudget(); err != nil && running > 0 { // not one of them more
				stop(err)
			}
		case h.err == nil:
			t.onEvent(base, h.lane, l, h.event)
		}
	}
	if err := t.chooseBranch(base, lanes); err != nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// requestTo is the next request as it goes to model.
func (t *turn) requestTo(model llm.Endpoint) llm.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.model
	t.model = model
	req, _ := t.compile(nil)
	t.model = own
	req.ToolChoice = "none"
	return req
}

// streamAll asks every model, and yields what they send as it comes, until all are
// done.
func (t *turn) streamAll(ctx context.Context, lanes []*candidate) iter.Seq[modelEvent] {
	return func(yield func(modelEvent) bool) {
		ctx, cancel := context.WithCancel(ctx)
		all := make(chan modelEvent)
		var asked sync.WaitGroup
		defer func() { // whatever happens, nobody is left behind
			cancel()
			go func() {
				asked.Wait()
				close(all)
			}()
			for range all {
			}
		}()
		candidates := streamCandidates(lanes)
		for i, l := range lanes {
			asked.Go(func() {
				defer func() {
					candidates[i].Leave()
					last := modelEvent{lane: i, over: true}
					if p := recover(); p != nil {
						last.crash = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					}
					all <- last
				}()
				for e, err := range l.model.Stream(llm.WithCandidate(ctx, candidates[i]), l.req) {
					all <- modelEvent{lane: i, event: e, err: err}
				}
			})
		}
		for running := len(lanes); running > 0; {
			h := <-all
			if h.over {
				running--
			}
			if !yield(h) {
				return
			}
		}
	}
}

// streamCandidates returns the candidate of each lane. Those of the same model may
// share a response.
func streamCandidates(lanes []*candidate) []*llm.Candidate {
	byName := map[string][]int{}
	for i, l := range lanes {
		byName[l.model.Name] = append(byName[l.model.Name], i)
	}
	list := make([]*llm.Candidate, len(lanes))
	for _, same := range byName {
		for i, c := range llm.NewCandidates(len(same)) {
			list[same[i]] = c
		}
	}
	return list
}

// onEvent takes one event of a model.
func (t *turn) onEvent(base, n int, l *candidate, e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		if l.keep == nil {
			l.a.TTFT = t.now().Sub(l.began)
			l.keep = t.beginBranch(base, l.a.Message)
		}
		d.Kind = l.keep.Add(d)
		e = d
	case llm.Usage:
		l.a.Usage, l.a.UsageKnown = d, true
	case llm.Finish:
		l.a.Finish = d
		return // told by Answer
	}
	t.emit(CandidateEvent{N: n, Event: e})
}

// beginBranch begins to keep an answer behind the message base, next to others.
func (t *turn) beginBranch(base int, m llm.Message) *partialResponse {
	t.mu.Lock()
	t.tree.head = base
	a := t.newPartial(m, true) // another may take the next place before this one is complete
	t.tree.head = base
	t.mu.Unlock()
	t.persist(a.node) // what is kept has no gaps
	t.saveHead(base)  // what was answered so far is not to be hidden by it
	return a
}

// saveHead keeps where the conversation goes on if parley ends now: with the first
// whole answer, or else where base is.
func (t *turn) saveHead(base int) {
	t.mu.Lock()
	at := base
	for _, n := range t.tree.nodes[base:] {
		if n.Parent == base && !n.Interrupted && at == base {
			at = t.tree.Tip(n.Seq)
		}
	}
	t.mu.Unlock()
	if t.log != nil {
		_ = t.log.SetHead(at)
	}
}

// finishCandidate ends a lane.
func (t *turn) finishCandidate(base, n int, l *candidate) {
	if l.fail == nil && l.a.Finish.Reason == "" {
		l.fail = &llm.Error{Fault: llm.Network, Message: "the answer broke off before it was complete"}
		if t.ctx.Err() != nil {
			l.fail = context.Cause(t.ctx)
		}
	}
	l.a.Duration = t.now().Sub(l.began)
	l.a.Message.Interrupted = l.fail != nil
	if l.keep == nil && l.a.UsageKnown { // it was paid for
		l.keep = t.beginBranch(base, l.a.Message)
	}
	if l.keep == nil { // nothing is kept of an answer that did not come
		t.emit(CandidateEvent{N: n, Event: l.a, Err: l.fail})
		return
	}
	l.keep.stop()
	l.a.Message.Parts = l.keep.parts(l.a.Finish, l.fail)
	if l.keep.node.ThinkingDurations = l.keep.thinkingDurations(l.fail != nil); l.fail != nil {
		if !llm.Canceled(l.fail) {
			l.keep.node.InterruptedBy = l.fail.Error()
		}
		t.estimateUsage(&l.a)
	}
	l.a.Seq = t.addResponse(l.a, l.keep)
	t.refuseCalls(base, l.a)
	t.saveHead(base)
	t.emit(CandidateEvent{N: n, Event: l.a, Err: l.fail})
}

// refuseCalls answers the calls of a model that was not to call.
func (t *turn) refuseCalls(base int, a Response) {
	calls := a.Message.Calls()
	if len(calls) == 0 {
		return
	}
	m := llm.Message{Role: llm.RoleTool}
	for _, c := range calls {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: comparedCallText, Failed: true})
	}
	t.mu.Lock()
	t.tree.head = a.Seq
	n := t.tree.NewNode(m)
	n.At = t.now()
	t.tree.Put(n)
	t.tree.head = base
	t.mu.Unlock()
	t.persist(n)
}

// chooseBranch makes the conversation go on with the first answer that is whole, or
// with the first there is.
func (t *turn) chooseBranch(base int, lanes []*candidate) error {
	head, failures := 0, []error(nil)
	for _, whole := range []bool{true, false} {
		for _, l := range lanes {
			if head == 0 && l.a.Seq > 0 && (l.fail == nil || !whole) {
				head = l.a.Seq
				t.done.Reason = l.a.Finish.Reason
			}
			if whole && l.fail != nil {
				failures = append(failures, fmt.Errorf("%s: %w", l.model.Name, l.fail))
			}
		}
	}
	t.mu.Lock()
	t.tree.head = base
	if head > 0 {
		t.tree.head = t.tree.Tip(head)
	}
	head = t.tree.head
	t.last = t.tree.lastUsage()
	t.mu.Unlock()
	if t.log != nil {
		_ = t.log.SetHead(head)
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if len(failures) == len(lanes) {
		return errors.Join(failures...)
	}
	return nil
}
