package gemini

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// An answer turns chunks into events. Text and thinking open a new block
// whenever they take turns, and around each piece with a signature, which must
// not be merged with another; calls have blocks of their own. One answer may
// take several requests.
type answer struct {
	out   *llm.Out
	names map[string]string // tool names on the wire to ours

	run    llm.Kind        // what the open block holds; "" if none is open
	block  string          // its name
	opened int             // blocks so far
	tail   *llm.Delta      // see hold
	calls  map[string]bool // by id
	stub   *stub           // a call whose arguments are still arriving
	said   bool            // something was sent that is not thinking

	last    chunk // its memory is used again
	label   label
	looked  int // chunks that were searched for the label
	finish  string
	words   string    // of the finish
	blocked string    // why the prompt was not answered
	token   string    // makes the answer go on; "" if it is at its end
	usage   usage     // of this request
	spent   llm.Usage // by those before
}

// take reads one chunk, which data is the text of.
func (a *answer) take(c *chunk, data []byte) {
	if c.Feedback != nil && c.Feedback.Reason != "" {
		a.blocked = c.Feedback.Reason
	}
	var raw [][]json.RawMessage // parts as they came, once one is asked for
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index != 0 { // we never ask for more than one
			continue
		}
		for j := range candidate.Content.Parts {
			p := &candidate.Content.Parts[j]
			if a.part(p) {
				continue
			}
			if raw == nil {
				raw = rawParts(data)
			}
			a.odd(p, raw[i][j])
		}
		if candidate.Finish != "" && candidate.Finish != "FINISH_REASON_UNSPECIFIED" {
			a.finish, a.words = candidate.Finish, candidate.Words
		}
		if candidate.Finish == continues {
			a.token = candidate.Token
		}
	}
}

// part reads one part, and reports whether there was anything in it that shows.
func (a *answer) part(p *piece) bool {
	switch {
	case p.Call != nil:
		a.call(p.Call, p.state())
	case p.Blob != nil:
		a.whole(llm.Part{Kind: llm.Media, MIME: p.Blob.MIME, Data: p.Blob.Data, State: p.state()})
	case p.Text != "":
		a.text(p.kind(), string(p.Text), p.state())
	default:
		return false
	}
	return true
}

// odd reads a part with nothing to show: a signature, or what has no field in a
// piece, such as code that Google ran. That goes back as it came.
func (a *answer) odd(p *piece, raw json.RawMessage) {
	if structured(raw) {
		a.whole(llm.Part{Kind: llm.Opaque, State: raw})
		return
	}
	if state := p.state(); state != nil {
		a.hold(p.kind(), state)
	}
}

// text adds a piece of text or thinking.
func (a *answer) text(kind llm.Kind, text string, state json.RawMessage) {
	if a.run != kind || state != nil || a.tail != nil {
		a.settle()
		a.run, a.block = kind, a.open("b")
	}
	a.said = a.said || kind == llm.Text && strings.TrimSpace(text) != ""
	a.out.Send(llm.Delta{Block: a.block, Part: llm.Part{Kind: kind, Text: text, State: state}})
	if state != nil {
		a.run = ""
	}
}

// hold keeps a signature without text until it is known that the answer stands.
func (a *answer) hold(kind llm.Kind, state json.RawMessage) {
	a.settle()
	a.tail = &llm.Delta{Block: a.open("b"), Part: llm.Part{Kind: kind, State: state}}
}

// whole sends a part that comes in one piece.
func (a *answer) whole(p llm.Part) {
	a.settle()
	a.said = true
	a.out.Send(llm.Delta{Block: a.open("m"), Part: p})
}

// settle sends the signature that was held back. What follows is a new block.
func (a *answer) settle() {
	if a.tail != nil {
		a.out.Send(*a.tail)
	}
	a.tail, a.run = nil, ""
}

// open names a new block.
func (a *answer) open(prefix string) string {
	a.opened++
	return prefix + strconv.Itoa(a.opened)
}

