package plain

import (
	"context"
	"iter"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/format"
)

// turns runs the turns of the conversation, one at a time.
type turns struct {
	*deps
	transcript *transcript
	questions  *questions
	approvals  *approvals
	drafts     *drafts

	current *turn // nil if no turn is running
	again   bool  // retry the failed turn after the conversation is summarized
}

// due returns when tick has work; zero means never.
func (t *turns) due() time.Time {
	if t.current == nil {
		return time.Time{}
	}
	return t.current.due()
}

// tick does the work that is due.
func (t *turns) tick(now time.Time) {
	if t.current != nil {
		t.current.tick(now, t.questions.open() != nil)
	}
}

// retryNow ends the wait before a retry.
func (t *turns) retryNow() {
	if t.current == nil || t.current.live.RetryIn(t.now()) == 0 {
		t.writeLine("%s.", blocks.NoRetryPending)
		return
	}
	t.current.pulse.RetryNow()
	t.current.live.RetryNow(t.now())
	t.writeLine("Retrying now.")
}

// wait gives a silent model more time. Before a retry it writes how long the wait still takes.
func (t *turns) wait() {
	if t.current != nil && t.current.live.RetryIn(t.now()) > 0 {
		t.writeLine("Waiting, %s left.", length(t.current.live.RetryIn(t.now())))
		return
	}
	if t.current == nil || !t.current.wait() {
		t.writeLine("Not waiting for a model.")
		return
	}
	t.writeLine("Waiting.")
}

// play starts a turn, unless one is running, and writes its events. heard reports that the user
// has just typed its prompt.
func (t *turns) play(heard bool, events func(context.Context) iter.Seq[session.Event]) {
	if !t.requireIdle() {
		return
	}
	ctx, cancel := context.WithCancel(t.ctx)
	ctx, pulse := llm.WithPulse(ctx, 0)
	now := &turn{transcript: t.transcript, cancel: cancel, pulse: pulse, began: t.now(), heard: heard}
	now.live.Begin(now.began, t.app.Session)
	t.current = now
	t.concurrent(func() {
		defer cancel()
		for e := range events(ctx) {
			t.send(func() { t.add(now, e) }, nil)
		}
	})
}

// run starts a turn with parts. Without parts the turn continues the conversation.
func (t *turns) run(heard bool, parts ...llm.Part) {
	s := t.app.Session
	t.play(heard, func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx, parts...) })
}

// interrupt stops the running turn, and reports whether there was one.
func (t *turns) interrupt() bool {
	if t.current == nil || t.current.stopped {
		return false
	}
	t.current.stopped = true
	t.current.cancel()
	t.questions.dropCalls()
	t.writeLine("Stopping.")
	return true
}

// add handles an event of the turn now, unless that turn has ended.
func (t *turns) add(now *turn, e session.Event) {
	if t.current != now {
		return
	}
	if d, ok := e.(session.Done); ok {
		t.done(d)
		return
	}
	if e, ok := e.(session.CandidateEvent); ok && now.compared != nil {
		now.compared.handleEvent(e)
		now.set(now.compared.activity(), t.now())
		return
	}
	now.add(e)
	if ask, ok := e.(session.ApprovalRequest); ok && !now.stopped {
		t.questions.enqueue(t.approvals.question(ask))
	}
	switch e := e.(type) {
	case session.Question:
		if !now.stopped {
			t.questions.enqueue(t.questions.decision(e))
		}
	case session.QuestionAnswered:
		t.questions.dropCalls()
	case session.Unsent:
		t.drafts.restoreUnsent(e)
	}
	now.set(now.doing(), t.now())
}

// done ends the running turn and begins its successor. After a comparison this waits until the user
// has chosen an answer.
func (t *turns) done(d session.Done) {
	ended := t.current
	ended.finish()
	if ended.compared != nil {
		ended.compared.MarkDone()
	}
	t.current = nil
	t.questions.dropCalls()
	ended.end(d)
	if d.Err != nil {
		t.drafts.unqueue()
	}
	if c := ended.compared; c != nil && !t.isOver && t.askWinner(c, func() { t.follow(d) }) {
		return
	}
	t.follow(d)
}

// follow begins the successor of a turn.
func (t *turns) follow(d session.Done) {
	again := t.again
	t.again = false
	switch {
	case t.isOver:
	case d.Fork > 0:
		t.apply(app.ContinueInFork(t.app, d.Fork))
	case again && d.Err == nil:
		t.run(true)
	case !again && llm.FaultOf(d.Err) == llm.ContextOverflow:
		t.offerSummary()
	case t.app.Session.Queue.Len() > 0: // queued too late for the turn
		next, _ := t.app.Session.Queue.Take()
		t.run(false, next.Parts...)
	case d.Err == nil:
		t.name()
		t.apply(t.app.Models.Learn())
	}
}

// offerSummary asks whether to continue with a summary of the conversation.
func (t *turns) offerSummary() {
	t.apply(app.SummaryOffer(t.app, func() app.Effect {
		t.again = t.current == nil
		t.play(true, t.app.Session.Compact)
		return nil
	}))
}

// name generates a title for the conversation, if a model is configured for that.
func (t *turns) name() {
	s := t.app.Session
	t.concurrent(func() {
		ctx, cancel := context.WithTimeout(t.ctx, time.Minute)
		defer cancel()
		if err := s.Beside.WriteTitle(ctx); err != nil && ctx.Err() == nil {
			t.mail.post(func() { t.writeLine("Note: %s", sentence(oneLine(format.ErrorText(err)))) })
		}
	})
}
