// Package blocks folds the events of a session into changes of the blocks that front ends show, live and replayed.
package blocks

import (
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
)

// A Turn folds the events of a session into changes of blocks, which open, grow, close, change and are dropped. Front
// ends show them, live and replayed alike. It has no clock, no terminal and no goroutine: the same events give the same
// changes. The zero value is ready at any boundary of a turn.
//
//	session.Turn, Compare, Compact ──► events ──┐
//	stored nodes and annotations ──► Replay ────┴──► Apply ──► []Change ──► screen, column, plain lines
//
// Its parts: response holds the blocks of the answer and its calls, stall shows that nothing arrives, and pace measures
// the speed.
type Turn struct {
	Model    string // model that answers; "" before the first step
	Activity        // current activity
	stall
	pace

	response response
	totals   Totals     // totals of the answers since the last prompt
	sent     time.Time  // when the last prompt was sent
	before   time.Time  // when the prompt before it was sent
	out      changeList // changes of the last event
}

// NewTurn returns a turn that takes the ids of its blocks from newID, which must not repeat one. If newID is nil, the
// turn numbers its blocks, as the zero value does.
func NewTurn(newID func() string) Turn { return Turn{out: changeList{newID: newID}} }

// Begin marks the start of a turn that continues s.
func (t *Turn) Begin(now time.Time, s storedConversation) {
	t.Since, t.asked = now, now
	for back := 8; ; back *= 4 {
		path := s.PathBack(s.Head(), back)
		if t.sent, t.before = lastSent(path); !t.before.IsZero() || len(path) < back {
			return
		}
	}
}

// Apply folds an event that arrived at now into the turn. The returned changes are valid until the next method call.
func (t *Turn) Apply(e session.Event, now time.Time) []Change {
	out, calls := t.out.reset(), &t.response.calls
	switch e := e.(type) {
	case session.Prompt:
		if !e.Steers {
			t.addFooter(false)    // closes the answers before a queued message
			if !t.sent.IsZero() { // imported conversations may have no times
				t.before = t.sent
			}
			t.sent = e.At
		}
		out.seq = e.Seq
		out.put(Change{Kind: UserBlock, Event: e})
	case session.Step:
		t.step(e, now)
	case session.Compacted:
		if e.Seq > 0 { // otherwise it is an annotation: the summary is a message of its own
			out.seq = e.Seq
			out.put(Change{Kind: SummaryBlock, Text: e.Text, Count: e.Messages})
		}
		out.put(Change{Event: e})
	case llm.Delta:
		t.delta(e, now)
	case llm.Preview:
		t.noteContent(now, out)
		t.response.showPreview(e, out)
	case session.Response:
		t.endAnswer(e, now)
	case llm.Retry, session.Question, session.Countdown, session.QuestionAnswered:
		t.delay(e, now)
	case session.Call:
		t.waitFor(Running, e.Part.Name, now)
		calls.start(e, now, out)
	case session.ApprovalRequest:
		t.waitFor(Asking, e.Call.Name, now)
		calls.ask(e, out)
	case session.Decision:
		tool := calls.decide(e, now, out)
		t.Activity = Activity{Kind: Running, Tool: tool.Name, Since: now} // excludes the wait for approval
	case session.Progress:
		calls.progress(e, out)
	case session.Result:
		t.endCall(storedResult{Result: e}, now)
	case storedResult:
		t.endCall(e, now)
	case session.Opinion:
		calls.opinion(e, out)
	case session.DroppedCall:
		out.put(Change{Kind: ToolBlock, Tool: &Tool{Name: act.DisplayName(e.Name), Input: e.Input, Status: CallCanceled}, Event: e})
	case session.CandidateEvent:
		t.waitFor(Comparing, "", now)
	case session.Done:
		t.response.close(now, out)
		t.endCountdown(out) // a summary has no answer that would end it
		if e.Err != nil {
			out.put(Change{Event: e})
		}
		t.addFooter(e.Err != nil)
	case session.Sandbox:
		out.put(Change{Event: e, Repeats: !strings.Contains(e.Text, "CAUTION") && calls.say(e.Text)})
	case llm.Notice, session.Fallback, session.ModelSwitched, session.Persona, session.Settings, session.AddedDirectories, session.ShellCommand, session.Verdict:
		out.put(Change{Event: e})
	}
	return out.changes
}

