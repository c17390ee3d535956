package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"parley/providers/llm"
)

// comparedCallText holds what a model is told that calls a tool all the same.
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
// directory would be in each other's way.
//
// Its events are Prompt, then CandidateEvents, then Done, whose error is that of the
// context, or what every model failed with. Without parts the last prompt is
// asked again.
func (s *Session) Compare(ctx context.Context, models []llm.Endpoint, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return t.compare(models, parts) })
}

// modelEvent holds what the nth model sent, or that it is done.
type modelEvent struct {
	n     int
	event llm.Event
	err   error
	over  bool
	crash string // a panic, and where it was
}

func (t *turn) compare(models []llm.Endpoint, parts []llm.Part) error {
	if len(models) < 2 {
		return fmt.Errorf("comparing needs two or more models, not %d", len(models))
	}
	if err := t.begin(parts); err != nil {
		return err
	}
	if err := t.prepareStep(len(models)); err != nil {
		return err
	}
	base := t.Head()
	streams := make([]*responseStream, len(models))
	for i, model := range models {
		t.mu.Lock()
		req, _ := t.compile(model, nil)
		t.mu.Unlock()
		req.ToolChoice = "none"
		streams[i] = newResponseStream(model, req, t.now())
		t.emit(CandidateEvent{N: i, Event: Step{Model: model.Name, N: 1}})
	}
	t.done.Steps = len(models)
	ctx, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	running := len(streams)
	for e := range t.streamAll(ctx, streams) {
		r := streams[e.n]
		if e.crash != "" {
			panic(e.crash) // as it would be if this model answered alone
		}
		if e.err != nil {
			r.err = e.err
		}
		switch {
		case e.over:
			t.finishCandidate(base, e.n, r)
			running--
			if err := overBudget(t); err != nil && running > 0 { // not one of them more
				stop(err)
			}
		case e.err == nil:
			t.onEvent(base, e.n, r, e.event)
		}
	}
	if err := t.chooseBranch(base, streams); err != nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// streamAll asks every model, and yields what they send as it comes, until all are
// done.
func (t *turn) streamAll(ctx context.Context, streams []*responseStream) iter.Seq[modelEvent] {
	return func(yield func(modelEvent) bool) {
		ctx, cancel := context.WithCancel(ctx)
		all := make(chan modelEvent)
		var asked sync.WaitGroup
		defer func() { // always wait for the streams
			cancel()
			go func() {
				asked.Wait()
				close(all)
			}()
			for range all {
			}
		}()
		candidates := newCandidates(streams)
		for i, r := range streams {
			asked.Go(func() {
				defer func() {
					candidates[i].Leave()
					last := modelEvent{n: i, over: true}
					if p := recover(); p != nil {
						last.crash = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					}
					all <- last
				}()
				for e, err := range r.model.Stream(llm.WithCandidate(ctx, candidates[i]), r.req) {
					all <- modelEvent{n: i, event: e, err: err}
				}
			})
		}
		for running := len(streams); running > 0; {
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

// newCandidates returns the candidate of each stream. Those of the same model may
// share a response.
func newCandidates(streams []*responseStream) []*llm.Candidate {
	byName := map[string][]int{}
	for i, r := range streams {
		byName[r.model.Name] = append(byName[r.model.Name], i)
	}
	list := make([]*llm.Candidate, len(streams))
	for _, same := range byName {
		for i, c := range llm.NewCandidates(len(same)) {
			list[same[i]] = c
		}
	}
	return list
}

func (t *turn) onEvent(base, n int, r *responseStream, e llm.Event) {
	if _, ok := e.(llm.Delta); ok && r.partial == nil {
		r.event.TTFT = t.now().Sub(r.began)
		r.partial = t.beginBranch(base, r.event.Message)
	}
	if shown := r.take(e); shown != nil {
		t.emit(CandidateEvent{N: n, Event: shown})
	}
}

// beginBranch begins to store a response behind the message base, next to others.
func (t *turn) beginBranch(base int, m llm.Message) *partialResponse {
	t.mu.Lock()
	t.tree.head = base
	p := t.newPartial(m, true) // another may take the next place before this one is complete
	t.tree.head = base
	t.mu.Unlock()
	t.persist(p.node) // what is stored has no gaps
	t.saveHead(base)  // what was answered so far is not to be hidden by it
	return p
}

// saveHead stores where the conversation goes on if parley ends now: with the first
// whole response, or else where base is.
func (t *turn) saveHead(base int) {
	t.mu.Lock()
	head := base
	for _, n := range t.tree.nodes[base:] {
		if n.Parent == base && !n.Interrupted && head == base {
			head = t.tree.Tip(n.Seq)
		}
	}
	t.mu.Unlock()
	t.persistHead(head)
}

// finishCandidate ends a response. Nothing is stored of one that did not come.
func (t *turn) finishCandidate(base, n int, r *responseStream) {
	if r.partial == nil && r.event.UsageKnown { // it was paid for
		r.partial = t.beginBranch(base, r.event.Message)
	}
	t.endStream(r)
	if r.partial != nil {
		t.addResponse(r)
		t.refuseCalls(base, r.event)
		t.saveHead(base)
	}
	t.emit(CandidateEvent{N: n, Event: r.event, Err: r.err})
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
func (t *turn) chooseBranch(base int, streams []*responseStream) error {
	head, failures := 0, []error(nil)
	for _, whole := range []bool{true, false} {
		for _, r := range streams {
			if head == 0 && r.event.Seq > 0 && (r.err == nil || !whole) {
				head = r.event.Seq
				t.done.Reason = r.event.Finish.Reason
			}
			if whole && r.err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", r.model.Name, r.err))
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
	t.persistHead(head)
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if len(failures) == len(streams) {
		return errors.Join(failures...)
	}
	return nil
}
