package app

import (
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/ui/format"
)

// A Turn folds the events of a session into what any front end shows of them, live
// and replayed alike: blocks that open, grow, close, change and go. It is pure: it
// has no clock, no terminal and no goroutine, and the same events give the same
// changes. The zero value is ready at any boundary of a turn.
//
//	session.Turn, Compare, Compact ──► events ──┐
//	stored nodes and annotations ──► Replay ────┴──► Apply ──► []Change ──► screen, column, plain lines
//
// Its parts: the response has the blocks of the answer and its calls, the stall shows that
// nothing comes, the pace is how fast something does.
type Turn struct {
	Model    string // that answers; "" before the first step
	Activity        // what goes on
	stall
	pace

	response response
	totals   TurnTotals // of the answers since the last prompt
	out      changeList // of the last event
}

// NewTurn returns a turn whose blocks have ids that newID returns, another one each time. Nil
// is the zero value: the turn counts.
func NewTurn(newID func() string) Turn { return Turn{out: changeList{newID: newID}} }

// Begin says that a turn begins now.
func (t *Turn) Begin(now time.Time) { t.Since, t.asked = now, now }

// Apply folds an event, which came now, into the turn and returns the changes of blocks, which
// are valid until the next call of a method.
func (t *Turn) Apply(e session.Event, now time.Time) []Change {
	out, calls := t.out.reset(), &t.response.calls
	switch e := e.(type) {
	case session.Prompt:
		if !e.Steers {
			t.addFooter(false) // what came before a message that waited
		}
		out.seq = e.Seq
		out.put(Change{Kind: UserBlock, Event: e})
	case session.Step:
		t.step(e, now)
	case session.Compacted:
		if e.Seq > 0 { // else it is an annotation: the summary is a message of its own
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
		t.Activity = Activity{Kind: Running, Tool: tool.Name, Since: now} // waiting for the user is not running
	case session.Progress:
		calls.progress(e, out)
	case session.Result:
		t.endCall(storedResult{Result: e}, now)
	case storedResult:
		t.endCall(e, now)
	case session.DroppedCall:
		out.put(Change{Kind: ToolBlock, Tool: &Tool{Name: act.DisplayName(e.Name), Input: e.Input, Status: CallCanceled}, Event: e})
	case session.CandidateEvent:
		t.waitFor(Comparing, "", now)
	case session.Done:
		t.response.close(now, out)
		t.endCountdown(out) // a summary has no answer that ends it
		if e.Err != nil {
			out.put(Change{Event: e})
		}
		t.addFooter(e.Err != nil)
	case llm.Notice, session.Sandbox, session.Fallback, session.ModelSwitched, session.Persona, session.Settings, session.AddedDirectories, session.ShellCommand, session.Verdict:
		out.put(Change{Event: e})
	}
	return out.changes
}

// step begins an answer.
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

// activities are what goes on while blocks of a kind grow.
var activities = map[llm.Kind]ActivityKind{llm.Thinking: Reasoning, llm.Text: Answering, llm.Call: Calling}

func (t *Turn) delta(d llm.Delta, now time.Time) {
	if t.response.parts == nil { // nobody said that a request goes out
		t.step(session.Step{Model: t.Model, Seq: t.out.seq}, now)
	}
	t.received(now, &t.out)
	t.pace.add(len(d.Text)+len(d.Input), now)
	kind, tool := t.response.add(d, now, &t.out)
	if what, ok := activities[kind]; ok {
		t.Activity.set(what, tool, now)
	}
}

// endAnswer ends an answer.
func (t *Turn) endAnswer(a session.Response, now time.Time) {
	t.response.close(now, &t.out)
	t.stall.end(&t.out)
	t.pace = pace{}
	t.totals.add(a)
	t.response.finish(a, &t.out)
}

// delay shows that something else comes before the model goes on: a pause, or the user's word.
func (t *Turn) delay(e session.Event, now time.Time) {
	switch e := e.(type) {
	case llm.Retry:
		t.response.discard(e.Discards, &t.out)
		t.pace = pace{}
		t.noteContent(now.Add(e.Wait), &t.out) // until then nobody is asked
		switch t.Kind {
		case Asking, Reasoning, Answering, Calling: // about that, or what was cut
			t.waitFor(Waiting, "", now)
		}
		t.countDown(e, now.Add(e.Wait), now, &t.out)
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

// endCall ends a call; once none runs the model is waited for.
func (t *Turn) endCall(r storedResult, now time.Time) {
	t.response.calls.end(r, &t.out)
	if !t.response.calls.running() {
		t.Activity.set(Waiting, "", now)
	}
}

// waitFor sets the activity to waiting for something else than the model.
func (t *Turn) waitFor(what ActivityKind, tool string, now time.Time) {
	t.asked = time.Time{}
	t.Activity.set(what, tool, now)
}

// addFooter closes the answers to one prompt.
func (t *Turn) addFooter(interrupted bool) {
	totals := t.totals
	t.totals = TurnTotals{}
	if totals.Interrupted = interrupted; totals.Answered || totals.Incomplete != "" {
		t.out.put(Change{Kind: FooterBlock, Totals: &totals})
	}
}

// Tick returns what time alone changes: a countdown, a silence.
func (t *Turn) Tick(now time.Time) []Change {
	out := t.out.reset()
	t.stall.tick(now, out)
	return out.changes
}

// ExtendSilence gives a silent model as much time again as it had.
func (t *Turn) ExtendSilence(now time.Time) []Change {
	out := t.out.reset()
	t.noteContent(now, out)
	return out.changes
}

// RetryNow shows that the request goes out now.
func (t *Turn) RetryNow(now time.Time) []Change {
	out := t.out.reset()
	t.noteContent(now, out)
	t.countDown(t.awaited, now, now, out)
	return out.changes
}

// Activity is what goes on in a turn.
type Activity struct {
	Kind  ActivityKind
	Tool  string    // that is called, or runs
	Since time.Time // when it began
}

// ActivityKind is a kind of activity.
type ActivityKind int

// The activities.
const (
	Waiting ActivityKind = iota
	Reasoning
	Answering
	Calling // the arguments of a call arrive
	Asking  // the user has to decide about a call
	Running // a tool does
	Comparing
	MakingImage
)

// set notes what goes on, and since when.
func (a *Activity) set(what ActivityKind, tool string, now time.Time) {
	if tool = act.DisplayName(tool); a.Kind != what || a.Tool != tool {
		*a = Activity{Kind: what, Tool: tool, Since: now}
	}
}

// A stall is that nothing of an answer comes: for how long, and until when if that is known. The
// zero value is no stall.
type stall struct {
	asked   time.Time // since when nothing has come of a request; zero while something does
	content time.Time // when the running answer last had any; zero while none arrives
	silence string    // id of the SilenceBlock; "": none

	awaited   session.Event // the last llm.Retry, or session.Question with a countdown
	until     time.Time     // when the request is sent again; zero: none is waiting
	countdown string        // id of the RetryBlock; "": none
}

// received notes that a delta came, for which nothing more is counted down.
func (s *stall) received(now time.Time, out *changeList) {
	s.asked, s.until = time.Time{}, time.Time{}
	s.noteContent(now, out)
}

// noteContent notes that the running answer has content.
func (s *stall) noteContent(now time.Time, out *changeList) {
	s.content = now
	out.drop(&s.silence, SilenceBlock)
}

// countDown shows how long it takes until a request is sent again, at the time until; e is why.
func (s *stall) countDown(e session.Event, until, now time.Time, out *changeList) {
	s.awaited, s.until = e, until
	out.show(&s.countdown, Change{Kind: RetryBlock, Event: e, Duration: until.Sub(now)})
}

// endCountdown shows that nothing is counted down any more.
func (s *stall) endCountdown(out *changeList) {
	s.until = time.Time{}
	out.drop(&s.countdown, RetryBlock)
}

// end ends the stall, as its answer has ended.
func (s *stall) end(out *changeList) {
	s.noteContent(time.Time{}, out)
	s.endCountdown(out)
}

// tick shows how long the countdown and the silence last now.
func (s *stall) tick(now time.Time, out *changeList) {
	if !s.until.IsZero() {
		s.countDown(s.awaited, s.until, now, out)
	}
	if s.Silent(now) {
		out.show(&s.silence, Change{Kind: SilenceBlock, Duration: now.Sub(s.content)})
	}
}

// WaitedFor returns how long nothing has come; 0 while something does.
func (s *stall) WaitedFor(now time.Time) time.Duration {
	if s.asked.IsZero() {
		return 0
	}
	return now.Sub(s.asked)
}

// silentAfter is how long an answer has no content before the user is asked to
// wait or to stop it. The server has given signs of life until then, or the
// answer would have ended.
const silentAfter = 5 * time.Minute

// Silent reports whether the running answer has had no content for long.
func (s *stall) Silent(now time.Time) bool {
	return !s.content.IsZero() && now.Sub(s.content) >= silentAfter
}

// RetryIn returns how long parley waits until it sends a request again; 0 if it does not.
func (s *stall) RetryIn(now time.Time) time.Duration {
	if r, ok := s.awaited.(llm.Retry); !ok || r.Remote {
		return 0
	}
	return max(s.until.Sub(now), 0) // of the zero time, as well
}

// RetryWaitText says for how long a request is not sent again.
func RetryWaitText(rest time.Duration) string { return "Waiting, " + format.Seconds(rest) + " left" }

// NoRetryPending says that there is nothing to send now.
const NoRetryPending = "Not waiting to retry"
