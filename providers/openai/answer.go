package openai

import (
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
)

// An answer turns chunks into events. Text and thinking start a new block when one follows the
// other; each call has its own block.
type answer struct {
	answerState
	outcome
	sources
	received
	dialect Dialect
	names   adapter.Names

	openKind   llm.Kind   // kind of the open block; "" if none is open
	block      string     // name of the open block
	source     source     // field that the thinking comes in
	first      string     // block of the first thinking
	cumulative cumulative // reads thinking outside of details
	details    details
	calls      []*call

	shape       adapter.Shape[chunk]
	labelChecks int // number of chunks searched for the label
}

// An outcome is the reason why an answer ended.
type outcome struct {
	finish       string
	nativeFinish string // the upstream's finish reason
	filterFound  string // categories that a filter found
}

// received records the content of an answer so far.
type received struct {
	hasText    bool // text other than a refusal came
	hasRefusal bool // a refusal came
	hasDelta   bool // a delta with content came
}

// sources are the pages that an answer cites.
type sources struct {
	found     []citation // beside the choices, in the order of their numbers in the answer
	annotated []citation // in annotations of the text
}

// A source is a field that thinking comes in. Services send the same thinking in several fields;
// the first one with content is used, and no other.
type source int

const (
	fromReasoningContent source = iota + 1
	fromReasoning
	fromReasoningText
	fromPortkey
	fromDetails
)

// addChunk reads one chunk.
func (a *answer) addChunk(c *chunk) {
	if c.Groq != nil {
		a.setChunkUsage(c.Groq.Usage)
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if !a.isOwn(choice) {
			continue
		}
		a.setChunkUsage(choice.Usage)
		a.addContent(choice)
		if choice.Finish != "" {
			a.finish, a.nativeFinish = choice.Finish, choice.Native
		}
		if found := filteredBy(choice.Filtered); found != "" {
			a.filterFound = found
		}
	}
	a.setChunkUsage(c.Usage)
	if found := c.found.list(); len(found) > 0 { // each chunk has the whole list
		a.found = found
	}
}

// addContent adds the content of a choice. A message holds the whole answer: some services send one
// with each delta, or after all of them.
func (a *answer) addContent(c *choice) {
	a.hasDelta = a.hasDelta || c.Delta.hasContent()
	switch {
	case c.Message == nil:
		a.delta(&c.Delta)
	case !a.hasDelta:
		a.delta(c.Message)
	default:
		a.delta(&c.Delta)
		a.delta(a.unsaid(c.Message, c.Finish != ""))
	}
}

// unsaid returns the part of a message that no delta contained. Only the last message is certain to
// have no deltas after it.
func (a *answer) unsaid(message *delta, last bool) *delta {
	rest := delta{Cites: message.Cites}
	if last && !a.hasText && !a.hasRefusal {
		rest.Content, rest.Refusal = message.Content, message.Refusal
	}
	if last && len(a.calls) == 0 {
		rest.Calls = message.Calls
	}
	return &rest
}

// isOwn reports whether a choice belongs to this answer: the first one, unless the request asked
// for several.
func (a *answer) isOwn(c *choice) bool {
	index := 0
	if a.shared != nil {
		index = a.shared.Index
	}
	if c.Index != index {
		a.othersEnded = a.othersEnded || c.Finish != ""
		return false
	}
	a.gotChoice = true
	return true
}

func (a *answer) setChunkUsage(u *usage) {
	if u != nil {
		a.answerState.setUsage(u.toLLM())
	}
}

func (a *answer) delta(d *delta) {
	a.sendThinking(a.thinking(d))
	for _, piece := range d.Content.list {
		switch piece.Type {
		case "thinking", "reasoning":
			a.sendThinking(string(piece.Text) + piece.thinking())
		default: // "text", "output_text" or ""; a reference has no text
			a.sendText(string(piece.Text))
		}
	}
	a.sendText(d.Content.text)
	a.hasRefusal = a.hasRefusal || d.Refusal != ""
	a.send(llm.Text, string(d.Refusal))
	for _, c := range d.Cites {
		a.annotated = append(a.annotated, c.URL)
	}
	for _, image := range d.Images {
		p, ok := image.part()
		switch {
		case ok:
			a.release()
			a.openKind = "" // text after it starts a new block
			a.out.Send(llm.Delta{Block: a.blocks.New("m"), Part: p})
		case image.Image != "":
			a.out.Send(llm.Notice{Text: adapter.UnreadableFile(p.MIME)})
		}
	}
	for i := range d.Calls {
		a.addFragment(&d.Calls[i], i)
	}
}

