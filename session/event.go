package session

import (
	"time"

	"parley/providers/llm"
	"parley/tools"
)

// An Event is one thing that happened in a turn: llm.Delta (each with its Kind),
// llm.Notice, llm.Retry and llm.Usage as the model sent them, and the types of
// this file.
// Both front ends consume the same sequence. A turn is
//
//	Prompt, then steps, then Done
//
// and a step is
//
//	Step, (Delta | Notice | Retry | Usage)*, Answer, then for each call
//	Call, (Ask, Decided)?, Progress*, Result
//
// In front of a step, and after one that failed, a Question may be asked, which Answered ends.
//
// If an answer has to fit a schema, one without calls is followed by Structured,
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

// Step reports that a request goes out.
type Step struct {
	Model   string          // provider/model
	N       int             // counts the requests of this turn from 1
	Seq     int             // that the answer will have in the conversation, if it is kept
	Partial PartialResponse // the answer, as far as it has arrived
	Draws   bool            // it is asked for an image
}

// Response reports that a response ended and entered the conversation. After an
// error or a cancel its message holds what had arrived and is marked Cut; it
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

// Call reports that parley deals with a call of the model's.
type Call struct{ Part llm.Part }

// ApprovalRequest wants a user's word on a call. The turn waits for Reply.
type ApprovalRequest struct {
	Call   llm.Part
	Action *tools.Action
	reply  chan tools.Approval
}

// Decision reports how a call that had to be decided came out.
type Decision struct {
	ID      string
	Verdict tools.Verdict // Allow or Deny
	By      string        // "person" or "policy"
}

// Progress holds live output of a running tool.
type Progress struct {
	ID   string
	Text string // to be appended
}

// Result holds a call's result, as the model will see it.
type Result struct {
	Part     llm.Part // Kind llm.Result
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
	Output   string        `json:"output,omitempty"`
	Failed   bool          `json:"failed,omitempty"`
	Ended    bool          `json:"ended,omitempty"` // otherwise it runs, or nobody knows what came of it
	Duration time.Duration `json:"took,omitempty"`  // in ns
}

// DroppedCall holds a call of a response that broke off: it never runs. It is not part of
// the sequence either: Annotations has it.
type DroppedCall struct {
	Name  string `json:"name"`
	Input string `json:"input"` // as far as it came
}

// Abandoned reports that the turn goes on from in front of an answer that broke off, which
// stays on a branch. Only Annotations has it.
type Abandoned struct {
	Seq int `json:"seq"` // of that answer
}

// Done ends a turn, always.
type Done struct {
	Reason   llm.Reason // of the last response; "" if Err is set
	Err      error      // why the turn stopped early; canceled turns carry the context's error
	Whole    bool       // with Err: the conversation ends in a whole answer all the same, so that nothing is there to retry
	Fork     int        // Seq of the message that a copy of the conversation is to go on from, with TurnFromSummary, for the user chose that; 0: none
	Usage    llm.Usage  // of the whole turn
	Steps    int
	Duration time.Duration
}

// Reply answers the question. Only the first reply counts.
func (a ApprovalRequest) Reply(answer tools.Approval) {
	select {
	case a.reply <- answer:
	default:
	}
}
