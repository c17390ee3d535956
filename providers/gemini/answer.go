package gemini

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An answer turns chunks into events. Text and thinking open a new block
// whenever they take turns, and around each piece with a signature, which must
// not be merged with another; calls have blocks of their own. One answer may
// take several requests.
type answer struct {
	leg
	out   *llm.Out
	names adapter.Names

	openKind         llm.Kind   // what the open block holds; "" if none is open
	block            string     // its name
	blocks           int        // blocks so far
	pendingSignature *llm.Delta // see holdSignature
	calls            adapter.CallIDs
	pendingCalls     []*pendingCall // calls whose arguments are still arriving
	hasContent       bool           // something was sent that is not thinking

	grounded
	last         chunk // its memory is used again
	label        label
	labelChecks  int       // chunks that were searched for the label
	blocked      string    // why the prompt was not answered
	earlierUsage llm.Usage // by the requests before
}

// grounded is what Google searched for and found.
type grounded struct {
	queries  []string
	sources  []llm.Part      // each once
	found    map[string]bool // both
	remote   int             // tools of Google's that were shown
	onePrice bool            // a prompt pays for one search, however many there are
}

// A leg is what one request brought.
type leg struct {
	finish        string
	finishMessage string // of the finish
	continuation  string // makes the answer go on; "" if it is at its end
	usage         usage
}

// addChunk reads one chunk, which data is the text of.
func (a *answer) addChunk(c *chunk, data []byte) {
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
			if a.addPart(p) {
				continue
			}
			if raw == nil {
				raw = rawParts(data)
			}
			a.addOpaque(p, raw[i][j])
		}
		if candidate.Finish != "" && candidate.Finish != "FINISH_REASON_UNSPECIFIED" {
			a.finish, a.finishMessage = candidate.Finish, candidate.Words
		}
		if candidate.Grounding != nil {
			a.addGrounding(candidate.Grounding)
		}
		if candidate.Finish == finishContinuation {
			a.continuation = candidate.Token
		}
	}
}

// addPart reads one part, and reports whether there was anything in it that shows.
func (a *answer) addPart(p *piece) bool {
	switch {
	case p.Call != nil:
		a.addCall(p.Call, p.state())
	case p.Blob != nil:
		a.addBlob(p.Blob, p.state())
	case p.Text != "":
		a.addText(p.kind(), string(p.Text), p.state())
	default:
		return false
	}
	return true
}

// addBlob reads a file.
func (a *answer) addBlob(b *blob, state json.RawMessage) {
	data, err := adapter.FromBase64(string(b.Data))
	if err != nil || len(data) == 0 {
		a.out.Send(llm.Notice{Text: adapter.UnreadableFile(b.MIME)})
		return
	}
	a.sendWhole(llm.Part{Kind: llm.Media, MIME: b.MIME, Data: data, State: state})
}

// addOpaque reads a part with nothing to show: a signature, or what has no field in a
// piece, such as code that Google ran. That goes back as it came.
func (a *answer) addOpaque(p *piece, raw json.RawMessage) {
	if hasObject(raw) {
		a.showRemoteCall(raw)
		a.sendWhole(llm.Part{Kind: llm.Opaque, State: raw})
		return
	}
	if state := p.state(); state != nil {
		a.holdSignature(p.kind(), state)
	}
}

// showRemoteCall shows the use of a tool of Google's. What goes back is the part itself.
func (a *answer) showRemoteCall(raw json.RawMessage) {
	var p struct {
		Call *remoteCall `json:"toolCall"`
	}
	if adapter.DecodeLenient(raw, &p) == nil && p.Call != nil {
		a.sendRemoteCall(strings.TrimSuffix(strings.ToLower(p.Call.Type), "_web"), string(p.Call.Args))
	}
}

// sendRemoteCall tells that Google used a tool of its own.
func (a *answer) sendRemoteCall(name, input string) {
	a.remote++
	a.sendWhole(llm.Part{Kind: llm.Call, ID: name + "_" + strconv.Itoa(a.remote), Name: cmp.Or(name, googleSearch), Input: input, Remote: true})
}

// googleSearch is the name under which a search is shown.
const googleSearch = "google_search"

// addGrounding keeps what was searched for and found until the answer is at its end: chunks may
// tell of it more than once.
func (a *answer) addGrounding(g *grounding) {
	if a.found == nil {
		a.found = map[string]bool{"": true} // an address that is missing
	}
	for _, q := range g.Queries {
		if key := "query " + q; !a.found[key] {
			a.found[key] = true
			a.queries = append(a.queries, q)
			a.out.Hold(len(q))
		}
	}
	for _, c := range g.Chunks {
		if web := c.Web; !a.found[web.URI] {
			a.found[web.URI] = true
			a.sources = append(a.sources, llm.Part{Kind: llm.Source, URL: web.URI, Name: web.Title})
			a.out.Hold(len(web.URI) + len(web.Title))
		}
	}
}

// sendGrounding shows what was searched for, where no call did, and what was found.
func (a *answer) sendGrounding() {
	if len(a.queries) > 0 && a.remote == 0 {
		if input, err := adapter.Marshal(map[string]any{"queries": a.queries}); err == nil {
			a.sendRemoteCall(googleSearch, string(input))
		}
	}
	for _, s := range a.sources {
		a.out.Send(llm.Delta{Block: a.newBlock("s"), Part: s})
	}
}

