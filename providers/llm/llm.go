// Package llm defines the types that the rest of parley uses for language models. It imports the
// standard library only.
//
//	Request ──► Model ──► Stream of Events ──► Draft ──► Message ──► Portable ──► Request
//
// One interface (Model), five events (Delta, Notice, Retry, Usage, Finish), one flat Part and one
// opaque field (Part.State) represent the answers of every provider without loss. Three rules keep
// conversations valid: only Draft folds deltas into parts, only Portable drops content from other
// models, and a Stream ends either with a Finish or with its first and only error.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
)

// A Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Stream sends req when it is ranged over, once. The sequence ends with a Finish, or with its
	// first and only error, which is an *Error unless ctx was canceled. Leaving the loop early
	// releases the connection.
	Stream(ctx context.Context, req Request) Stream
}

// A Stream is one answer as it arrives.
type Stream = iter.Seq2[Event, error]

// A Request is the complete input of a model. The zero value of each setting leaves the choice to
// the provider.
type Request struct {
	System       string
	Messages     []Message
	Tools        []Tool
	Effort       Effort
	Session      string  // stable for a conversation; helps a provider's prompt cache
	AnswerSchema *Schema // required form of the answer; nil for free text
	AfterMistake bool    // it is a retry after a mistake of the model; see Error.Mistake
	Aside        bool    // it does not continue the conversation, so a program must not add it to its own session
	Settings
}

// A Schema describes an answer that is JSON.
type Schema struct {
	Name   string          // ^[a-zA-Z0-9_-]{1,64}$
	JSON   json.RawMessage // JSON Schema, as written by the user
	Guided bool            // it constrains every reply, including tool calls; the user did not ask for it
}

// verbosityPrompts replaces the verbosity field of some wire formats in the system prompt.
var verbosityPrompts = map[string]string{
	"low":    "Keep your answers short.",
	"medium": "Answer at medium length, neither tersely nor exhaustively.",
	"high":   "Answer at length and in detail.",
}

// VerbosityInPrompt returns r with its verbosity as the last line of the system prompt, for a wire
// format or model without a field for it.
func (r Request) VerbosityInPrompt() Request {
	line := verbosityPrompts[r.Verbosity]
	if line != "" && r.System != "" {
		line = "\n\n" + line
	}
	r.System, r.Verbosity = r.System+line, ""
	return r
}

// HasImages reports whether r contains an image.
func (r Request) HasImages() bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return slices.ContainsFunc(m.Parts, isImage) })
}

// A Tool describes a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object

	NotFor     string // model that is not offered it, as provider/model; "" for none
	MinContext int    // the smallest context window, in tokens, of models that are offered it; 0 for any
}

// Suits reports whether the tool may be offered to m.
func (t Tool) Suits(m Endpoint) bool {
	return (t.NotFor == "" || t.NotFor != m.Name) && (m.Context == 0 || m.Context >= t.MinContext)
}

// Role is the author of a Message.
type Role string

// Values of Role. Tool results are separate messages, directly after the assistant message with the
// calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Message is one entry of a conversation.
type Message struct {
	Role        Role   `json:"role"`
	Origin      string `json:"origin,omitempty"` // wire format that created the State of its parts; only it may get that State back
	Model       string `json:"model,omitempty"`  // author, as provider/model
	Interrupted bool   `json:"cut,omitempty"`    // the answer was interrupted: canceled, or its stream failed
	Parts       []Part `json:"parts"`
}

// UserText returns a user message with one text part.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Kind: Text, Text: text}}}
}

// Text joins the text parts of m, without thinking.
func (m Message) Text() string {
	first := ""
	var all strings.Builder // for more than one part: a hostile file has a hundred thousand
	var breaks Breaks
	for i := range m.Parts {
		p := &m.Parts[i]
		between := breaks.Next(p) || m.Role != RoleAssistant
		switch {
		case p.Kind != Text || p.Text == "":
		case first == "":
			first = p.Text
		default:
			if all.Len() == 0 {
				all.WriteString(first)
			}
			if between {
				all.WriteString("\n\n")
			}
			all.WriteString(p.Text)
		}
	}
	if all.Len() == 0 {
		return first
	}
	return all.String()
}

// Calls returns the tool calls in m that parley has to answer, in order. It omits tools that the
// provider ran. The result may share memory with m.Parts and must not be changed.
func (m Message) Calls() []Part {
	var calls []Part
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind != Call || p.Remote:
		case calls == nil:
			calls = m.Parts[i : i+1 : i+1]
		case &m.Parts[i-1] == &calls[len(calls)-1]: // directly follows the previous call, and calls is still part of m.Parts
			calls = m.Parts[i-len(calls) : i+1 : i+1]
		default:
			calls = append(calls, *p)
		}
	}
	return calls
}

