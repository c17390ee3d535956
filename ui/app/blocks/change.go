package blocks

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Change describes one change of one block. Its strings are shared with the events.
type Change struct {
	Op   Op
	ID   string // id of the block; never reused
	Was  string // of Renamed: the previous id of the block
	Kind Kind
	Seq  int // message of the block; 0 for none

	Text     string        // of Grown: the text to append; otherwise the whole text
	Whole    string        // of TextBlock: all text so far, perhaps ahead of the changes; "" if it is in several parts
	Duration time.Duration // of ThinkingBlock, when Closed: how long it took; of RetryBlock: time until the request is sent; of SilenceBlock: time since the last content
	Part     *llm.Part     // of SourceBlock and MediaBlock
	Tool     *Tool         // of ToolBlock: the call as known so far
	Totals   *Totals       // of FooterBlock
	Event    session.Event // event that the block shows or that changed it; nil for none
	Note     int           // number of the stored annotation that holds Event; 0 if Event is live
	Count    int           // of SummaryBlock: messages that it replaces in requests; of SourceBlock: its number under the answer

	Repeats bool // Event is a session.Sandbox that needs no action, and the output of a call says the same
	Implied bool // Event was not recorded but derived from stored messages
}

// Op is the kind of a change.
type Op int

// The operations.
const (
	Opened   Op = iota // the block is new
	Grown              // Text is appended; a closed block opens again
	Closed             // the block is complete
	Replaced           // the block has new content
	Renamed            // the block has a new kind and id
	Dropped            // the block is removed
)

// Kind is the kind of content of a block.
type Kind int

// The kinds of blocks.
const (
	EventBlock       Kind = iota // an event between messages: a notice, fallback, model switch, error or user's command
	UserBlock                    // a prompt; Event is the session.Prompt
	ThinkingBlock                // thinking of the model
	TextBlock                    // text of an answer
	ToolBlock                    // a tool call
	SourceBlock                  // a source cited by an answer
	MediaBlock                   // media in an answer
	SummaryBlock                 // a summary that replaces the messages before it
	RetryBlock                   // a countdown to a retry or a fallback; dropped when an answer arrives
	SilenceBlock                 // no content for a long time; dropped when some arrives
	FooterBlock                  // totals of the answers to a prompt
	InterruptedBlock             // the answer above was interrupted, by the error Text or, if "", by the user
)

// A changeList collects the changes of one event. The zero value is ready.
type changeList struct {
	newID   func() string // returns a new block id; nil: the list numbers blocks itself
	minted  int
	seq     int // message that the blocks belong to
	changes []Change
}

// reset empties the list for the next event, reuses its memory and returns l.
func (l *changeList) reset() *changeList {
	l.changes = l.changes[:0]
	return l
}

// id returns a new block id.
func (l *changeList) id() string {
	if l.newID != nil {
		return l.newID()
	}
	l.minted++
	return strconv.Itoa(l.minted)
}

// put adds a change. A change without an ID opens a new block.
func (l *changeList) put(c Change) {
	if c.ID == "" {
		c.ID = l.id()
	}
	c.Seq = l.seq
	l.changes = append(l.changes, c)
}

// show opens the block id, or replaces its content. It sets an empty id.
func (l *changeList) show(id *string, c Change) {
	c.Op = Replaced
	if *id == "" {
		*id, c.Op = l.id(), Opened
	}
	c.ID = *id
	l.put(c)
}

// drop removes the block id if it is shown, and sets id to "".
func (l *changeList) drop(id *string, kind Kind) {
	if *id != "" {
		l.put(Change{Op: Dropped, ID: *id, Kind: kind})
		*id = ""
	}
}

// Sources returns the sources of an answer in the order of their numbers.
func Sources(m llm.Message) (list []llm.Part) {
	for _, p := range m.Parts {
		if p.Kind == llm.Source {
			list = append(list, p)
		}
	}
	return list
}

