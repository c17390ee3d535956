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

// An answer turns chunks into events. Text and thinking start a new block when one follows the
// other, and around each piece with a signature, which must not be merged with another piece. Calls
// have separate blocks. One answer may take several requests.
type answer struct {
	leg
	out   *llm.Out
	names adapter.Names

	openKind         llm.Kind // kind of the open block; "" if none is open
	block            string   // name of the open block
	blocks           adapter.Blocks
	pendingSignature *llm.Delta // see holdSignature
	calls            adapter.CallIDs
	pendingCalls     []*pendingCall // calls whose arguments are still arriving
	hasContent       bool           // content other than thinking was sent

	grounded
	last         chunk // its memory is reused
	label        label
	labelChecks  int       // number of chunks searched for the label
	blocked      string    // why the prompt was not answered
	earlierUsage llm.Usage // usage of earlier requests
}

// grounded holds Google's search queries and sources.
type grounded struct {
	queries  []string
	sources  []llm.Part      // without duplicates
	found    map[string]bool // queries and sources already stored
	remote   int             // number of Google tool calls already shown
	onePrice bool            // a prompt is charged for one search at most
}

// A leg is the content of one response.
type leg struct {
	finish        string
	finishMessage string // message about the finish reason
	continuation  string // token for requesting the rest of the answer; "" at its end
	usage         usage
}

// addChunk adds one chunk; data is its JSON.
func (a *answer) addChunk(c *chunk, data []byte) {
	if c.Feedback != nil && c.Feedback.Reason != "" {
		a.blocked = c.Feedback.Reason
	}
	var raw [][]json.RawMessage // JSON of the parts, once needed
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index != 0 { // requests ask for only one
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

// addPart adds one part, and reports whether it contained visible content.
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

// addBlob adds a file.
func (a *answer) addBlob(b *blob, state json.RawMessage) {
	data, err := adapter.FromBase64(string(b.Data))
	if err != nil || len(data) == 0 {
		a.out.Send(llm.Notice{Text: adapter.UnreadableFile(b.MIME)})
		return
	}
	a.sendWhole(llm.Part{Kind: llm.Media, MIME: b.MIME, Data: data, State: state})
}

// addOpaque adds a part with nothing to show: a signature, or data without a field in piece, such
// as code that Google ran. It goes back unchanged.
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

// showRemoteCall shows the use of a Google tool. The part itself goes back unchanged.
func (a *answer) showRemoteCall(raw json.RawMessage) {
	var p struct {
		Call *remoteCall `json:"toolCall"`
	}
	if adapter.DecodeLenient(raw, &p) == nil && p.Call != nil {
		a.sendRemoteCall(strings.TrimSuffix(strings.ToLower(p.Call.Type), "_web"), string(p.Call.Args))
	}
}

// sendRemoteCall sends the use of a Google tool.
func (a *answer) sendRemoteCall(name, input string) {
	a.remote++
	a.sendWhole(llm.Part{Kind: llm.Call, ID: name + "_" + strconv.Itoa(a.remote), Name: cmp.Or(name, googleSearch), Input: input, Remote: true})
}

// googleSearch is the name of searches for the user.
const googleSearch = "google_search"

// addGrounding stores queries and sources until the end of the answer: chunks may repeat them.
func (a *answer) addGrounding(g *grounding) {
	if a.found == nil {
		a.found = map[string]bool{"": true} // ignores missing addresses
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

// sendGrounding sends the queries, unless calls showed them, and the sources.
func (a *answer) sendGrounding() {
	if len(a.queries) > 0 && a.remote == 0 {
		if input, err := adapter.Marshal(map[string]any{"queries": a.queries}); err == nil {
			a.sendRemoteCall(googleSearch, string(input))
		}
	}
	for _, s := range a.sources {
		a.out.Send(llm.Delta{Block: a.blocks.New("s"), Part: s})
	}
}

// addText adds a piece of text or thinking.
func (a *answer) addText(kind llm.Kind, text string, state json.RawMessage) {
	if a.openKind != kind || state != nil || a.pendingSignature != nil {
		a.sendSignature()
		a.openKind, a.block = kind, a.blocks.New("b")
	}
	a.hasContent = a.hasContent || kind == llm.Text && strings.TrimSpace(text) != ""
	a.out.Send(llm.Delta{Block: a.block, Part: llm.Part{Kind: kind, Text: text, State: state}})
	if state != nil {
		a.openKind = ""
	}
}

// holdSignature buffers a signature without text until the answer is known to be valid.
func (a *answer) holdSignature(kind llm.Kind, state json.RawMessage) {
	a.sendSignature()
	a.pendingSignature = &llm.Delta{Block: a.blocks.New("b"), Part: llm.Part{Kind: kind, State: state}}
}

// sendWhole sends a part that comes in one piece.
func (a *answer) sendWhole(p llm.Part) {
	a.sendSignature()
	a.hasContent = true
	a.out.Send(llm.Delta{Block: a.blocks.New("m"), Part: p})
}

// sendSignature sends the buffered signature. The next content starts a new block.
func (a *answer) sendSignature() {
	if a.pendingSignature != nil {
		a.out.Send(*a.pendingSignature)
	}
	a.pendingSignature, a.openKind = nil, ""
}

// addCall adds a call, or a piece of the call with its id, else of the last call.
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
		c = &pendingCall{block: a.blocks.New("c"), id: f.ID}
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

// finishCall sends the complete arguments of a call.
func (a *answer) finishCall(c *pendingCall) {
	a.out.Send(llm.Delta{Block: c.block, Part: llm.Part{Kind: llm.Call, Input: c.input()}})
	a.pendingCalls = slices.DeleteFunc(a.pendingCalls, func(p *pendingCall) bool { return p == c })
}

// finishContinuation is the finish reason of an answer that continues in another request.
const finishContinuation = "CONTINUATION"

// nextRequest prepares for the request that continues the answer.
func (a *answer) nextRequest() {
	a.earlierUsage, a.leg = a.earlierUsage.Then(a.usage.toLLM()), leg{}
}

// mistakeOf describes the model's mistake that a finish reason reports; "" for none. The mistake
// usually does not repeat.
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

// mistake returns the error of a complete answer without a usable result; nil if there is none. It
// is a mistake, worth a retry, unless content other than thinking was sent.
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

// sendUsage sends the usage, if any.
func (a *answer) sendUsage() {
	u := a.earlierUsage.Then(a.usage.toLLM())
	if u.Searches = len(a.queries); a.onePrice {
		u.Searches = min(u.Searches, 1)
	}
	if u != (llm.Usage{}) {
		a.out.Send(u)
	}
}

// finishAnswer finishes a complete answer.
func (a *answer) finishAnswer() {
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
}
