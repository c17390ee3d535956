package session

import (
	"context"
	"fmt"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/act"
)

// An Event is one thing that happened in a turn: llm.Delta (each with its Kind),
// llm.Notice, llm.Retry and llm.Usage as the model sent them, and the types of
// this file.
// All front ends consume the same sequence. A turn is
//
//	Prompt, then steps, then Done
//
// and a step is
//
//	Step, (Delta | Notice | Retry | Usage)*, Response, then for each call
//	Call, (ApprovalRequest?, Decision)?, Progress*, Result, Sandbox?
//
// Before a step, and after one that failed, a Question may be asked. QuestionAnswered ends it.
//
// If an answer has to fit a schema, one without calls is followed by StructuredOutput,
// or by a Notice and the Prompt that asks for it again.
//
// Calls that only read run in parallel, so that their events may interleave;
// each carries the call's id.
type Event any

// Prompt reports that a message of the user's entered the conversation.
type Prompt struct {
	Message llm.Message
	Seq     int  // of the message in the conversation
	Steers  bool // it went along with results of tools
}

// Unsent reports that a message of the user's did not enter the conversation, or is no part of it any more:
// they have it back. Done or a Notice says why.
type Unsent struct {
	Message llm.Message
	Seq     int    // of the message, if it was stored: it is a branch of its own
	Edits   int    // message that it was to replace, and does not: see Edit; 0: none
	Ends    bool   // the turn ends with it
	Command string // line that made the message, which comes back instead of its text; "": the text does
}

// Step reports that a request goes out.
type Step struct {
	Model   string          // provider/model
	N       int             // counts the requests of this turn from 1
	Seq     int             // of the response in the conversation, if it is stored
	Partial PartialResponse // the response, as far as it has arrived
	IsImage bool            // the model makes an image
}

// Response reports that a response ended and entered the conversation. After an
// error or a cancel its message holds what had arrived and is marked Interrupted; it
// may be empty.
type Response struct {
	Message    llm.Message
	Seq        int // of the message in the conversation; 0 if it was not kept
	Finish     llm.Finish
	Usage      llm.Usage
	UsageKnown bool          // Usage was reported, or, of an answer that broke off, estimated
	TTFT       time.Duration // from the request to the first delta; 0 if none came
	Duration   time.Duration // from the request to the end

	At                time.Time       // when it was asked for, as it is stored
	ThinkingDurations []time.Duration // how long each part of thinking took to arrive, as it is stored
}

// Sandbox reports what the sandbox undid of commands, and its warnings about what they left. It
// follows a Result or precedes Done, and is not always about the call before it: hooks and jobs run
// commands too.
type Sandbox struct {
	Text string `json:"text"`
}

// Call reports that a tool call of the model's is about to be checked and run.
type Call struct{ Part llm.Part }

// ApprovalRequest asks the user whether a call may run. The turn waits for Reply.
type ApprovalRequest struct {
	Call   llm.Part // with the arguments that it would run with: the user or a hook may have changed them
	Action *act.Action
	Policy act.Policy // has the rules that an answer can add
	reply  chan act.Approval
}

// Decision reports whether a call may run, and who decided that.
type Decision struct {
	ID      string
	Verdict act.Verdict // Allow or Deny
	By      string      // "person" or "policy"
}

// Progress holds live output of a running tool.
type Progress struct {
	ID   string
	Text string // to be appended; each backspace in it takes back a character
}

// Result holds a call's result, as the model will see it.
type Result struct {
	Part     llm.Part // Kind llm.Result
	Input    string   // the arguments that it ran with, if the user or a hook changed them
	Diff     string   // unified diff of what was changed
	Duration time.Duration
	Stopped  bool // a user ended it before it was finished, or the turn
}

// Fallback reports that the turn goes on with another model after a fault.
type Fallback struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	Fault llm.Fault `json:"fault"`
	Until time.Time `json:"until,omitzero"` // From failed before this turn, and is not asked until then; zero: it failed now
}

// ModelSwitched reports that another model answers from here on, and what of the
// conversation has to be adapted for it.
type ModelSwitched struct {
	From    string       `json:"from"`
	To      string       `json:"to"`
	Changes []llm.Change `json:"changes,omitempty"`
}

// Compacted reports that a summary stands for what was said so far in the requests
// to come. The conversation itself stays whole.
type Compacted struct {
	Seq      int    `json:"-"`      // of the summary in the conversation
	Text     string `json:"-"`      // of the summary
	Messages int    `json:"-"`      // that it stands for
	Before   int    `json:"before"` // about how many tokens that took in requests
	After    int    `json:"after"`  // and takes now
}