// step begins a new answer.
func (t *Turn) step(s session.Step, now time.Time) {
	t.response.begin(s.Partial)
	t.pace = pace{}
	t.Model, t.out.seq = s.Model, s.Seq
	t.Activity.set(Waiting, "", now)
	if s.IsImage {
		t.Activity.set(MakingImage, "", now)
	}
	t.asked = now
	t.noteContent(now, &t.out)
}

func (t *Turn) delta(d llm.Delta, now time.Time) {
	if t.response.parts == nil { // no Step announced the request
		t.step(session.Step{Model: t.Model, Seq: t.out.seq}, now)
	}
	t.received(now, &t.out)
	t.pace.add(len(d.Text)+len(d.Input), now)
	kind, tool := t.response.add(d, now, &t.out)
	switch kind { // of the growing block
	case llm.Thinking:
		t.Activity.set(Reasoning, tool, now)
	case llm.Text:
		t.Activity.set(Answering, tool, now)
	case llm.Call:
		t.Activity.set(Calling, tool, now)
	}
}

// endAnswer ends the current answer.
func (t *Turn) endAnswer(a session.Response, now time.Time) {
	t.response.close(now, &t.out)
	t.stall.end(&t.out)
	t.pace = pace{}
	t.totals.add(a)
	t.response.finish(a, &t.out)
}

// delay shows a retry or a question that must end before the model continues.
func (t *Turn) delay(e session.Event, now time.Time) {
	switch e := e.(type) {
	case llm.Retry:
		t.response.discard(e.Discards, &t.out)
		t.pace = pace{}
		until := e.Until // by the clock, also after the machine slept
		if until.IsZero() {
			until = now.Add(e.Wait)
		}
		t.noteContent(until, &t.out) // no request is pending until then
		switch t.Kind {
		case Asking, Reasoning, Answering, Calling: // these belong to the request that failed
			t.waitFor(Waiting, "", now)
		}
		t.countDown(e, until, now, &t.out)
	case session.Question:
		t.waitFor(Asking, "", now)
	case session.Countdown:
		if e.Stopped {
			t.endCountdown(&t.out)
			return
		}
		t.countDown(e.Question, now.Add(e.Question.Wait), now, &t.out)
	case session.QuestionAnswered:
		t.endCountdown(&t.out)
	}
}

// endCall ends a call. Once no call is running, the turn waits for the model.
func (t *Turn) endCall(r storedResult, now time.Time) {
	t.response.calls.end(r, &t.out)
	if !t.response.calls.running() {
		t.Activity.set(Waiting, "", now)
	}
}

// waitFor sets an activity other than waiting for the model.
func (t *Turn) waitFor(what ActivityKind, tool string, now time.Time) {
	t.asked = time.Time{}
	t.Activity.set(what, tool, now)
}

// addFooter adds the footer for the answers to one prompt.
func (t *Turn) addFooter(interrupted bool) {
	totals := t.totals
	t.totals = Totals{}
	totals.Sent, totals.Before = t.sent, t.before
	if totals.Interrupted = interrupted; totals.Answered || totals.Incomplete != "" {
		t.out.put(Change{Kind: FooterBlock, Totals: &totals})
	}
}

// Tick returns changes caused by time alone: countdowns and silence.
func (t *Turn) Tick(now time.Time) []Change {
	out := t.out.reset()
	t.stall.tick(now, out)
	return out.changes
}

// ExtendSilence restarts the silence timer of the model.
func (t *Turn) ExtendSilence(now time.Time) []Change {
	out := t.out.reset()
	t.noteContent(now, out)
	return out.changes
}

// RetryNow ends the countdown because the request is sent now.
func (t *Turn) RetryNow(now time.Time) []Change {
	out := t.out.reset()
	t.noteContent(now, out)
	t.countDown(t.awaited, now, now, out)
	return out.changes
}

// Activity describes the current activity of a turn.
type Activity struct {
	Kind  ActivityKind
	Tool  string    // tool that is called or runs
	Since time.Time // start of the activity
}