// SourceText returns a source for the list under an answer: number, title and address.
func SourceText(c Change) string {
	return format.Join(" ", fmt.Sprintf("[%d]", c.Count), sanitize.Line(c.Part.Title()), sanitize.Line(c.Part.URL))
}

// A Tool describes a tool call as known so far.
type Tool struct {
	Name     string
	Input    string // arguments received so far: JSON, perhaps incomplete
	Status   CallStatus
	Output   string        // complete output
	Diff     string        // unified diff of the changed files
	Media    []llm.Part    // images and other media in the output
	Started  time.Time     // start of the run; zero before it, and for stored calls
	Duration time.Duration // duration of the run
	By       string        // see act.Outcome
	Call     string        // its id, for Stop of session.Session.Calls; "" until it is about to run

	Remote   bool // the provider runs it
	Stops    bool // the stop key ends it next; a question of the model has keys of its own
	Asked    bool // the user was asked for approval and saw the whole call
	Ran      bool // it was allowed to run
	Live     bool // it sent output before it ended
	Parallel bool // other calls ran at the same time
}

// CallStatus is the progress of a call.
type CallStatus int

// The statuses, in order. From CallDone on, they are final.
const (
	CallArriving CallStatus = iota // the arguments are arriving
	CallAsking                     // waits for approval
	CallRunning
	CallDone
	CallFailed
	CallDenied
	CallCanceled
	CallLost // parley ended while the call ran; its effects are unknown
)

// Totals sums up the answers to one prompt.
type Totals struct {
	Sent        time.Time // when the prompt was sent; zero if unknown
	Before      time.Time // when the prompt before it was sent; zero if there is none
	Model       string    // model of the last answer
	Incomplete  string    // why the last answer is incomplete; see IncompleteText
	Answered    bool      // an answer arrived
	Empty       bool      // the last answer is empty
	Interrupted bool      // the turn ended early
	Usage       llm.Usage
	Estimated   bool          // some of Usage is estimated
	CacheMissed bool          // a request did not read much of what its provider had cached
	TTFT        time.Duration // time to the first token

	began, ended time.Time // from the first request to the end of the last answer, as stored

	// Sums over the answers that hasPace accepts: output tokens and streaming time.
	tokens int
	stream time.Duration
}

// add adds an answer to the totals.
func (t *Totals) add(a session.Response) {
	if a.Seq > 0 && !a.At.IsZero() { // imported conversations may have no times
		if t.began.IsZero() {
			t.began = a.At
		}
		t.ended = a.At.Add(a.Duration)
	}
	m, u := a.Message, a.Usage
	t.Incomplete = IncompleteText(a)
	t.Empty = t.Incomplete == EmptyAnswer
	if len(m.Parts) == 0 && u == (llm.Usage{}) {
		return // the request had no answer
	}
	t.Model, t.Answered = m.Model, true
	t.Usage = t.Usage.Add(u)
	t.Estimated = t.Estimated || u.Estimated || m.Interrupted && u.Output > 0 && !u.Priced // also for interrupted answers stored by earlier versions
	t.CacheMissed = t.CacheMissed || a.Missed.Tokens*5 > u.Input
	if t.TTFT == 0 {
		t.TTFT = a.TTFT
	}
	if tokens, stream := streamedTokens(m, u), a.Duration-a.TTFT; hasPace(tokens, a.TTFT, stream) {
		t.tokens += tokens
		t.stream += stream
	}
}

// Duration returns how long the answers took, including tool calls.
func (t *Totals) Duration() time.Duration { return max(t.ended.Sub(t.began), 0) }

// CacheMissed is shown in the totals of a turn if CacheMissed is set.
const CacheMissed = "cache missed"

