package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// A responseStream is a response of one model in progress.
type responseStream struct {
	model   llm.Endpoint
	req     llm.Request
	partial *partialResponse // nil until data arrives, if several models are compared
	event   Response
	began   time.Time
	err     error // why it was interrupted
	trimmed bool  // the request omits part of the branch

	answers int // answers covered by an estimate of its usage; 0: another answer to the same request has it
}

func newResponseStream(model llm.Endpoint, req llm.Request, began time.Time) *responseStream {
	message := llm.Message{Role: llm.RoleAssistant, Origin: model.Origin, Model: model.Name}
	return &responseStream{model: model, req: req, event: Response{Message: message}, began: began, answers: 1}
}

// add adds an event of the model, and returns it for front ends; nil for a Finish, which is
// part of Response.
func (r *responseStream) add(event llm.Event) Event {
	switch e := event.(type) {
	case llm.Delta:
		if r.event.TTFT == 0 {
			r.event.TTFT = r.partial.now().Sub(r.began)
		}
		kind := r.partial.Add(e)
		if kind == e.Kind {
			return event
		}
		e.Kind = kind // so that front ends need not remember it
		return e
	case llm.Retry:
		if r.partial != nil {
			r.partial.Discard(e.Discards)
		}
	case llm.Usage:
		e = e.Clamped()
		r.event.Usage, r.event.UsageKnown = e, true
		return e
	case llm.Finish:
		r.event.Finish = e
		return nil
	}
	return event
}

// endStream closes a response that receives no more data, so that addResponse can
// store the parts to keep.
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
	if t.session.Schemas != nil {
		t.session.Schemas.RepairCalls(r.event.Message.Parts, r.req.Tools)
	}
	r.partial.node.ThinkingDurations = r.partial.thinkingDurations(r.err != nil)
	if errors.Is(t.cause(nil), ErrProgramEnded) && llm.Canceled(r.err) {
		r.partial.node.InterruptedBy = EndedText
	} else if r.err != nil && !llm.Canceled(r.err) {
		r.partial.node.InterruptedBy = r.err.Error()
	}
	u := r.event.Usage
	counts := u.Input+u.Output > 0 || u.Cost > 0 || r.event.UsageKnown && r.model.Origin == llm.OriginImages
	if r.err != nil || !counts && r.answers > 0 {
		t.estimateUsage(r.model, &r.event, max(1, r.answers))
	}
}

