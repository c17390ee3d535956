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
	Seq     int       // of the message in the conversation
	At      time.Time // when it was sent, as stored
	Steers  bool      // it went along with results of tools
}

// Unsent reports that a user message did not enter the conversation, or was removed from it, and is given
// back to the user. Done or a Notice says why.
type Unsent struct {
	Message llm.Message
	Seq     int    // of the message if it was stored, on a branch of its own
	Edits   int    // message that it was meant to replace; see Edit; 0: none
	Ends    bool   // the turn ends with it
	Command string // command line that made the message, given back instead of its text; "": the text is given back
}

// Step reports that a request goes out.
type Step struct {
	Model   string          // provider/model
	N       int             // counts the requests of this turn from 1
	Seq     int             // of the response in the conversation, if it is stored
	Partial PartialResponse // the response received so far; nil: deltas only
	IsImage bool            // the model generates an image
}

// Response reports that a response ended and entered the conversation. After an
// error or a cancellation its message has the parts received so far and is marked
// Interrupted; it may be empty.
type Response struct {
	Message    llm.Message
	Seq        int // of the message in the conversation; 0 if it was not stored
	Finish     llm.Finish
	Usage      llm.Usage
	UsageKnown bool          // Usage was reported, or estimated for an interrupted answer
	Missed     CacheMiss     // tokens that the provider had cached but did not read
	TTFT       time.Duration // from the request to the first delta; 0 if none came
	Duration   time.Duration // from the request to the end

	At                time.Time       // time of the request, as stored
	ThinkingDurations []time.Duration // how long each thinking part took to arrive, as stored
}

// Sandbox reports changes by commands that the sandbox undid, and its warnings. It follows a Result
// or precedes Done, and may be about another command: hooks and jobs run commands too.
type Sandbox struct {
	Text string `json:"text"`
}

// Call reports that a tool call is about to be checked and run.
type Call struct{ Part llm.Part }

// ApprovalRequest asks the user whether a call may run. The turn waits for Reply.
type ApprovalRequest struct {
	Call   llm.Part // with its final arguments: the user or a hook may have changed them
	Action *act.Action
	Policy act.Policy // has the rules that an approval can add
	reply  chan act.Approval
}

// Decision reports whether a call may run, and who decided.
type Decision struct {
	ID      string
	Verdict act.Verdict // Allow or Deny
	By      string      // "person" or "policy"
}

// Progress is live output of a running tool.
type Progress struct {
	ID   string
	Text string // text to append; each backspace in it removes a character
}

// Result is a call's result as sent to the model.
type Result struct {
	Part     llm.Part   // Kind llm.Result
	Media    []llm.Part // images and other media in the output
	Input    string     // the arguments used, if the user or a hook changed them
	Diff     string     // unified diff of the changes
	Duration time.Duration
	Stopped  bool   // the user stopped the call or the turn before it finished
	By       string // see act.Outcome
}

// Fallback reports that the turn goes on with another model after a fault.
type Fallback struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	Fault llm.Fault `json:"fault"`
	Until time.Time `json:"until,omitzero"` // From is in a cooldown from an earlier turn until then; zero: it failed in this turn
}

// ModelSwitched reports that another model answers from now on, and how the
// conversation has to be adapted for it.
type ModelSwitched struct {
	From    string       `json:"from"`
	To      string       `json:"to"`
	Changes []llm.Change `json:"changes,omitempty"`
}

// Compacted reports that a summary replaces the earlier messages in later
// requests. The conversation itself is unchanged.
type Compacted struct {
	Seq      int    `json:"-"`      // of the summary in the conversation
	Text     string `json:"-"`      // of the summary
	Messages int    `json:"-"`      // number of messages that it replaces
	Before   int    `json:"before"` // approximate tokens of those messages
	After    int    `json:"after"`  // approximate tokens now
}

