package app

import (
	"strconv"
	"time"

	"parley/providers/llm"
	"parley/session"
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
	NewID func() string // mints the id of a block; nil: the turn counts by itself

	Model    string // that answers; "" before it was asked
	Activity        // what goes on

	minted  int
	changes []Change   // of the last Apply
	seq     int        // of the message that what comes belongs to
	totals  TurnTotals // of the answers since the last prompt

	running

	silence string        // id of the line that says that it has had none for long; "" if there is none
	retry   session.Event // the last retry, or question with a countdown
	retryID string        // of its line; "" if there is none
	resend  time.Time     // when it goes out; zero: none is waited for
}

// running is the answer that arrives, or arrived last.
type running struct {
	parts  parts
	draft  llm.Draft         // where the session holds none
	blocks map[string]*block // by the name of the delta's block
	order  []*block          // the same as they began
	open   *block            // that grows; nil: none
	calls  map[string]*block // by id of the call

	preview string    // id of the block that shows an unfinished image; "": none
	first   time.Time // when its first delta came
	bytes   int       // of it, but for its beginning
	content time.Time // when it last had any; zero while none arrives
}

// parts is an answer that is arriving, as somebody else holds it.
type parts interface {
	Part(block string) (llm.Part, bool)
}

// A block is one part of an answer.
type block struct {
	id    string
	kind  llm.Kind
	shown bool // it was opened
	began time.Time
	size  int // bytes of its text
	count int // of a source: its number under the answer
	tool  Tool
}

// A Change is what becomes of one block. Its strings are shared with the events.
type Change struct {
	Op   Op
	ID   string // of the block: minted once, and never given again
	Was  string // Renamed: the id of the block in whose place this one stands
	Kind BlockKind
	Seq  int // of the message that it belongs to; 0: none

	Text     string        // Grown: what came; else all there is to read
	Whole    string        // of TextBlock: all that came so far, perhaps ahead of what was shown
	Duration time.Duration // Closed: how long was thought; of RetryBlock: until it goes out; of SilenceBlock: since when nothing came
	Part     *llm.Part     // of SourceBlock and MediaBlock
	Tool     *Tool         // of ToolBlock: what is known of it so far
	Totals   *TurnTotals   // of FooterBlock
	Event    session.Event // that the block shows, or that changed it; nil: none
	Note     int           // number of the annotation that holds Event; 0: it comes live
	Count    int           // of SummaryBlock: messages that it stands for; of SourceBlock: its number under the answer

	Implied bool // nobody said Event: it follows from what is stored
}

// Op is what becomes of a block.
type Op int

// The operations.
const (
	Opened   Op = iota // it is new
	Grown              // Text came; one that was closed goes on where the conversation stands
	Closed             // it is whole
	Replaced           // it shows something else
	Renamed            // it turned out to be of another kind, and has another id
	Dropped            // it goes
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
	SummaryBlock                      // of what was said so far
	RetryBlock                        // a request goes out again, or to another model; gone once an answer came
	SilenceBlock                      // nothing has come for long; gone once something does
	FooterBlock                       // sums up the answers to a prompt
	InterruptedBlock                  // the answer above broke off, with the error Text; "": it was stopped
)

// Apply folds an event, which came now, into the turn. What it returns is good
// until the next Apply or Tick.
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
		t.rest(e, now)
	case session.Question:
		t.await(Asking, now)
	case session.Countdown, session.QuestionAnswered:
		t.count(e, now)
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
		t.await(Comparing, now)
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
		t.put(Change{Kind: ToolBlock, Tool: &Tool{Name: e.Name, Input: e.Input, Status: CallCanceled}, Event: e})
	case llm.Notice, session.Fallback, session.ModelSwitched, session.Persona, session.Settings, session.Directories, session.ShellCommand, session.Verdict:
		t.put(Change{Event: e})
	}
	return t.changes
}

// rest shows when a request goes out again.
func (t *Turn) rest(e llm.Retry, now time.Time) {
	t.retry, t.resend = e, now.Add(e.Wait)
	t.heard(t.resend)     // until then nobody is asked
	if t.Kind == Asking { // about that
		t.await(Waiting, now)
	}
	t.countDown(now)
}

// await notes that something else than the model is waited for.
func (t *Turn) await(what ActivityKind, now time.Time) {
	t.asked = time.Time{}
	t.do(what, "", now)
}

// count shows the countdown of a question, until it is held or answered.
func (t *Turn) count(e session.Event, now time.Time) {
	if c, counts := e.(session.Countdown); counts && !c.Stopped {
		t.retry, t.resend = c.Question, now.Add(c.Question.Wait)
		t.countDown(now)
		return
	}
	t.resend = time.Time{}
	t.drop(RetryBlock, &t.retryID)
}

// Tick returns what time alone changes: a countdown, a silence.
func (t *Turn) Tick(now time.Time) []Change {
	t.changes = t.changes[:0]
	if !t.resend.IsZero() {
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
	t.put(Change{Op: op, ID: t.retryID, Kind: RetryBlock, Event: t.retry, Duration: t.resend.Sub(now)})
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
	t.heard(now)
	return t.changes
}

// heard notes that the running answer has content.
func (t *Turn) heard(now time.Time) {
	t.content = now
	t.drop(SilenceBlock, &t.silence)
}

// RetryIn returns how long it takes until a request goes out again; 0 if none is waited for.
func (t *Turn) RetryIn(now time.Time) time.Duration {
	if _, ok := t.retry.(llm.Retry); !ok {
		return 0
	}
	return max(t.resend.Sub(now), 0) // of the zero time, as well
}

// RetryNow shows that the request goes out now.
func (t *Turn) RetryNow(now time.Time) []Change {
	t.changes = t.changes[:0]
	t.resend = now
	t.heard(now)
	t.countDown(now)
	return t.changes
}

// RetryWaitText says for how long a request is not sent again.
func RetryWaitText(rest time.Duration) string { return "Waiting, " + format.Seconds(rest) + " left" }

// NoRetryPending says that there is nothing to send now.
const NoRetryPending = "Nothing waits to be sent again"