// call adds a call, or a part of the one that is arriving.
func (a *answer) call(f *fragment, state json.RawMessage) {
	if f.Name == "" && a.stub == nil {
		return
	}
	if f.Name != "" {
		a.close()
		a.settle()
		name := f.Name
		if ours, ok := a.names[name]; ok {
			name = ours
		}
		a.said = true
		a.stub = &stub{block: a.open("c")}
		id, repeated := a.unique(f.ID)
		a.out.Send(llm.Delta{Block: a.stub.block, Part: llm.Part{Kind: llm.Call, ID: id, Repeated: repeated, Name: name, State: state}})
	} else if state != nil {
		a.out.Send(llm.Delta{Block: a.stub.block, Part: llm.Part{Kind: llm.Call, State: state}})
	}
	if n := a.stub.add(f); n > 0 {
		a.out.Beat()
		a.out.Hold(n)
	}
	if !f.More {
		a.close()
	}
}

// close sends the arguments of the call that was arriving.
func (a *answer) close() {
	if a.stub == nil {
		return
	}
	a.out.Send(llm.Delta{Block: a.stub.block, Part: llm.Part{Kind: llm.Call, Input: a.stub.input()}})
	a.stub = nil
}

// unique returns id, or one of our own making if there is none, or another call
// of this answer has it.
func (a *answer) unique(id string) (own string, repeated bool) {
	if repeated = a.calls[id]; id == "" || repeated {
		id = mintedID + rand.Text()
	}
	if a.calls == nil {
		a.calls = map[string]bool{}
	}
	a.calls[id] = true
	return id, repeated
}

// continues is the finish reason of an answer that goes on in another request.
const continues = "CONTINUATION"

// next makes ready for the request that the answer goes on in.
func (a *answer) next() {
	a.spent, a.usage = a.spent.Add(a.usage.normal()), usage{}
	a.finish, a.words, a.token = "", "", ""
}

// mistakes are finish reasons that say the model did something wrong. It mostly
// does so once.
var mistakes = map[string]string{
	"MALFORMED_FUNCTION_CALL":   "the model wrote a tool call that cannot be read",
	"MALFORMED_RESPONSE":        "the model wrote an answer that cannot be read",
	"UNEXPECTED_TOOL_CALL":      "the model called a tool where there is none",
	"TOO_MANY_TOOL_CALLS":       "the model called too many tools",
	"MISSING_THOUGHT_SIGNATURE": "the model's answer lacks a thought signature",
}

// flaw is what makes an answer that arrived whole no answer; nil if nothing. It
// is a mistake, worth another try, unless something but thinking was sent.
func (a *answer) flaw() error {
	message, wrong := mistakes[a.finish]
	switch {
	case wrong && a.words != "":
		message += ": " + wire.Excerpt(a.words)
	case wrong:
	case a.finish == "STOP" && !a.said:
		message = "the model gave an empty answer"
	default:
		return nil
	}
	return &llm.Error{Fault: llm.Server, Message: message, Code: a.finish, Mistake: !a.said}
}

// report sends the numbers, if there are any.
func (a *answer) report() {
	if u := a.spent.Add(a.usage.normal()); u != (llm.Usage{}) {
		a.out.Send(u)
	}
}

// end finishes the answer, if the server did.
func (a *answer) end() error {
	if a.finish == "" && a.blocked == "" {
		a.report()
		return cut(nil)
	}
	a.close()
	a.settle()
	a.report()
	reason, known := reasons[a.finish]
	raw := a.finish
	switch {
	case a.finish == "":
		reason, raw = llm.Refused, a.blocked
	case !known:
		reason = llm.Other
	case reason == llm.Stop && len(a.calls) > 0:
		reason = llm.Calls
	}
	a.out.Send(llm.Finish{Reason: reason, Raw: raw, ID: a.label.ID, Model: a.label.Model})
	return nil
}

// reasons translates finishReason.
var reasons = map[string]llm.Reason{
	"STOP":                     llm.Stop,
	"MAX_TOKENS":               llm.Length,
	continues:                  llm.Length, // and there is no way to go on
	"SAFETY":                   llm.Refused,
	"RECITATION":               llm.Refused,
	"BLOCKLIST":                llm.Refused,
	"PROHIBITED_CONTENT":       llm.Refused,
	"SPII":                     llm.Refused,
	"MODEL_ARMOR":              llm.Refused,
	"IMAGE_SAFETY":             llm.Refused,
	"IMAGE_PROHIBITED_CONTENT": llm.Refused,
	"IMAGE_RECITATION":         llm.Refused,
}
