package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// A responseStream is one model's response while it arrives.
type responseStream struct {
	model   llm.Endpoint
	req     llm.Request
	partial *partialResponse // nil until something arrives, if several models are compared
	event   Response
	began   time.Time
	err     error // why it broke off
	trimmed bool  // the request leaves out a part of the branch

	answers int    // that an estimate of its usage stands for; 0: another answer to the same request has it
	notice  string // about the provider's cache; "" if there is nothing to tell
}

func newResponseStream(model llm.Endpoint, req llm.Request, began time.Time) *responseStream {
	message := llm.Message{Role: llm.RoleAssistant, Origin: model.Origin, Model: model.Name}
	return &responseStream{model: model, req: req, event: Response{Message: message}, began: began, answers: 1}
}

// take adds an event of the model's, and returns it as front ends are told it; nil
// for the finish, which Response tells.
func (r *responseStream) take(e llm.Event) Event {
	switch e := e.(type) {
	case llm.Delta:
		if r.event.TTFT == 0 {
			r.event.TTFT = r.partial.now().Sub(r.began)
		}
		e.Kind = r.partial.Add(e) // a front end need not remember it
		return e
	case llm.Usage:
		e = e.Clamped()
		r.event.Usage, r.event.UsageKnown = e, true
		return e
	case llm.Finish:
		r.event.Finish = e
		return nil
	}
	return e
}

// endStream closes a response that arrives no further, so that addResponse can store
// what stays of it.
func (t *turn) endStream(r *responseStream) {
	if r.err == nil && r.event.Finish.Reason == "" {
		r.err = &llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}
		if t.ctx.Err() != nil {
			r.err = context.Cause(t.ctx)
		}
	}
	r.event.Duration = t.now().Sub(r.began)
	r.event.Message.Interrupted = r.err != nil
	if r.partial == nil {
		return
	}
	r.partial.stop()
	r.event.Message.Parts = r.partial.parts(r.event.Finish, r.err)
	r.partial.node.ThinkingDurations = r.partial.thinkingDurations(r.err != nil)
	if r.err != nil && !llm.Canceled(r.err) {
		r.partial.node.InterruptedBy = r.err.Error()
	}
	u := r.event.Usage
	counts := u.Input+u.Output > 0 || u.Cost > 0 || r.event.UsageKnown && r.model.Origin == llm.OriginImages
	if r.err != nil || !counts && r.answers > 0 {
		t.estimateUsage(r.model, &r.event, max(1, r.answers))
	}
}

// addResponse adds a response to the conversation and its usage to the totals, and
// sets its Seq. A response of which nothing arrived is not stored.
func (t *turn) addResponse(r *responseStream) {
	n := r.partial.node
	r.event.At, r.event.ThinkingDurations = n.At, n.ThinkingDurations
	n.Message, n.Partial, n.Reason, n.TTFT, n.Duration = r.event.Message, false, r.event.Finish.Reason, r.event.TTFT, r.event.Duration
	n.Trimmed = r.trimmed
	if r.event.UsageKnown {
		n.Usage = &r.event.Usage
	}
	t.mu.Lock()
	r.notice = t.observeCache(r, &n)
	if r.event.UsageKnown {
		t.addUsage(r.event.Usage)
		if n.Origin != llm.OriginImages { // which counts no conversation
			t.last = r.event.Usage
		}
	}
	empty := len(n.Parts) == 0 && n.Usage == nil && !r.partial.onDisk
	if !empty {
		t.tree.Put(n)
	}
	t.mu.Unlock()
	if !empty {
		t.persist(n)
		r.event.Seq = n.Seq
	}
}

// streamResponse asks the model once and stores its response.
func (t *turn) streamResponse(step int) (llm.Message, llm.Reason, error) {
	model, req := t.request()
	if err := tellUnread(t); err != nil {
		return llm.Message{}, "", err
	}
	return streamFrom(t, step, model, req)
}

// tellUnread returns why a part of the conversation could not be read for a request, which is
// not sent then. That the file is damaged is told, and what could be read is sent.
func tellUnread(t *turn) error {
	t.mu.Lock()
	err := t.tree.unread
	t.tree.unread = nil
	t.mu.Unlock()
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		t.emit(llm.Notice{Text: err.Error()})
		return nil
	}
	if err != nil {
		return fmt.Errorf("not sent: the conversation could not be read: %w", err)
	}
	return nil
}