// addResponse adds a response to the conversation and its usage to the totals, and
// sets its Seq. An empty response is not stored.
func (t *turn) addResponse(r *responseStream) {
	n := r.partial.node
	r.event.At, r.event.ThinkingDurations = n.At, n.ThinkingDurations
	n.Message, n.Partial, n.Reason, n.TTFT, n.Duration = r.event.Message, false, r.event.Finish.Reason, r.event.TTFT, r.event.Duration
	n.Trimmed = r.trimmed
	if r.event.UsageKnown {
		usage := r.event.Usage // a pointer into r would keep the request alive as long as the message
		n.Usage = &usage
	}
	t.mu.Lock()
	t.observeCache(r, &n)
	r.event.Missed = n.Missed
	if r.event.UsageKnown {
		t.budget.add(r.event.Usage)
		if n.Origin != llm.OriginImages { // an image request does not count the conversation
			t.session.Spending.last = r.event.Usage
		}
	}
	t.partial = nil // it is complete
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
func (t *turn) streamResponse() (llm.Message, llm.Reason, error) {
	model, req := t.request()
	if err := noticeUnread(t); err != nil {
		return llm.Message{}, "", err
	}
	return streamFrom(t, model, req)
}

// noticeUnread returns an error if part of the conversation could not be read, so that no request
// is made. If the file is damaged it emits a notice instead, and the readable part is sent.
func noticeUnread(t *turn) error {
	t.mu.Lock()
	err := t.tree.unread
	t.tree.unread = nil
	t.mu.Unlock()
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		t.notice("%v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("not sent: the conversation could not be read: %w", err)
	}
	return nil
}

// streamFrom sends req to model and stores the response.
func streamFrom(t *turn, model llm.Endpoint, req llm.Request) (llm.Message, llm.Reason, error) {
	r := newResponseStream(model, req, t.now())
	r.trimmed = t.session.Next.isTrimmed(t.omitted)
	t.mu.Lock()
	r.partial = t.newPartial(r.event.Message, false)
	t.mu.Unlock()
	defer r.partial.stop() // also after a panic
	t.emit(Step{Model: r.model.Name, N: t.done.Steps, Seq: r.partial.node.Seq, Partial: r.partial, IsImage: model.Origin == llm.OriginImages})
	set(&t.mu, &t.partial, r.partial)
	r.began = t.now()
	for e, err := range r.model.Stream(t.ctx, r.req) {
		if r.err = err; err != nil {
			break
		}
		shown := r.add(e)
		if d, ok := e.(llm.Delta); ok && d.Kind == llm.Call && d.Name != "" && t.session.files != nil && t.callable.WorkspaceProblem() == "" && t.callable.MayChangeAnything(d.Name) {
			t.session.files.Warm() // for calls that only read, nothing is stored
		}
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
	t.latest.capped, t.latest.toolless = r.event.Finish.Limit != "", len(req.Tools) == 0
	if r.err != nil {
		t.recordDroppedCalls(r.partial)
	}
	t.addResponse(r)
	t.budget.booked(model) // reservations are released before tools run
	if r.err == nil {
		t.done.Reason = r.event.Finish.Reason
	}
	t.emit(r.event)
	unpriced := model.Name
	if model.Origin == llm.OriginImages {
		unpriced = ""
	}
	t.budget.warnUnpriced(unpriced, model)
	return r.event.Message, r.event.Finish.Reason, r.err
}

// uniqueCallIDs makes call IDs unique, because results are matched by ID. A call
// with a duplicate ID must not run: an ID runs at most once.
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

// estimateUsage estimates the usage of a response if the provider reported none or only
// its input, as for an interrupted one: it costs money all the same. The estimate may
// cover several answers to the same request.
func (t *turn) estimateUsage(model llm.Endpoint, r *Response, answers int) {
	s := t.session
	size := 0
	for _, p := range r.Message.Parts {
		if !p.Remote {
			size += s.Next.tokens.estimate(p.Text) + s.Next.tokens.estimate(p.Input)
		}
	}
	if len(r.Message.Parts) == 0 {
		return
	}
	if model.Origin == llm.OriginImages { // priced per image
		size = 0
	} else if size <= r.Usage.Output {
		return
	}
	input := 0
	if r.Usage.Input == 0 && size > 0 {
		input = s.Next.ContextTokens()
	}
	r.Usage.Shared = r.Usage.Shared || answers > 1
	r.Usage, r.UsageKnown = estimatedUsage(model, r.Usage, input, answers*size), true
}

// Schemas fits answers and calls of models to JSON schemas. It is safe for concurrent use.
type Schemas interface {
	Parse(text []byte) (*llm.Schema, error)                             // parses the schema of an answer
	Fit(schema json.RawMessage, answer string) (json.RawMessage, error) // returns the JSON in an answer, repaired and compact; the error is in words for the model
	RepairCalls(calls []llm.Part, offered []llm.Tool)                   // corrects the names and arguments of calls to match the offered tools
}

// ErrSchema ends a turn whose answer does not fit Options.AnswerSchema even after
// corrections.
var ErrSchema = errors.New("the answer does not fit the schema")

// StructuredOutput reports that the response before it fits Options.AnswerSchema.
type StructuredOutput struct {
	JSON json.RawMessage // compact; small errors are repaired
}

// maxCorrections is how often a model is asked to correct its answer.
const maxCorrections = 2

// checkSchema checks a complete answer against the requested schema, and reports
// whether to ask again. A truncated or refused answer is accepted as it is,
// because asking again would not change it.
func (t *turn) checkSchema(answer llm.Message, reason llm.Reason) (again bool, err error) {
	s := t.session
	want := locked(&t.mu, s.Next.now).Schema
	if want == nil || s.Schemas == nil || reason == llm.Length || reason == llm.Refused {
		return false, nil
	}
	value, err := s.Schemas.Fit(want.JSON, answer.Text())
	if err == nil {
		t.latest.corrections = 0
		t.emit(StructuredOutput{JSON: value})
		return false, nil
	}
	if t.latest.corrections == maxCorrections || t.done.Steps >= s.maxSteps {
		return false, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	t.latest.corrections++
	t.notice("the answer does not fit the schema: %v; asking again (%d of %d)", err, t.latest.corrections, maxCorrections)
	if len(answer.Parts) > 0 { // an empty answer needs no correction
		t.prompt(llm.UserText(correctionPrompt(want, err)))
	}
	return true, nil
}

// correctionPrompt tells a model the problem with its answer. It repeats the
// schema, because servers without structured answers may have dropped it
// silently.
func correctionPrompt(want *llm.Schema, problem error) string {
	return fmt.Sprintf("Your answer does not fit the JSON Schema that it has to fit: %v.\n\n"+
		"Answer again with the whole JSON value and nothing else, without explanations and without a code fence. The schema is:\n\n%s",
		problem, want.JSON)
}
