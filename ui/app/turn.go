package app

import (
	"strconv"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui/format"
)

// A Turn folds the events of a session into what any front end shows of them, live
// and replayed alike: blocks that open, grow, close, change and go. It is pure: it
// has no clock, no terminal and no goroutine, and the same events give the same
// changes. The zero value is ready at any boundary of a turn.
//
//	session.Turn, Compare, Compact ──► events ──┐
//	stored nodes and annotations ──► Replay ────┴──► Apply ──► []Change ──► screen, column, plain lines
type Turn struct {
	NewID func() string // returns a new id of a block; nil: the turn counts

	Model    string // that answers; "" before the first step
	Activity        // what goes on

	minted  int
	changes []Change   // of the last Apply
	seq     int        // of the message that what comes belongs to
	totals  TurnTotals // of the answers since the last prompt

	running

	silence string        // id of the SilenceBlock; "": none
	retry   session.Event // the last retry, or question with a countdown
	retryID string        // id of the RetryBlock; "": none
	retryAt time.Time     // when the request is sent again; zero: none is waiting
}

// running is the answer that arrives, or arrived last.
type running struct {
	parts  partialAnswer
	draft  llm.Draft         // where the session holds none
	blocks map[string]*block // by the name of the delta's block
	order  []*block          // the same as they began
	open   *block            // the one that grows; nil: none
	calls  map[string]*block // by id of the call

	preview string    // id of the block that shows an unfinished image; "": none
	first   time.Time // when its first delta came
	bytes   int       // of it, but for its beginning
	content time.Time // when it last had any; zero while none arrives
}

// partialAnswer gives access to the answer that is arriving; session.PartialResponse implements it.
type partialAnswer interface {
	Part(block string) (llm.Part, bool)
}

// A block is one part of an answer.
type block struct {
	id    string
	kind  llm.Kind
	shown bool // the front end knows it
	began time.Time
	size  int // bytes of its text
	count int // of a source: its number under the answer
	tool  Tool
}

// A Change says what happens to one block. Its strings are shared with the events.
type Change struct {
	Op   Op
	ID   string // of the block; never used for another one
	Was  string // of Renamed: the id that the block had before
	Kind BlockKind
	Seq  int // of the message that the block belongs to; 0: none

	Text     string        // of Grown: the text to append; else the whole text
	Whole    string        // of TextBlock: the whole text so far, perhaps ahead of the changes
	Duration time.Duration // of thinking, when it is Closed; of RetryBlock: until the request is sent; of SilenceBlock: since the last content
	Part     *llm.Part     // of SourceBlock and MediaBlock
	Tool     *Tool         // of ToolBlock: the call, as far as it is known
	Totals   *TurnTotals   // of FooterBlock
	Event    session.Event // that the block shows, or that changed it; nil: none
	Note     int           // number of the stored annotation that holds Event; 0: the event is live
	Count    int           // of SummaryBlock: messages that it replaces in requests; of SourceBlock: its number under the answer

	Implied bool // Event was not recorded: it is derived from what is stored
}

// Op is what happens to a block.
type Op int

// The operations.
const (
	Opened   Op = iota // it is new
	Grown              // Text is to be appended; a closed block opens again
	Closed             // it is complete
	Replaced           // its content is another one
	Renamed            // its kind and its id are others
	Dropped            // it is to be removed
)

// BlockKind is what a block shows.
type BlockKind int

// The kinds of blocks.
const (
	EventBlock       BlockKind = iota // an event between the messages: a notice, a fallback, a switch, an error, a command of the user's
	UserBlock                         // a prompt; its Event is the session.Prompt
	ThinkingBlock                     // of the model
	TextBlock                         // of an answer
	ToolBlock                         // a call of a tool
	SourceBlock                       // that an answer names
	MediaBlock                        // in an answer
	SummaryBlock                      // stands for the messages in front of it
	RetryBlock                        // a request will be sent again, or to another model; dropped once an answer comes
	SilenceBlock                      // no content has come for long; dropped once some does
	FooterBlock                       // sums up the answers to a prompt
	InterruptedBlock                  // the answer above was interrupted, by the error Text; "": by the user
)

// Apply folds an event, which came now, into the turn and returns the changes of blocks, which
// are valid until the next call of a method.
func (t *Turn) Apply(e session.Event, now time.Time) []Change {
	t.changes = t.changes[:0]
	switch e := e.(type) {
	case session.Prompt:
		if !e.Steers {
			t.addFooter(false) // what came before a message that waited
		}
		t.seq = e.Seq
		t.put(Change{Kind: UserBlock, Event: e})
	case session.Step:
		t.step(e, now)
	case session.Compacted:
		if e.Seq > 0 { // else it is an annotation: the summary is a message of its own
			t.seq = e.Seq
			t.put(Change{Kind: SummaryBlock, Text: e.Text, Count: e.Messages})
		}
		t.put(Change{Event: e})
	case llm.Delta:
		t.delta(e, now)
	case llm.Preview:
		t.showPreview(e, now)
	case llm.Retry:
		t.scheduleRetry(e, now)
	case session.Question:
		t.waitForOther(Asking, now)
	case session.Countdown, session.QuestionAnswered:
		t.applyCountdown(e, now)
	case session.Response:
		t.answer(e, now)
	case session.Call:
		t.call(e, now)
	case session.ApprovalRequest:
		t.ask(e, now)
	case session.Decision:
		t.decided(e, now)
	case session.Progress:
		t.progress(e)
	case session.Result:
		t.result(e, false, now)
	case session.CandidateEvent:
		t.waitForOther(Comparing, now)
	case session.Done:
		t.close(now)
		t.drop(RetryBlock, &t.retryID) // a summary has no answer that ends it
		if e.Err != nil {
			t.put(Change{Event: e})
		}
		t.addFooter(e.Err != nil)
	case storedResult:
		if e.denied {
			t.blockOf(e.Part.ID).tool.Status = CallDenied
		}
		t.result(e.Result, e.lost, now)
	case session.DroppedCall:
		t.put(Change{Kind: ToolBlock, Tool: &Tool{Name: tools.DisplayName(e.Name), Input: e.Input, Status: CallCanceled}, Event: e})
	case llm.Notice, session.Fallback, session.ModelSwitched, session.Persona, session.Settings, session.Directories, session.ShellCommand, session.Verdict:
		t.put(Change{Event: e})
	}
	return t.changes
}