// ShellCommand is a command that the user ran. It is not part of a turn: front ends store
// it with Annotate.
type ShellCommand struct {
	Command  string        `json:"command"`
	Output   string        `json:"output,omitempty"` // output of the command
	Notes    string        `json:"notes,omitempty"`  // parley's own lines after the output: how the command ended
	Failed   bool          `json:"failed,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // with Failed: the user stopped it
	Ended    bool          `json:"ended,omitempty"`   // false: it still runs, or parley ended first
	Duration time.Duration `json:"took,omitempty"`    // in ns
}

// DroppedCall is a call of an interrupted response that never runs. It is not an event of
// a turn either; it is only in Annotations.
type DroppedCall struct {
	Name  string `json:"name"`
	Input string `json:"input"` // as far as it was received
}

// Abandoned reports that the turn continues from before an interrupted answer, which
// stays on a branch. It is only in Annotations.
type Abandoned struct {
	Seq int `json:"seq"` // of that answer
}

// Done is the last event of every turn.
type Done struct {
	Reason         llm.Reason // of the last response; "" if Err is set
	Err            error      // why the turn stopped early; canceled turns carry the context's error
	AnswerComplete bool       // the conversation ends with a complete answer: nothing to retry even if Err is set
	Unsent         bool       // the turn's first message is not part of the conversation: see Unsent
	Fork           int        // Seq of the message at which the user chose to continue in a copy, with TurnFromSummary; 0: none
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
	Default int           // index of the choice taken Wait after MarkShown, and if the user cannot be asked
	Wait    time.Duration // 0: no countdown
	reply   chan int
	shown   chan struct{}
	stopped chan struct{}
}

// A Choice is one answer to a Question.
type Choice struct {
	Action Action
	Model  string  // SwitchModel: the model that continues; LeaveOut: the model that is left out
	Amount float64 // RaiseLimit: the new limit, in its unit
}

// Action is the effect of a Choice.
type Action string

// The actions.
const (
	SwitchModel Action = "switch"    // another model continues
	WaitAndTry  Action = "wait"      // the same model is asked again after a wait
	TryAgain    Action = "again"     // the same model is asked again now
	Summarize   Action = "summarize" // a summary replaces the conversation in requests
	Fork        Action = "fork"      // the turn ends, to continue from a summary in a copy; see Done
	OmitOldest  Action = "omit"      // the oldest turns are left out of this turn's requests
	LeaveOut    Action = "leave"     // the model is left out of the comparison
	SendAnyway  Action = "send"      // the request is sent unchanged
	RaiseLimit  Action = "raise"     // the limit is raised
	StopTurn    Action = "stop"      // the turn ends
)

// Countdown reports that the countdown of a question has started: after Question.Wait the
// default is taken. A second Countdown reports that it was stopped.
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

// StopCountdown stops the countdown, because the user is answering the
// question.
func (q Question) StopCountdown() {
	select {
	case q.stopped <- struct{}{}:
	default:
	}
}

// ErrProgramEnded is the cancellation cause for a turn's context when the program ends rather than
// the user stopping the answer. It wraps context.Canceled.
var ErrProgramEnded = fmt.Errorf("the program ended: %w", context.Canceled)

// EndedText is the value of Node.InterruptedBy for an answer interrupted by the end of the program.
const EndedText = store.PartialAnswerText

// errStoppedAtQuestion ends a turn in which the user chose StopTurn.
var errStoppedAtQuestion = fmt.Errorf("stopped at a question: %w", context.Canceled)

// turnQuestions asks the user the questions of a turn.
type turnQuestions struct {
	turn   *turn
	asked  int  // number of questions asked
	unsent bool // the user stopped at a question about an unsent request
}

// ask asks the user a question and returns the choice. If the turn's context ends, it
// returns the last choice, which ends the turn.
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
		_, failed := q.About.(Failure) // the question is about a request that was sent
		a.unsent = !failed
	}
	return q.Choices[n]
}

// waitForAnswer returns the index of the choice, or the last index if the turn's context ends.
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

// cause returns why the turn's context ended; err if it has not.
func (t *turn) cause(err error) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return err
}

// A givenPrompt is a message as the user wrote it, with the notes sent to the model with it. Context
// that hooks add to each message is not included.
type givenPrompt struct {
	turn   *turn
	Unsent            // Seq is 0 if the message did not begin a turn
	starts []string   // context from SessionStart hooks
	notes  []llm.Part // see turn.prompt
}

// enter calls turn.prompt with the last message returned by submit.
func (g *givenPrompt) enter(m llm.Message) { g.Seq, g.notes = g.turn.prompt(m) }

// moved must be called when the Seq of the turn's first message changes.
func (g *givenPrompt) moved(from, to int) {
	t := g.turn
	set(&t.mu, &t.turnSeq, to)
	if g.Seq == from {
		g.Seq = to
	}
}