// Empty reports whether m contains no more than thinking, state and blank text.
func (m Message) Empty() bool {
	for _, p := range m.Parts {
		if p.Kind != Thinking && p.Kind != Opaque && (p.Kind != Text || strings.TrimSpace(p.Text) != "") {
			return false
		}
	}
	return true
}

// Kind is the kind of a Part.
type Kind string

// The kinds of parts.
const (
	Text     Kind = "text"
	Thinking Kind = "thinking"
	Call     Kind = "call"   // the model calls a tool
	Result   Kind = "result" // a tool's result
	Media    Kind = "media"  // an image or a file, in Data or at URL
	Source   Kind = "source" // a source cited by the provider
	Opaque   Kind = "opaque" // only State, with nothing to show
)

// A Part is one piece of a message. It is flat, so that it needs no custom JSON code and parts can
// be streamed by appending.
type Part struct {
	Kind   Kind   `json:"kind"`
	Text   string `json:"text,omitempty"`   // also a result's output
	ID     string `json:"id,omitempty"`     // links a call to its result; assigned by parley, converted by adapters for the provider
	Name   string `json:"name,omitempty"`   // name of the tool or file
	Input  string `json:"input,omitempty"`  // a call's arguments, as JSON text
	Failed bool   `json:"failed,omitempty"` // a result that reports an error, or a call that cannot be parsed: Input has its whole text
	Remote bool   `json:"remote,omitempty"` // the provider ran this tool
	// Repeated means that the provider gave the call the id of an earlier call of the same answer.
	// ID is then generated, and the call must not run.
	Repeated bool            `json:"repeated,omitempty"`
	Begins   bool            `json:"begins,omitempty"` // a text that starts another message of the same answer; see Breaks
	MIME     string          `json:"mime,omitempty"`
	Data     []byte          `json:"data,omitempty"`
	URL      string          `json:"url,omitempty"`
	Width    int             `json:"width,omitempty"` // of an image, in pixels; 0 if unknown
	Height   int             `json:"height,omitempty"`
	Made     string          `json:"made,omitempty"`  // origin of a generated image: "generated" or "edited"; "" for other images
	State    json.RawMessage `json:"state,omitempty"` // opaque: signature, encrypted item, raw block; stored and sent back, read only by its origin
}

// Title returns the title of a source's page, or else the cited text.
func (p Part) Title() string { return cmp.Or(p.Name, p.Text) }

// OnlyText reports whether p has no fields but Kind and Text.
func (p Part) OnlyText() bool {
	return p.ID == "" && p.Name == "" && p.Input == "" && !p.Failed && !p.Remote && !p.Repeated && !p.Begins && p.MIME == "" &&
		p.Data == nil && p.URL == "" && p.State == nil && p.Width == 0 && p.Height == 0 && p.Made == ""
}

// An Event is one of Delta, Notice, Retry, Usage and Finish, or a Preview.
type Event interface{ event() }

// A Delta adds to a block of an answer. The first delta with a new Block opens the block. Text,
// Input and Data are appended; any other set field replaces the old value. The message has its
// blocks in the order in which they were opened.
type Delta struct {
	Block string
	Part
}

// A Notice informs the user of an adaptation, such as a dropped setting or a repaired call.
type Notice struct {
	Text   string `json:"text"`
	Urgent bool   `json:"urgent,omitempty"` // it affects which model answers and is paid: shown even if other notices are not
}

// A Retry announces another attempt after a failed one, after Wait.
type Retry struct {
	Attempt int           `json:"attempt"`        // number of the coming attempt; 1 for the first retry
	Max     int           `json:"max,omitempty"`  // maximum number of retries; 0 if unknown
	Wait    time.Duration `json:"wait"`           // in ns
	Until   time.Time     `json:"until,omitzero"` // when the limit resets that Wait is for; zero for other waits
	Fault   Fault         `json:"fault"`

	Remote bool `json:"-"` // the answering server or program retries on its own, and cannot be made to do so now

	// Discards lists the blocks that the failed attempt had sent, by Delta.Block. They are no
	// longer part of the answer, and their names may be used again. nil if it had sent none.
	Discards []string `json:"-"`
}

// Usage counts the tokens of one answer. Reports are cumulative: the last one counts.
type Usage struct {
	Input      int     `json:"input"`               // all prompt tokens, including cached ones
	CacheRead  int     `json:"cache_read"`          // part of Input read from the provider's cache
	CacheWrite int     `json:"cache_write"`         // part of Input written to the cache
	HourWrite  int     `json:"-"`                   // part of CacheWrite cached for an hour; affects the price, not stored
	Output     int     `json:"output"`              // all generated tokens, including thinking
	Thinking   int     `json:"thinking"`            // part of Output
	Cost       float64 `json:"cost"`                // US dollars; see Priced
	Priced     bool    `json:"priced"`              // Cost is known; a local model's is known to be 0
	Shared     bool    `json:"shared,omitempty"`    // it includes the other answers to the same request, which have no usage
	Discarded  int     `json:"discarded,omitempty"` // part of Input and Output not in the next prompt: of discarded attempts, and of all but the last request of an answer
	Last       int     `json:"-"`                   // prompt of the last of several requests; 0 if Input is of one; affects the price, not stored
	Searches   int     `json:"searches,omitempty"`  // web searches that the provider made and charges for
	Estimated  bool    `json:"estimated,omitempty"` // some tokens are estimates, since the provider did not count them
}