// scheduleRetry shows that a request will be sent again.
func (t *Turn) scheduleRetry(e llm.Retry, now time.Time) {
	t.retry, t.retryAt = e, now.Add(e.Wait)
	t.noteContent(t.retryAt) // until then nobody is asked
	if t.Kind == Asking {    // about that
		t.waitForOther(Waiting, now)
	}
	t.countDown(now)
}

// waitForOther sets the activity to waiting for something else than the model.
func (t *Turn) waitForOther(what ActivityKind, now time.Time) {
	t.asked = time.Time{}
	t.setActivity(what, "", now)
}

// applyCountdown shows the countdown of a question, until it is held or answered.
func (t *Turn) applyCountdown(e session.Event, now time.Time) {
	if c, counts := e.(session.Countdown); counts && !c.Stopped {
		t.retry, t.retryAt = c.Question, now.Add(c.Question.Wait)
		t.countDown(now)
		return
	}
	t.retryAt = time.Time{}
	t.drop(RetryBlock, &t.retryID)
}

// Tick returns what time alone changes: a countdown, a silence.
func (t *Turn) Tick(now time.Time) []Change {
	t.changes = t.changes[:0]
	if !t.retryAt.IsZero() {
		t.countDown(now)
	}
	if t.Silent(now) {
		op := Replaced
		if t.silence == "" {
			t.silence, op = t.newID(), Opened
		}
		t.put(Change{Op: op, ID: t.silence, Kind: SilenceBlock, Duration: now.Sub(t.content)})
	}
	return t.changes
}

// put adds a change. One without an id opens a block.
func (t *Turn) put(c Change) {
	if c.ID == "" {
		c.ID = t.newID()
	}
	c.Seq = t.seq
	t.changes = append(t.changes, c)
}

func (t *Turn) newID() string {
	if t.NewID != nil {
		return t.NewID()
	}
	t.minted++
	return strconv.Itoa(t.minted)
}

// drop takes a line away, if it is there.
func (t *Turn) drop(kind BlockKind, id *string) {
	if *id != "" {
		t.put(Change{Op: Dropped, ID: *id, Kind: kind})
		*id = ""
	}
}

// addFooter closes the answers to one prompt.
func (t *Turn) addFooter(cut bool) {
	tally := t.totals
	t.totals = TurnTotals{}
	if tally.Interrupted = cut; tally.Answered || tally.Empty {
		t.put(Change{Kind: FooterBlock, Totals: &tally})
	}
}

// countDown says how long it takes until a request goes out again.
func (t *Turn) countDown(now time.Time) {
	op := Replaced
	if t.retryID == "" {
		t.retryID, op = t.newID(), Opened
	}
	t.put(Change{Op: op, ID: t.retryID, Kind: RetryBlock, Event: t.retry, Duration: t.retryAt.Sub(now)})
}

// silentAfter is how long an answer has no content before the user is asked to
// wait or to stop it. The server has given signs of life until then, or the
// answer would have ended.
const silentAfter = 5 * time.Minute

// Silent reports whether the running answer has had no content for long.
func (t *Turn) Silent(now time.Time) bool {
	return !t.content.IsZero() && now.Sub(t.content) >= silentAfter
}

// ExtendSilence gives a silent model as much time again as it had.
func (t *Turn) ExtendSilence(now time.Time) []Change {
	t.changes = t.changes[:0]
	t.noteContent(now)
	return t.changes
}

// noteContent notes that the running answer has content.
func (t *Turn) noteContent(now time.Time) {
	t.content = now
	t.drop(SilenceBlock, &t.silence)
}

// RetryIn returns how long it takes until a request goes out again; 0 if none is waited for.
func (t *Turn) RetryIn(now time.Time) time.Duration {
	if _, ok := t.retry.(llm.Retry); !ok {
		return 0
	}
	return max(t.retryAt.Sub(now), 0) // of the zero time, as well
}

// RetryNow shows that the request goes out now.
func (t *Turn) RetryNow(now time.Time) []Change {
	t.changes = t.changes[:0]
	t.retryAt = now
	t.noteContent(now)
	t.countDown(now)
	return t.changes
}

// RetryWaitText says for how long a request is not sent again.
func RetryWaitText(rest time.Duration) string { return "Waiting, " + format.Seconds(rest) + " left" }

// NoRetryPending says that there is nothing to send now.
const NoRetryPending = "Nothing waits to be sent again"