// Clock returns when the prompt was sent, in the zone of now, with the date if it differs from that of the prompt
// before it, or from that of now; "" if unknown.
func (t *Totals) Clock(now time.Time) string {
	if t.Sent.IsZero() {
		return ""
	}
	if !t.Before.IsZero() {
		now = t.Before.In(now.Location())
	}
	return format.Clock(t.Sent, now)
}

// Pace returns tokens per second; 0 if unknown.
func (t *Totals) Pace() float64 {
	if t.stream == 0 {
		return 0
	}
	return float64(t.tokens) / t.stream.Seconds()
}

// A pace measures the running answer at four bytes per token; the footer uses the provider's counts.
type pace struct {
	first time.Time // time of the first delta; zero if none has arrived
	bytes int       // bytes received after the first burst
}

// burst is the time after the first delta that does not count: text may have been buffered on the way.
const burst = 100 * time.Millisecond

// add counts bytes that arrived at now.
func (p *pace) add(bytes int, now time.Time) {
	if p.first.IsZero() {
		p.first = now
	}
	if now.Sub(p.first) >= burst {
		p.bytes += bytes
	}
}

// Rate returns tokens per second of the running answer; 0 if unknown.
func (p *pace) Rate(now time.Time) float64 {
	took := now.Sub(p.first) - burst
	if p.first.IsZero() || took < time.Second || !hasPace(p.bytes/4, 0, took) {
		return 0
	}
	return float64(int(float64(p.bytes) / 4 / took.Seconds()))
}

// streamedTokens returns the number of streamed tokens: the provider's output count, or an estimate from the text if
// that count must include hidden thinking.
func streamedTokens(m llm.Message, u llm.Usage) int {
	size := 0
	for _, p := range m.Parts {
		switch p.Kind {
		case llm.Text, llm.Thinking, llm.Call:
			size += len(p.Text) + len(p.Input)
		}
	}
	const bytes = 4 // per token, about
	if about := size / bytes; u.Output > 2*about {
		return about
	}
	return u.Output
}

// hasPace reports whether a stream's speed is meaningful. Buffered text that arrives in one burst says nothing about
// the model.
func hasPace(tokens int, first, stream time.Duration) bool {
	const (
		least   = 500 * time.Millisecond
		quick   = 1000 // tokens per second; faster streams count if they last as long as the wait for the first token
		fastest = 5000
	)
	if tokens == 0 || stream < least {
		return false
	}
	rate := float64(tokens) / stream.Seconds()
	return rate <= quick || rate <= fastest && stream >= first
}

// CacheShare returns the share of a prompt that came from a provider's cache; "" if none did.
func CacheShare(u llm.Usage) string {
	if u.Input == 0 || u.CacheRead == 0 {
		return ""
	}
	return format.Percent(float64(u.CacheRead)/float64(u.Input)) + " cached"
}

// TypeContinue is what IncompleteText advises in a chat after an answer that was cut off.
const TypeContinue = ` · type "continue"`

// IncompleteText says why an answer is empty or incomplete; "" if it is complete, or was
// interrupted.
func IncompleteText(a session.Response) string {
	switch {
	case a.Message.Interrupted:
	case a.Finish.Reason == llm.Refused && !slices.Contains([]string{"", "stop", "completed", "end_turn"}, a.Finish.Raw):
		return answerFiltered + ": " + sanitize.Line(a.Finish.Raw)
	case a.Finish.Reason == llm.Refused:
		return answerFiltered
	case a.Finish.Raw == "model_context_window_exceeded":
		return windowFull
	case a.Message.Empty():
		return EmptyAnswer
	case a.Finish.Reason == llm.Length:
		return answerCutOff
	}
	return ""
}

// Reasons why an answer is empty or incomplete.
const (
	EmptyAnswer    = "Empty answer from the model"
	answerCutOff   = "Answer cut off at the output limit" + TypeContinue
	windowFull     = "Answer cut off: the context window is full · start a new conversation, or choose a model with a larger window"
	answerFiltered = "Answer blocked by the provider"
)