// Bounds of plausible values for one request: sums of such values do not overflow.
const (
	maxTokenCount = 1 << 40
	maxCost       = 1e6 // US dollars
)

// Clamped returns u with implausible values corrected. Counts become at least 0; an impossible cost
// becomes unknown.
func (u Usage) Clamped() Usage {
	for _, n := range []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.HourWrite, &u.Output, &u.Thinking, &u.Discarded, &u.Last, &u.Searches} {
		*n = min(max(*n, 0), maxTokenCount)
	}
	if !(u.Cost >= 0 && u.Cost <= maxCost) {
		u.Cost, u.Priced = 0, false
	}
	return u
}

// Then returns the sum of u and v, where v is the usage of the next request of the same answer, whose prompt
// contains the tokens of u.
func (u Usage) Then(v Usage) Usage {
	sum := u.Add(v)
	if u.Input > 0 && v.Input > 0 {
		sum.Discarded, sum.Last = u.Input+u.Output+v.Discarded, v.Prompt()
	}
	return sum
}

// Prompt returns the number of tokens of the last prompt.
func (u Usage) Prompt() int { return cmp.Or(u.Last, u.Input) }

// Add returns the sum of u and v, for totals over several answers. The sum is priced only if both
// are, and estimated if either is.
func (u Usage) Add(v Usage) Usage {
	if u == (Usage{}) {
		v.Shared = false
		return v
	}
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite, HourWrite: u.HourWrite + v.HourWrite,
		Output: u.Output + v.Output, Thinking: u.Thinking + v.Thinking, Discarded: u.Discarded + v.Discarded,
		Searches: u.Searches + v.Searches,
		Cost:     u.Cost + v.Cost, Priced: u.Priced && v.Priced, Estimated: u.Estimated || v.Estimated,
	}
}

// Finish ends a complete answer.
type Finish struct {
	Reason Reason
	Raw    string // the provider's finish reason
	Limit  string // limit of parley's that ended the answer, such as "128 tool calls"; "" for none
	ID     string // the provider's id of the answer, for its support
	Model  string // the model that answered; "" if unknown

	Unused int // number of earlier thinking parts in the request that the provider ignored; 0 if unknown
}

// Reason is why an answer ended.
type Reason string

// The reasons.
const (
	Stop    Reason = "stop"
	Length  Reason = "length"
	Calls   Reason = "calls"
	Refused Reason = "refused"
	Other   Reason = "other"
)

func (Delta) event()  {}
func (Notice) event() {}
func (Retry) event()  {}
func (Usage) event()  {}
func (Finish) event() {}

// Effort is how much a model should think, in words that can be mapped to every family. The empty
// Effort leaves it to the provider.
type Effort string

// Values of Effort, in ascending order.
const (
	EffortOff     Effort = "off"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortMax     Effort = "max"
)

// Efforts lists every effort in ascending order.
var Efforts = []Effort{EffortOff, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortMax}

// An Endpoint is a model ready for requests, with the known facts about it.
type Endpoint struct {
	Model
	Name       string                                // "provider/model", as users write it
	Origin     string                                // origin of the messages it writes; see Message.Origin
	Strategy   string                                // how it gets tools: "native", "prompt", "guided" or "none"
	Known      bool                                  // the catalog has facts about it; otherwise the fields below are guesses
	Context    int                                   // window in tokens; 0 if unknown
	Widen      string                                // how its owner makes the window larger: "start llama-server with a larger -c"; "" if nobody can
	Vision     bool                                  // accepts images
	Blind      bool                                  // its server says that it takes no images; not a guess
	Efforts    []Effort                              // supported efforts; empty if it has no effort setting
	Candidates bool                                  // one request can ask for several answers; see Candidate
	Files      []string                              // accepted MIME types besides text and images, or prefixes such as "audio/"
	Cost       func(Usage) (usd float64, known bool) // cost of one request; nil if unknown
	Web        bool                                  // its provider can search the web; see Settings.Web
	Cache      Cache                                 // how its provider caches prompts
}

// A Cache describes how a provider caches prompts. Zero values are unknown.
type Cache struct {
	Lifetime  time.Duration // how long a prompt stays cached after it was last sent
	MinTokens int           // length of the shortest prompt that is cached

	KeepsToolChoice bool // a request with another tool_choice finds the same prompt
}