// ActivityKind is a kind of activity.
type ActivityKind int

// The activities.
const (
	Waiting ActivityKind = iota
	Reasoning
	Answering
	Calling // the arguments of a call are arriving
	Asking  // the user has to decide about a call
	Running // a tool is running
	Comparing
	MakingImage
)

// set changes the activity; the start time changes only with it.
func (a *Activity) set(what ActivityKind, tool string, now time.Time) {
	if tool = act.DisplayName(tool); a.Kind != what || a.Tool != tool {
		*a = Activity{Kind: what, Tool: tool, Since: now}
	}
}

// A stall tracks how long nothing of an answer has arrived and, during a retry countdown, when it ends. The zero value
// is no stall.
type stall struct {
	asked   time.Time // time of the request; zero once a delta has arrived
	content time.Time // time of the last content in the running answer; zero if no answer is running
	silence string    // id of the SilenceBlock; "" if not shown

	awaited   session.Event // the last llm.Retry, or a session.Question with a countdown
	until     time.Time     // time of the next attempt; zero if there is no countdown
	countdown string        // id of the RetryBlock; "" if not shown
}

// received notes that a delta arrived, which ends any countdown.
func (s *stall) received(now time.Time, out *changeList) {
	s.asked, s.until = time.Time{}, time.Time{}
	s.noteContent(now, out)
}

// noteContent notes content of the running answer and hides the silence block.
func (s *stall) noteContent(now time.Time, out *changeList) {
	s.content = now
	out.drop(&s.silence, SilenceBlock)
}

// countDown shows the time left until the request is sent again; e is the reason.
func (s *stall) countDown(e session.Event, until, now time.Time, out *changeList) {
	s.awaited, s.until = e, until
	out.show(&s.countdown, Change{Kind: RetryBlock, Event: e, Duration: until.Sub(now)})
}

// endCountdown removes the countdown.
func (s *stall) endCountdown(out *changeList) {
	s.until = time.Time{}
	out.drop(&s.countdown, RetryBlock)
}

// end ends the stall together with its answer.
func (s *stall) end(out *changeList) {
	s.noteContent(time.Time{}, out)
	s.endCountdown(out)
}

// tick updates the countdown and the silence block.
func (s *stall) tick(now time.Time, out *changeList) {
	if !s.until.IsZero() {
		s.countDown(s.awaited, s.until, now, out)
	}
	if s.Silent(now) {
		out.show(&s.silence, Change{Kind: SilenceBlock, Duration: now.Sub(s.content)})
	}
}

// WaitedFor returns how long the turn has waited for a first delta; 0 once one has arrived.
func (s *stall) WaitedFor(now time.Time) time.Duration {
	if s.asked.IsZero() {
		return 0
	}
	return now.Sub(s.asked)
}

// silentAfter is how long an answer may have no content before the user is offered to stop it. The server has sent
// keep-alives until then, or the answer would have ended.
const silentAfter = 5 * time.Minute

// Silent reports whether the running answer has had no content for silentAfter.
func (s *stall) Silent(now time.Time) bool {
	return !s.content.IsZero() && now.Sub(s.content) >= silentAfter
}

// RetryIn returns the time until parley sends a request again; 0 if no retry is pending.
func (s *stall) RetryIn(now time.Time) time.Duration {
	if r, ok := s.awaited.(llm.Retry); !ok || r.Remote {
		return 0
	}
	return max(s.until.Sub(now), 0) // also for the zero time
}

// AwaitsReset reports whether the turn waits for the reset of a limit. The request after it ends that.
func (s *stall) AwaitsReset() bool {
	r, ok := s.awaited.(llm.Retry)
	return ok && !r.Until.IsZero() && !s.until.IsZero()
}

// ContinuesIn returns the time until a question of the turn gets its default answer; 0 if none does.
func (s *stall) ContinuesIn(now time.Time) time.Duration {
	if _, ok := s.awaited.(session.Question); !ok {
		return 0
	}
	return max(s.until.Sub(now), 0)
}

// NoRetryPending is the reply to a retry command if no retry is pending.
const NoRetryPending = "Not waiting to retry"