// streamFrom does so with a model and a request of the caller's.
func streamFrom(t *turn, step int, model llm.Endpoint, req llm.Request) (llm.Message, llm.Reason, error) {
	r := newResponseStream(model, req, t.now())
	r.trimmed = t.omittedTurns > 0 || t.HistoryMode() == HistoryStateless
	t.mu.Lock()
	r.partial = t.newPartial(r.event.Message, false)
	t.mu.Unlock()
	t.emit(Step{Model: r.model.Name, N: step, Seq: r.partial.node.Seq, Partial: PartialResponse{r.partial}, Draws: model.Origin == llm.OriginImages})
	t.partial = r.partial
	r.began = t.now()
	for e, err := range r.model.Stream(t.ctx, r.req) {
		if r.err = err; err != nil {
			break
		}
		shown := r.take(e)
		if shown == nil {
			continue
		}
		t.emit(shown)
		if t.ctx.Err() != nil {
			r.err = context.Cause(t.ctx)
			break
		}
	}
	t.endStream(r)
	t.partial = nil
	t.capped = r.event.Finish.Limit != ""
	if r.err != nil {
		t.recordDroppedCalls(r.partial)
	}
	t.addResponse(r)
	settle(t) // and no room is kept while tools run
	if r.notice != "" {
		t.emit(llm.Notice{Text: r.notice})
	}
	if r.err == nil {
		t.done.Reason = r.event.Finish.Reason
	}
	t.emit(r.event)
	if model.Origin == llm.OriginImages {
		warnUnpriced(t, "")
	} else {
		warnUnpriced(t, r.model.Name)
	}
	return r.event.Message, r.event.Finish.Reason, r.err
}

// uniqueCallIDs gives every call an id of its own: results are told apart by it. One
// whose id was taken must not run: an id runs at most once.
func uniqueCallIDs(parts []llm.Part) []llm.Part {
	seen := map[string]bool{}
	for i, p := range parts {
		if p.Kind != llm.Call {
			continue
		}
		if p.ID == "" || seen[p.ID] {
			parts[i].Repeated = p.Repeated || p.ID != ""
			parts[i].ID = "call_" + rand.Text()[:20]
		}
		seen[parts[i].ID] = true
	}
	return parts
}

// warnUnpriced tells once, where there is a limit, that it does not count a response, and where
// its model, "" if it cannot have one there, can be given a price: as soon as the response is
// there, for there may be no other.
func warnUnpriced(t *turn, model string, asked ...llm.Endpoint) {
	if !t.hasUnpriced || t.warnedUnpriced || len(limitsOf(t.Session, orCurrent(t, asked)...)) == 0 {
		return
	}
	t.warnedUnpriced = true
	text := "an answer has no known price: the spending limit does not count it"
	if provider, id, ok := strings.Cut(model, "/"); ok {
		text = fmt.Sprintf("%s: %s; give it one under [providers.%s.model.%q.price]", model, text, provider, id)
	}
	t.emit(llm.Notice{Text: text})
}

// estimateUsage counts a response that broke off or was stopped, of which providers
// report nothing, or only what was sent, and one whose provider counts nothing: it is paid
// for all the same. It may stand for several answers to the same request.
func (t *turn) estimateUsage(model llm.Endpoint, r *Response, answers int) {
	size := 0
	for _, p := range r.Message.Parts {
		if !p.Remote {
			size += t.tokens.estimate(p.Text) + t.tokens.estimate(p.Input)
		}
	}
	if len(r.Message.Parts) == 0 {
		return
	}
	if model.Origin == llm.OriginImages { // which has a price for each image
		size = 0
	} else if size <= r.Usage.Output {
		return
	}
	input := 0
	if r.Usage.Input == 0 && size > 0 {
		input = t.ContextTokens()
	}
	r.Usage.Shared = r.Usage.Shared || answers > 1
	r.Usage, r.UsageKnown = estimatedUsage(model, r.Usage, input, answers*size), true
}