// ShellCommand holds a command of the user's own, not of the model's. It is not part of a
// turn: front ends keep it with Annotate.
type ShellCommand struct {
	Command  string        `json:"command"`
	Output   string        `json:"output,omitempty"` // what it wrote
	Notes    string        `json:"notes,omitempty"`  // parley's own lines after it: how it ended
	Failed   bool          `json:"failed,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // with Failed: the user stopped it
	Ended    bool          `json:"ended,omitempty"`   // false: it still runs, or parley ended before it did
	Duration time.Duration `json:"took,omitempty"`    // in ns
}

// DroppedCall holds a call of a response that broke off: it never runs. It is not part of
// the sequence either: Annotations has it.
type DroppedCall struct {
	Name  string `json:"name"`
	Input string `json:"input"` // as far as it came
}

// Abandoned reports that the turn continues from before an answer that broke off, which
// stays on a branch. Only Annotations has it.
type Abandoned struct {
	Seq int `json:"seq"` // of that answer
}

// Done is the last event of every turn.
type Done struct {
	Reason         llm.Reason // of the last response; "" if Err is set
	Err            error      // why the turn stopped early; canceled turns carry the context's error
	AnswerComplete bool       // the conversation ends in a complete answer: even with Err there is nothing to retry
	Unsent         bool       // what began the turn is no part of the conversation: see Unsent
	Fork           int        // Seq of the message from which the user chose to continue in a copy, with TurnFromSummary; 0: none
	Usage          llm.Usage  // of the whole turn
	Steps          int
	Duration       time.Duration
}

// Reply answers the question. Only the first reply counts.
func (a ApprovalRequest) Reply(answer act.Approval) {
	select {
	case a.reply <- answer:
	default:
	}
}

// A Question asks the user how the turn continues. The turn waits for Reply, or for Wait to
// pass since MarkShown, and then emits QuestionAnswered. In a session that is not
// Options.Attended no question is emitted: the default choice is taken.
type Question struct {
	ID      int           // counts the questions of the turn from 1
	About   any           // a Failure, an Overflow, an Overspend or an Expense
	Choices []Choice      // at least one; the last one ends the turn
	Default int           // index of the choice that is taken Wait after MarkShown, and where the user cannot be asked
	Wait    time.Duration // 0: no countdown
	reply   chan int
	shown   chan struct{}
	stopped chan struct{}
}

// A Choice is one answer to a Question.
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

// Countdown reports that the countdown of a question started: after Question.Wait its default
// is taken. A later Countdown reports that it was stopped.
type Countdown struct {
	Question Question
	Stopped  bool // by StopCountdown: the question now waits for a reply
}

// QuestionAnswered reports which choice was taken, by the user or at the end of the countdown.
type QuestionAnswered struct {
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

// MarkShown reports that the question is on the screen and has the user's attention. It starts
// the countdown, if Wait is not 0.
func (q Question) MarkShown() {
	select {
	case q.shown <- struct{}{}:
	default:
	}
}

// StopCountdown stops the countdown: the user is working on the question.
func (q Question) StopCountdown() {
	select {
	case q.stopped <- struct{}{}:
	default:
	}
}

// ErrProgramEnded is the cause to cancel the context of a turn with because the program ends: nobody
// stopped the answer. It is a context.Canceled.
var ErrProgramEnded = fmt.Errorf("the program ended: %w", context.Canceled)

// EndedText is what Node.InterruptedBy holds of an answer that the end of the program interrupted.
const EndedText = store.PartialAnswerText

// errStoppedAtQuestion ends a turn in which the user chose StopTurn.
var errStoppedAtQuestion = fmt.Errorf("stopped at a question: %w", context.Canceled)

// turnQuestions asks the user what a turn cannot decide.
type turnQuestions struct {
	turn   *turn
	asked  int  // how many
	unsent bool // they stopped at a question about a request that was not sent
}

// ask asks the user a question and returns the choice. If the turn's context ends, that is
// the last one, which ends the turn.
func (a *turnQuestions) ask(q Question) Choice {
	t := a.turn
	stop := len(q.Choices) - 1
	if !t.session.attended {
		return q.Choices[q.Default]
	}
	a.asked++
	q.ID, q.reply, q.shown, q.stopped = a.asked, make(chan int, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	t.emit(q)
	n := a.waitForAnswer(q)
	if n < 0 || n >= len(q.Choices) {
		n = stop
	}
	t.emit(QuestionAnswered{Question: q, Choice: q.Choices[n]})
	if q.Choices[n].Action == StopTurn {
		_, failed := q.About.(Failure) // of a request that was sent
		a.unsent = !failed
	}
	return q.Choices[n]
}

// waitForAnswer returns the index of the choice; that of the last one if the turn's context ends.
func (a *turnQuestions) waitForAnswer(q Question) int {
	t := a.turn
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
		case <-q.stopped:
			if shown, late = nil, nil; q.Wait > 0 {
				t.emit(Countdown{Question: q, Stopped: true})
			}
		case <-late:
			return q.Default
		case <-t.ctx.Done():
			return len(q.Choices) - 1
		}
	}
}

// cause returns why the turn's context ended, if it did; else err.
func (t *turn) cause(err error) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return err
}

// A givenPrompt is a message as the user wrote it, and what else the model is told with it, but for what
// hooks say of each message.
type givenPrompt struct {
	turn   *turn
	Unsent            // Seq is 0 if it did not begin a turn
	starts []string   // what SessionStart hooks said
	notes  []llm.Part // see turn.prompt
}

// enter does as turn.prompt with the message that submit returned last.
func (g *givenPrompt) enter(m llm.Message) { g.Seq, g.notes = g.turn.prompt(m) }

// moved has to be called when the message that the turn began with got another number.
func (g *givenPrompt) moved(from, to int) {
	t := g.turn
	set(&t.mu, &t.turnSeq, to)
	if g.Seq == from {
		g.Seq = to
	}
}
