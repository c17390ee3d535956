package session

import (
	"context"
	"fmt"
	"time"

	"parley/providers/llm"
	"parley/tools"
)

// A Question wants a user's word on how the turn goes on. The turn waits for Reply, or for
// Wait to pass since Show, and emits Answered. Where no user attends the session, nothing is
// asked: the default is taken.
type Question struct {
	ID      int           // counts the questions of the turn from 1
	About   any           // a Failure, an Overflow or an Overspend
	Choices []Choice      // at least one; the last one ends the turn
	Default int           // index of the choice that is taken Wait after Show, and where nobody is asked
	Wait    time.Duration // 0: as long as the user takes
	reply   chan int
	shown   chan struct{}
	held    chan struct{}
}

// A Choice is a way for the turn to go on.
type Choice struct {
	Action Action
	Model  string  // SwitchModel: that goes on; LeaveOut: that does not
	Amount float64 // RaiseLimit: what the limit becomes, in its unit
}

// Action is what a Choice does.
type Action string

// The actions.
const (
	SwitchModel Action = "switch"    // another model goes on
	WaitAndTry  Action = "wait"      // the same model is asked again after a while
	TryAgain    Action = "again"     // the same model is asked again now
	Summarize   Action = "summarize" // a summary stands for the conversation in requests
	Fork        Action = "fork"      // the turn ends, and is to go on from a summary in a copy; see Done
	OmitOldest  Action = "omit"      // the oldest turns are left out of this turn's requests
	LeaveOut    Action = "leave"     // the model is left out of the comparison
	SendAnyway  Action = "send"      // the request goes out as it is
	RaiseLimit  Action = "raise"     // the limit is raised
	StopTurn    Action = "stop"      // the turn ends
)

// Countdown reports that a question was shown: it comes to its default after Wait, unless it
// is held, which a later one reports.
type Countdown struct {
	Question Question
	Held     bool // the user takes as long as they want
}

// Answered reports which choice a question came to, by the user or after its Wait.
type Answered struct {
	Question Question
	Choice   Choice
}

// Reply answers the question with the choice of that index. Only the first reply counts.
func (q Question) Reply(choice int) {
	select {
	case q.reply <- choice:
	default:
	}
}

// Show says that the question is in sight now, and that the user does not write something
// else. A countdown begins with that, not before.
func (q Question) Show() {
	select {
	case q.shown <- struct{}{}:
	default:
	}
}

// Hold ends the countdown of a question: the user deals with it.
func (q Question) Hold() {
	select {
	case q.held <- struct{}{}:
	default:
	}
}

// errStoppedAtQuestion holds why a turn ended whose user chose to end it.
var errStoppedAtQuestion = fmt.Errorf("stopped at a question: %w", context.Canceled)

// decide asks the user a question, and returns the choice; that to end the turn once its
// context has ended.
func decide(t *turn, q Question) Choice {
	stop := len(q.Choices) - 1
	if !t.attended {
		return q.Choices[q.Default]
	}
	t.asked.questions++
	q.ID, q.reply, q.shown, q.held = t.asked.questions, make(chan int, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	t.emit(q)
	n := answerTo(t, q)
	if n < 0 || n >= len(q.Choices) {
		n = stop
	}
	t.emit(Answered{Question: q, Choice: q.Choices[n]})
	return q.Choices[n]
}

// answerTo waits for the answer to a question; that to end the turn once its context ends.
func answerTo(t *turn, q Question) int {
	shown, late := q.shown, (<-chan time.Time)(nil)
	if q.Wait == 0 {
		shown = nil
	}
	for {
		select {
		case n := <-q.reply:
			return n
		case <-shown:
			shown = nil
			timer := time.NewTimer(q.Wait)
			defer timer.Stop()
			late = timer.C
			t.emit(Countdown{Question: q})
		case <-q.held:
			if shown, late = nil, nil; q.Wait > 0 {
				t.emit(Countdown{Question: q, Held: true})
			}
		case <-late:
			return q.Default
		case <-t.ctx.Done():
			return len(q.Choices) - 1
		}
	}
}

// pause waits before the same model is asked again, unless the user does not want to, and
// reports whether it is to be.
func pause(t *turn, wait time.Duration, fault llm.Fault) bool {
	ctx := llm.Pausing(t.ctx)
	t.asked.waits++
	t.emit(llm.Retry{Attempt: t.asked.waits, Wait: wait, Fault: fault})
	return llm.Pause(ctx, wait) == nil
}

// cause returns why the turn's context ended, if it did; else err.
func (t *turn) cause(err error) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return err
}

// rememberApproval remembers an answer that is for more than one time. With the network it
// is for this time only: no rule says that a command may reach it.
func (t *turn) rememberApproval(j *job, answer tools.Approval) {
	switch {
	case j.action.Proposal != "":
		t.policy.Accept(answer.Session)
	case answer.Network:
		j.action = j.action.WithNetwork()
	case j.action.AskEachTime:
	case answer.Always:
		if _, err := t.policy.AllowAlways(j.action, answer.PrefixWords); err != nil {
			t.emit(llm.Notice{Text: "not remembered: " + err.Error()})
		}
	case answer.Session:
		t.policy.AllowForSession(j.action)
	}
}