// thinking returns the new thinking in d.
func (a *answer) thinking(d *delta) string {
	var details string
	for _, raw := range slices.Concat(d.Details, d.Blocks, opaqueEntry(d.ReasoningOpaque)) {
		entries := len(a.details)
		text := a.details.add(raw, a.dialect.CumulativeReasoning)
		kept := len(text)
		if len(a.details) > entries {
			kept = len(raw)
			a.out.Beat() // d may be encrypted, with nothing to show
		}
		details += text
		a.out.Hold(kept)
	}
	portkey := ""
	for _, b := range d.Portkey {
		portkey += string(b.Thinking + b.Delta.Thinking)
	}
	texts := [...]string{fromReasoningContent: string(d.ReasoningContent), fromReasoning: string(d.Reasoning), fromReasoningText: string(d.ReasoningText), fromPortkey: portkey, fromDetails: details}
	if a.source == 0 {
		for s := fromReasoningContent; s <= fromDetails && a.source == 0; s++ {
			if texts[s] != "" {
				a.source = s
			}
		}
		if a.source == 0 && a.details.hasPending() {
			a.source = fromDetails
		}
	}
	text := texts[a.source]
	if a.dialect.CumulativeReasoning && a.source != fromDetails {
		text = a.cumulative.add(text)
	}
	return text
}

// release sends the buffered thinking before any other content.
func (a *answer) release() {
	pending := a.cumulative.flush()
	if details := a.details.flush(); a.source == fromDetails {
		pending = details
	}
	a.sendThinking(pending)
}

func (a *answer) sendThinking(text string) {
	a.send(llm.Thinking, text)
	if a.first == "" && text != "" {
		a.first = a.block
	}
}

func (a *answer) sendText(text string) {
	a.hasText = a.hasText || text != ""
	a.send(llm.Text, text)
}

func (a *answer) send(kind llm.Kind, text string) {
	if text == "" {
		return
	}
	if kind == llm.Text && a.dialect.CumulativeReasoning {
		a.release()
	}
	if a.openKind != kind {
		a.openKind, a.block = kind, a.blocks.New("b")
	}
	a.out.Send(llm.Delta{Block: a.block, Part: llm.Part{Kind: kind, Text: text}})
}

// A call is a tool call being received.
type call struct {
	block string
	key   int // index, or the position in its chunk if the server sends no index
	id    string
	given string // id from the server
	name  string
	args  objectTracker
}

// addFragment adds a piece of a call. At is its position in the chunk.
func (a *answer) addFragment(f *fragment, at int) {
	name := a.names.Ours(f.Function.Name)
	key := at
	if f.Index != nil {
		key = *f.Index
	}
	part := llm.Part{Kind: llm.Call, Input: string(f.Function.Arguments), State: f.state()}
	c := a.findCall(f, name, key)
	opens := c == nil
	if opens {
		a.release()
		c = &call{block: a.blocks.New("c"), key: key}
		a.calls = append(a.calls, c)
		a.openKind = "" // text after a call starts a new block
	}
	if c.id == "" && f.ID != "" {
		c.given = f.ID
		c.id, part.Repeated = a.ids.Claim(f.ID, idPrefix)
		part.ID = c.id
	}
	if name != "" && name != c.name {
		c.name, part.Name = name, name
	}
	c.args.write(part.Input)
	if opens && part.Input == "{}" { // sent before the arguments by gateways to Claude (github.com/BerriAI/litellm issue 4537)
		part.Input = ""
	}
	if opens || part.ID != "" || part.Name != "" || part.Input != "" || part.State != nil {
		a.out.Send(llm.Delta{Block: c.block, Part: part})
	}
}

// findCall returns the call that f, of the tool called name, continues; nil if f starts one.
// Servers distinguish calls by index, by id, or only by position.
func (a *answer) findCall(f *fragment, name string, key int) *call {
	var byKey, byID, c *call // the last ones
	for _, c := range a.calls {
		if c.key == key {
			byKey = c
		}
		if f.ID != "" && c.given == f.ID {
			byID = c
		}
	}
	switch n := len(a.calls); {
	case f.Index == nil && f.ID != "", byID != nil && byID.key == key:
		c = byID
	case byKey != nil:
		c = byKey
	case name == "" && byID != nil: // no call has this index
		c = byID
	case n > 0 && f.ID == "" && name == "":
		return a.calls[n-1] // it can only continue the last call
	}
	if c != nil && c.startsNewCall(f, name) {
		return nil
	}
	return c
}

// startsNewCall reports whether f, at the position of c, starts another call: some servers give
// every call the same index. Another name starts a new call. The same name does not, since some
// servers repeat it in each fragment; but after complete arguments it does, even with the same id.
func (c *call) startsNewCall(f *fragment, name string) bool {
	if name == "" {
		return false
	}
	if f.ID != "" && c.given != "" && f.ID != c.given {
		return true
	}
	return c.args.closed && (f.Function.Arguments != "" || c.name != "" && name != c.name)
}

// An objectTracker scans arguments as they arrive to find the end of their object.
type objectTracker struct {
	schema.Scanner
	closed bool // the object is complete
}

func (n *objectTracker) write(text string) {
	for _, c := range []byte(text) {
		bracket := (c == '}' || c == ']') && !n.InString()
		if n.Step(c); bracket {
			n.closed = n.Depth() == 0
		}
	}
}

// idPrefix begins the generated ids of calls that came without one.
const idPrefix = "call_"