// addText adds a piece of text or thinking.
func (a *answer) addText(kind llm.Kind, text string, state json.RawMessage) {
	if a.openKind != kind || state != nil || a.pendingSignature != nil {
		a.sendSignature()
		a.openKind, a.block = kind, a.newBlock("b")
	}
	a.hasContent = a.hasContent || kind == llm.Text && strings.TrimSpace(text) != ""
	a.out.Send(llm.Delta{Block: a.block, Part: llm.Part{Kind: kind, Text: text, State: state}})
	if state != nil {
		a.openKind = ""
	}
}

// holdSignature keeps a signature without text until it is known that the answer stands.
func (a *answer) holdSignature(kind llm.Kind, state json.RawMessage) {
	a.sendSignature()
	a.pendingSignature = &llm.Delta{Block: a.newBlock("b"), Part: llm.Part{Kind: kind, State: state}}
}

// sendWhole sends a part that comes in one piece.
func (a *answer) sendWhole(p llm.Part) {
	a.sendSignature()
	a.hasContent = true
	a.out.Send(llm.Delta{Block: a.newBlock("m"), Part: p})
}

// sendSignature sends the signature that was held back. What follows is a new block.
func (a *answer) sendSignature() {
	if a.pendingSignature != nil {
		a.out.Send(*a.pendingSignature)
	}
	a.pendingSignature, a.openKind = nil, ""
}

// newBlock names a new block.
func (a *answer) newBlock(prefix string) string {
	a.blocks++
	return prefix + strconv.Itoa(a.blocks)
}

// addCall adds a call, or a part of one that is arriving: the one with its id, or else the last.
func (a *answer) addCall(f *fragment, state json.RawMessage) {
	var c *pendingCall
	for _, p := range a.pendingCalls {
		if f.ID != "" && p.id == f.ID || f.Name == "" && (c == nil || c.id != f.ID) {
			c = p
		}
	}
	switch {
	case c == nil && f.Name == "":
		return
	case c == nil:
		for _, p := range slices.Clone(a.pendingCalls) {
			if f.ID == "" || p.id == "" {
				a.finishCall(p)
			}
		}
		a.sendSignature()
		a.hasContent = true
		c = &pendingCall{block: a.newBlock("c"), id: f.ID}
		a.pendingCalls = append(a.pendingCalls, c)
		id, repeated := a.calls.Claim(f.ID, generatedIDPrefix)
		a.out.Send(llm.Delta{Block: c.block, Part: llm.Part{Kind: llm.Call, ID: id, Repeated: repeated, Name: a.names.Ours(f.Name), State: state}})
	case state != nil:
		a.out.Send(llm.Delta{Block: c.block, Part: llm.Part{Kind: llm.Call, State: state}})
	}
	if n := c.add(f); n > 0 {
		a.out.Beat()
		a.out.Hold(n)
	}
	if !f.More {
		a.finishCall(c)
	}
}

// finishCall sends the arguments of a call that was arriving.
func (a *answer) finishCall(c *pendingCall) {
	a.out.Send(llm.Delta{Block: c.block, Part: llm.Part{Kind: llm.Call, Input: c.input()}})
	a.pendingCalls = slices.DeleteFunc(a.pendingCalls, func(p *pendingCall) bool { return p == c })
}

// finishContinuation is the finish reason of an answer that goes on in another request.
const finishContinuation = "CONTINUATION"

// nextRequest makes ready for the request that the answer goes on in.
func (a *answer) nextRequest() {
	a.earlierUsage, a.leg = a.earlierUsage.Then(a.usage.toLLM()), leg{}
}

// mistakeOf says what a finish reason means that the model did wrong, "" if nothing. It mostly does
// so once.
func mistakeOf(reason string) string {
	switch reason {
	case "MALFORMED_FUNCTION_CALL":
		return "the model wrote a tool call that cannot be read"
	case "MALFORMED_RESPONSE":
		return "the model wrote an answer that cannot be read"
	case "UNEXPECTED_TOOL_CALL":
		return "the model called a tool where there is none"
	case "TOO_MANY_TOOL_CALLS":
		return "the model called too many tools"
	case "MISSING_THOUGHT_SIGNATURE":
		return "the model's answer lacks a thought signature"
	}
	return ""
}

// mistake returns what makes an answer that arrived whole no answer; nil if nothing. It
// is a mistake, worth another try, unless something but thinking was sent.
func (a *answer) mistake() error {
	message := mistakeOf(a.finish)
	switch wrong := message != ""; {
	case wrong && a.finishMessage != "":
		message += ": " + wire.Excerpt(a.finishMessage)
	case wrong:
	case a.finish == "STOP" && !a.hasContent:
		message = "the model gave an empty answer"
	default:
		return nil
	}
	return &llm.Error{Fault: llm.Server, Message: message, Code: a.finish, Mistake: !a.hasContent}
}

// sendUsage sends the numbers, if there are any.
func (a *answer) sendUsage() {
	u := a.earlierUsage.Then(a.usage.toLLM())
	if u.Searches = len(a.queries); a.onePrice {
		u.Searches = min(u.Searches, 1)
	}
	if u != (llm.Usage{}) {
		a.out.Send(u)
	}
}

// finishAnswer finishes the answer, if the server did.
func (a *answer) finishAnswer() error {
	if a.finish == "" && a.blocked == "" {
		a.sendUsage()
		return asInterrupted(nil)
	}
	for len(a.pendingCalls) > 0 {
		a.finishCall(a.pendingCalls[0])
	}
	a.sendSignature()
	a.sendGrounding()
	a.sendUsage()
	reason, raw := adapter.FinishReason(a.finish, len(a.calls) > 0), a.finish
	if a.finish == "" {
		reason, raw = llm.Refused, a.blocked
	}
	a.out.Send(llm.Finish{Reason: reason, Raw: raw, ID: a.label.ID, Model: a.label.Model})
	return nil
}
