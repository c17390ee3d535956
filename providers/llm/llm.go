// Package llm is the vocabulary in which the rest of parley speaks with
// language models. It imports the standard library only.
//
//	Request ──► Model ──► Stream of Events ──► Draft ──► Message ──► Portable ──► Request
//
// One interface (Model), five events (Delta, Notice, Retry, Usage, Finish), one
// flat Part and one opaque field (Part.State) are enough to carry every
// provider without loss. Three rules keep conversations valid: only Draft folds
// deltas into parts, only Portable drops what a model did not write itself, and
// a Stream ends either with a Finish or with its first and only error.
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
	// Stream sends req when it is ranged over, once. The sequence ends with a
	// Finish, or with its first and only error, which is an *Error unless ctx
	// was canceled. Leaving the loop early releases the connection.
	Stream(ctx context.Context, req Request) Stream
}

// A Stream is one answer as it arrives.
type Stream = iter.Seq2[Event, error]

// A Request is everything a model is told at once. The zero value of each
// setting leaves the choice to the provider.
type Request struct {
	System       string
	Messages     []Message
	Tools        []Tool
	Effort       Effort
	Session      string  // stable for a conversation; helps a provider's prompt cache
	AnswerSchema *Schema // what the answer must look like; nil: free text
	AfterMistake bool    // it is asked again, for the answer before was a mistake of the model; see Error.Mistake
	Settings
}

// A Schema describes an answer that is JSON.
type Schema struct {
	Name   string          // ^[a-zA-Z0-9_-]{1,64}$
	JSON   json.RawMessage // JSON Schema, as the user wrote it
	Guided bool            // it is the form of each reply, tool calls included, not what the user asked for
}

// verbosityPrompts say in the system prompt what some wires have a field for.
var verbosityPrompts = map[string]string{
	"low":    "Keep your answers short.",
	"medium": "Answer at medium length, neither tersely nor exhaustively.",
	"high":   "Answer at length and in detail.",
}

// VerbosityInPrompt returns r with its verbosity as the last line of the system
// prompt, for a wire or a model that has no field for it.
func (r Request) VerbosityInPrompt() Request {
	line := verbosityPrompts[r.Verbosity]
	if line != "" && r.System != "" {
		line = "\n\n" + line
	}
	r.System, r.Verbosity = r.System+line, ""
	return r
}

// HasImages reports whether r shows the model an image.
func (r Request) HasImages() bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return slices.ContainsFunc(m.Parts, isImage) })
}

// A Tool is what the model is told about a function it may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// Role says who speaks in a Message.
type Role string

// The roles. Results of tools travel in messages of their own, directly after
// the assistant message that holds the calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Message is one entry of a conversation.
type Message struct {
	Role        Role   `json:"role"`
	Origin      string `json:"origin,omitempty"` // wire format that minted the State in its parts; only the same origin may send that State back
	Model       string `json:"model,omitempty"`  // provider/model that wrote it
	Interrupted bool   `json:"cut,omitempty"`    // the answer broke off: canceled, or a stream that failed
	Parts       []Part `json:"parts"`
}

// UserText returns a message of the user's that holds one piece of text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Kind: Text, Text: text}}}
}

// Text joins the text parts of m, without thinking.
func (m Message) Text() string {
	first := ""
	var all strings.Builder // of more than one: a hostile file has a hundred thousand
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

// Calls returns the tool calls in m that parley has to answer, in order. Tools
// that the provider ran itself are not among them. The calls may be those in m.Parts
// and must not be changed.
func (m Message) Calls() []Part {
	var calls []Part
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind != Call || p.Remote:
		case calls == nil:
			calls = m.Parts[i : i+1 : i+1]
		case &m.Parts[i-1] == &calls[len(calls)-1]: // the one before it, and none was copied
			calls = m.Parts[i-len(calls) : i+1 : i+1]
		default:
			calls = append(calls, *p)
		}
	}
	return calls
}

// Empty reports whether m says nothing and asks for nothing: it holds thinking at
// most, state, and blank text.
func (m Message) Empty() bool {
	for _, p := range m.Parts {
		if p.Kind != Thinking && p.Kind != Opaque && (p.Kind != Text || strings.TrimSpace(p.Text) != "") {
			return false
		}
	}
	return true
}

