package app

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Change says what happens to one block. Its strings are shared with the events.
type Change struct {
	Op   Op
	ID   string // of the block; never used for another one
	Was  string // of Renamed: the id that the block had before
	Kind BlockKind
	Seq  int // of the message that the block belongs to; 0: none

	Text     string        // of Grown: the text to append; else the whole text
	Whole    string        // of TextBlock: the whole text so far, perhaps ahead of the changes; "" if it is in several parts
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
	SummaryBlock                      // replaces the messages before it
	RetryBlock                        // a request will be sent again, or to another model; dropped once an answer comes
	SilenceBlock                      // no content has come for long; dropped once some does
	FooterBlock                       // sums up the answers to a prompt
	InterruptedBlock                  // the answer above was interrupted, by the error Text; "": by the user
)

// A changeList gathers the changes that an event makes. The zero value is ready.
type changeList struct {
	newID   func() string // returns a new id of a block; nil: the list counts
	minted  int
	seq     int // of the message that the blocks belong to
	changes []Change
}

// reset begins the changes of another event, in the same memory, and returns l.
func (l *changeList) reset() *changeList {
	l.changes = l.changes[:0]
	return l
}

// id returns a new id of a block.
func (l *changeList) id() string {
	if l.newID != nil {
		return l.newID()
	}
	l.minted++
	return strconv.Itoa(l.minted)
}

// put adds a change. One without an id opens a block.
func (l *changeList) put(c Change) {
	if c.ID == "" {
		c.ID = l.id()
	}
	c.Seq = l.seq
	l.changes = append(l.changes, c)
}

// show opens the block id with c, or replaces what it shows; "" becomes its id.
func (l *changeList) show(id *string, c Change) {
	c.Op = Replaced
	if *id == "" {
		*id, c.Op = l.id(), Opened
	}
	c.ID = *id
	l.put(c)
}

// drop removes the block id, if it is shown, and sets id to "".
func (l *changeList) drop(id *string, kind BlockKind) {
	if *id != "" {
		l.put(Change{Op: Dropped, ID: *id, Kind: kind})
		*id = ""
	}
}

// SourceText returns a source as it stands under an answer: its number, what it is called, and
// where it is.
func SourceText(c Change) string {
	return strings.TrimSpace(fmt.Sprintf("[%d] %s %s", c.Count, sanitize.Line(c.Part.Title()), sanitize.Line(c.Part.URL)))
}

// A Tool is what is known of a call of a tool.
type Tool struct {
	Name     string
	Input    string // the arguments as far as they arrived: JSON, perhaps cut anywhere
	Status   CallStatus
	Output   string        // what it answered, whole
	Diff     string        // unified diff of what it changed
	Started  time.Time     // when it began to run; zero before, and of calls that are stored
	Duration time.Duration // how long it ran

	Remote   bool // the provider runs it
	Stops    bool // the user can stop it
	Asked    bool // the user was asked, and saw all of it
	Ran      bool // it was allowed to run
	Live     bool // it had output before it ended
	Parallel bool // others ran at the same time
}

// CallStatus is how far a call is.
type CallStatus int

// The statuses. A call from CallDone on goes no further.
const (
	CallArriving CallStatus = iota // its arguments do
	CallAsking                     // waits for the user's word
	CallRunning
	CallDone
	CallFailed
	CallDenied
	CallCanceled
	CallLost // parley ended while it ran: what it did is not known
)

// A TurnTotals is what the answers to one prompt sum up to.
type TurnTotals struct {
	Model       string // that wrote the last answer
	Incomplete  string // why the last answer is incomplete: see IncompleteText
	Answered    bool   // something came
	Empty       bool   // the last answer says nothing
	Interrupted bool   // the turn did not come to its end
	Usage       llm.Usage
	Estimated   bool          // some of the usage is
	TTFT        time.Duration // to the first token

	began, ended time.Time // from the first request to the end of the last answer, as the conversation stores it

	// Of the answers whose pace can be told.
	tokens int
	stream time.Duration
}

// add counts an answer.
func (t *TurnTotals) add(a session.Response) {
	if a.Seq > 0 && !a.At.IsZero() { // a conversation that was brought in may not say
		if t.began.IsZero() {
			t.began = a.At
		}
		t.ended = a.At.Add(a.Duration)
	}
	m, u := a.Message, a.Usage
	t.Incomplete = IncompleteText(a)
	t.Empty = t.Incomplete == EmptyAnswer
	if len(m.Parts) == 0 && u == (llm.Usage{}) {
		return // nothing came of the request
	}
	t.Model, t.Answered = m.Model, true
	t.Usage = t.Usage.Add(u)
	t.Estimated = t.Estimated || u.Estimated || m.Interrupted && u.Output > 0 && !u.Priced // as what was cut once was stored
	if t.TTFT == 0 {
		t.TTFT = a.TTFT
	}
	if tokens, stream := streamedTokens(m, u), a.Duration-a.TTFT; hasPace(tokens, a.TTFT, stream) {
		t.tokens += tokens
		t.stream += stream
	}
}

// Duration returns how long the answers took, with what the tools did in between.
func (t *TurnTotals) Duration() time.Duration { return max(t.ended.Sub(t.began), 0) }

// Pace returns tokens per second; 0 if it cannot be told.
func (t *TurnTotals) Pace() float64 {
	if t.stream == 0 {
		return 0
	}
	return float64(t.tokens) / t.stream.Seconds()
}

// A pace is how fast the running answer comes, by four bytes a token; the footer has the
// provider's numbers.
type pace struct {
	first time.Time // when its first delta came; zero: none has
	bytes int       // of it, but for its beginning
}

// burst is for how long what comes first is left out of the pace: it may have
// waited somewhere.
const burst = 100 * time.Millisecond

// add counts bytes that came now.
func (p *pace) add(bytes int, now time.Time) {
	if p.first.IsZero() {
		p.first = now
	}
	if now.Sub(p.first) >= burst {
		p.bytes += bytes
	}
}

// Rate returns tokens per second of the running answer; 0 if it cannot be told.
func (p *pace) Rate(now time.Time) float64 {
	took := now.Sub(p.first) - burst
	if p.first.IsZero() || took < time.Second || !hasPace(p.bytes/4, 0, took) {
		return 0
	}
	return float64(int(float64(p.bytes) / 4 / took.Seconds()))
}

// streamedTokens returns how many tokens came in the stream: as the provider counts, but for
// thinking that it kept to itself.
func streamedTokens(m llm.Message, u llm.Usage) int {
	size := 0
	for _, p := range m.Parts {
		switch p.Kind {
		case llm.Text, llm.Thinking, llm.Call:
			size += len(p.Text) + len(p.Input)
		}
	}
	const bytes = 4 // of a token, about
	if about := size / bytes; u.Output > 2*about {
		return about
	}
	return u.Output
}

// hasPace tells whether the pace of an answer can be told from its stream. What was
// held back somewhere and came in a burst says nothing about the model.
func hasPace(tokens int, first, stream time.Duration) bool {
	const (
		least   = 500 * time.Millisecond
		quick   = 1000 // tokens per second; more come from services that begin at once, too
		fastest = 5000
	)
	if tokens == 0 || stream < least {
		return false
	}
	rate := float64(tokens) / stream.Seconds()
	return rate <= quick || rate <= fastest && stream >= first
}

// CacheShare returns the share of a prompt that came from a provider's cache; "" if that
// is nothing.
func CacheShare(u llm.Usage) string {
	if u.Input == 0 || u.CacheRead == 0 {
		return ""
	}
	return format.Percent(float64(u.CacheRead)/float64(u.Input)) + " cached"
}