// Kind says what a Part is.
type Kind string

// The kinds of parts.
const (
	Text     Kind = "text"
	Thinking Kind = "thinking"
	Call     Kind = "call"   // the model asks for a tool
	Result   Kind = "result" // a tool's answer
	Media    Kind = "media"  // an image or a file, in Data or at URL
	Source   Kind = "source" // something the provider cites
	Opaque   Kind = "opaque" // nothing to show; only State
)

// A Part is one piece of a message. It is flat, so that it needs no JSON code
// of its own and streaming is nothing but adding parts to parts.
type Part struct {
	Kind   Kind   `json:"kind"`
	Text   string `json:"text,omitempty"`   // also a result's output
	ID     string `json:"id,omitempty"`     // joins a call to its result; ours, adapters map it to what the provider accepts
	Name   string `json:"name,omitempty"`   // of the tool or file
	Input  string `json:"input,omitempty"`  // a call's arguments, as JSON text
	Failed bool   `json:"failed,omitempty"` // a result that reports an error; a call that cannot be read, with all of what was written for Input
	Remote bool   `json:"remote,omitempty"` // the provider ran this tool, not we
	// Repeated says that the provider gave a call an id that an earlier call of the
	// same answer has. ID is then made up, and the call must not run.
	Repeated bool            `json:"repeated,omitempty"`
	Begins   bool            `json:"begins,omitempty"` // a text that begins another message of the same answer; see Breaks
	MIME     string          `json:"mime,omitempty"`
	Data     []byte          `json:"data,omitempty"`
	URL      string          `json:"url,omitempty"`
	Width    int             `json:"width,omitempty"` // of an image, in pixels; 0 if unknown
	Height   int             `json:"height,omitempty"`
	Made     string          `json:"made,omitempty"`  // how an image came to be: "generated" or "edited"; "" if it was not drawn here
	State    json.RawMessage `json:"state,omitempty"` // opaque: signature, encrypted item, raw block; stored, replayed, read by nobody but its origin
}

// Title returns what a source is called: a page's title, or else what is cited of it.
func (p Part) Title() string { return cmp.Or(p.Name, p.Text) }

// OnlyText reports whether p says nothing besides its Kind and Text.
func (p Part) OnlyText() bool {
	return p.ID == "" && p.Name == "" && p.Input == "" && !p.Failed && !p.Remote && !p.Repeated && !p.Begins && p.MIME == "" &&
		p.Data == nil && p.URL == "" && p.State == nil && p.Width == 0 && p.Height == 0 && p.Made == ""
}

// An Event is one of Delta, Notice, Retry, Usage and Finish, or a Preview.
type Event interface{ event() }

// A Delta adds to the block of an answer that Block names; the first sight of a
// name opens the block. Text, Input and Data append, any other set field
// replaces. Blocks stand in the message in the order in which they were opened.
type Delta struct {
	Block string
	Part
}

// A Notice tells the user of something that was adapted: a dropped setting, a
// repaired call.
type Notice struct {
	Text   string `json:"text"`
	Urgent bool   `json:"urgent,omitempty"` // it is about which model is asked and paid: shown even where notices are not
}

// A Retry says that an attempt failed, and that another follows after Wait.
type Retry struct {
	Attempt int           `json:"attempt"`       // of the attempt to come, counted from 1 for the first retry
	Max     int           `json:"max,omitempty"` // how many retries there can be; 0 if that is not known
	Wait    time.Duration `json:"wait"`          // in ns
	Fault   Fault         `json:"fault"`

	Remote bool `json:"-"` // the server or program that answers tries again, and cannot be told to do so now

	// Discards lists blocks of the answer so far, by Delta.Block, that the attempt had sent: they
	// are no part of the answer, and their names may come again. nil: it had sent nothing.
	Discards []string `json:"-"`
}

// Usage counts tokens of one answer. Reports are cumulative: the last one holds.
type Usage struct {
	Input      int     `json:"input"`               // every prompt token, cached ones included
	CacheRead  int     `json:"cache_read"`          // part of Input that came from the provider's cache
	CacheWrite int     `json:"cache_write"`         // part of Input that was written to it
	HourWrite  int     `json:"-"`                   // part of CacheWrite that is cached for an hour. It decides the price, and is not kept
	Output     int     `json:"output"`              // every generated token, thinking included
	Thinking   int     `json:"thinking"`            // part of Output
	Cost       float64 `json:"cost"`                // US dollars; see Priced
	Priced     bool    `json:"priced"`              // Cost is known; a local model's is known to be 0
	Shared     bool    `json:"shared,omitempty"`    // it counts the other answers to the same request as well, which have none of their own
	Discarded  int     `json:"discarded,omitempty"` // part of Input and Output that the next prompt does not hold: of attempts whose answer was thrown away, and of requests before the last of an answer
	Last       int     `json:"-"`                   // prompt of the last of several requests; 0: Input is of one. It decides the price, and is not kept
	Searches   int     `json:"searches,omitempty"`  // of the web, that the provider made and charges for
	Estimated  bool    `json:"estimated,omitempty"` // the provider counted nothing, or not all of it; of a sum, of some of it
}

// Bounds of what is believed of one request: sums of such figures do not overflow.
const (
	maxTokenCount = 1 << 40
	maxCost       = 1e6 // US dollars
)

// Clamped returns u with figures that can be. Counts are at least 0; a cost that is none is
// not known.
func (u Usage) Clamped() Usage {
	for _, n := range []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.HourWrite, &u.Output, &u.Thinking, &u.Discarded, &u.Last, &u.Searches} {
		*n = min(max(*n, 0), maxTokenCount)
	}
	if !(u.Cost >= 0 && u.Cost <= maxCost) {
		u.Cost, u.Priced = 0, false
	}
	return u
}

// Then returns the sum of u and v, where v is of the request in which an answer went on: its prompt holds what u
// counts.
func (u Usage) Then(v Usage) Usage {
	sum := u.Add(v)
	if u.Input > 0 && v.Input > 0 {
		sum.Discarded, sum.Last = u.Input+u.Output+v.Discarded, v.Prompt()
	}
	return sum
}

// Prompt returns how many tokens the last prompt had.
func (u Usage) Prompt() int { return cmp.Or(u.Last, u.Input) }

// Add returns the sum of u and v, for totals over several answers. The sum is
// priced only if both are, and estimated if one is.
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

// Finish ends an answer that is complete.
type Finish struct {
	Reason Reason
	Raw    string // the provider's own word for Reason
	Limit  string // the limit of parley's that ended the answer, such as "128 tool calls"; "" if none did
	ID     string // the provider's id of the answer, for its support
	Model  string // the model that answered, where the provider says so

	Unused int // parts of earlier thinking in the request that the provider did not use, where it says so
}

// Reason says why an answer ended.
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

// Effort is how much a model should think, in words every family can be mapped
// to. The empty Effort leaves it to the provider.
type Effort string

// The efforts, in rising order.
const (
	EffortOff     Effort = "off"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortMax     Effort = "max"
)

// Efforts lists every effort in rising order.
var Efforts = []Effort{EffortOff, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortMax}

// An Endpoint is a model ready to be asked, with what is known about it.
type Endpoint struct {
	Model
	Name       string                                // "provider/model", as the user writes it
	Origin     string                                // stamped on the messages it writes; see Message.Origin
	Strategy   string                                // how it gets tools: "native", "prompt", "guided" or "none"
	Known      bool                                  // the catalog has facts about it; the fields below are guesses otherwise
	Context    int                                   // window in tokens; 0 if unknown
	Vision     bool                                  // takes images
	Blind      bool                                  // its server says that it takes none; no guess
	Efforts    []Effort                              // what it can be set to; empty if effort means nothing to it
	Candidates bool                                  // one request can ask for several answers; see Candidate
	Files      []string                              // MIME types that it takes beside text and images, or beginnings of them such as "audio/"
	Cost       func(Usage) (usd float64, known bool) // of one request; nil: unknown
	Web        bool                                  // its provider can search the web; see Settings.Web
	Cache      Cache                                 // how its provider caches prompts
}

// A Cache describes how a provider caches prompts. Zero values are unknown.
type Cache struct {
	Lifetime  time.Duration // how long a prompt stays cached after it was last sent
	MinTokens int           // of the shortest prompt that is cached
}
