package openai

import (
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
)

// An answer turns chunks into events. Text and thinking open a new block
// whenever they take turns; each call has one of its own.
type answer struct {
	answerState
	outcome
	sources
	received
	dialect Dialect
	names   adapter.Names

	openKind   llm.Kind   // what the open block holds; "" if none is open
	block      string     // its name
	source     source     // where thinking comes from
	first      string     // block of the first thinking
	cumulative cumulative // of thinking that comes in no details
	details    details
	calls      []*call

	shape       adapter.Shape[chunk]
	labelChecks int // chunks that were searched for the label
}

// An outcome is why an answer ended.
type outcome struct {
	finish       string
	nativeFinish string // the upstream's own word for finish
	filterFound  string // what a filter found
}

// received is what an answer has had so far.
type received struct {
	hasText    bool // text was sent that is no refusal
	hasRefusal bool // a refusal was sent
	hasDelta   bool // a delta said something
}

// sources are the pages that an answer names.
type sources struct {
	found     []citation // beside the choices, in the order in which the answer counts them
	annotated []citation // in the text
}

// A source is a field in which thinking comes. Services send the same thinking
// in several; the first that says anything is taken, and then no other.
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
	if found := c.found.list(); len(found) > 0 { // which comes whole each time
		a.found = found
	}
}

// addContent takes what a choice says. A message is all of the answer: some services send one
// beside each delta, or after them all.
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

// unsaid returns what no delta has said of a message. Only the last one is sure to have what none
// will say.
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

// isOwn reports whether a choice is of this answer: the first, unless several were
// asked for.
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
		default: // "text", "output_text" or nothing at all; a reference has none
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
			a.openKind = "" // text after it is a block of its own
			a.out.Send(llm.Delta{Block: a.newBlock("m"), Part: p})
		case image.Image != "":
			a.out.Send(llm.Notice{Text: adapter.UnreadableFile(p.MIME)})
		}
	}
	for i := range d.Calls {
		a.addFragment(&d.Calls[i], i)
	}
}

// thinking picks from d the thinking that is new.
func (a *answer) thinking(d *delta) string {
	var details string
	for _, raw := range slices.Concat(d.Details, d.Blocks, opaqueEntry(d.ReasoningOpaque)) {
		entries := len(a.details)
		text := a.details.add(raw, a.dialect.CumulativeReasoning)
		kept := len(text)
		if len(a.details) > entries {
			kept = len(raw)
			a.out.Beat() // it may be encrypted, and nothing to show
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

// release sends the thinking that is held back, before anything follows it.
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
		a.openKind, a.block = kind, a.newBlock("b")
	}
	a.out.Send(llm.Delta{Block: a.block, Part: llm.Part{Kind: kind, Text: text}})
}

// A call is a tool call that is arriving.
type call struct {
	block string
	key   int // index, or the place in its chunk where servers send no index
	id    string
	given string // id that the server sent
	name  string
	args  objectTracker
}

// addFragment adds a piece of a call, the at-th of its chunk.
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
		c = &call{block: a.newBlock("c"), key: key}
		a.calls = append(a.calls, c)
		a.openKind = "" // text after a call is a block of its own
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
	if opens && part.Input == "{}" { // as nothing, which gateways to Claude put before the arguments (github.com/BerriAI/litellm issue 4537)
		part.Input = ""
	}
	if opens || part.ID != "" || part.Name != "" || part.Input != "" || part.State != nil {
		a.out.Send(llm.Delta{Block: c.block, Part: part})
	}
}

// findCall returns the call that f, of a tool called name, belongs to; nil if f opens one. Servers
// tell calls apart by index, by id, or only by their place.
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
	case name == "" && byID != nil: // the index is of nothing
		c = byID
	case n > 0 && f.ID == "" && name == "":
		return a.calls[n-1] // it can only go on
	}
	if c != nil && c.startsNewCall(f, name) {
		return nil
	}
	return c
}

// startsNewCall reports whether f, in the place of c, is another call: some servers
// give every call the same index. The same name again is no sign of it, for
// others repeat the name in each fragment; but after arguments that are complete
// it is one, with the same id as well, and so is another name.
func (c *call) startsNewCall(f *fragment, name string) bool {
	if name == "" {
		return false
	}
	if f.ID != "" && c.given != "" && f.ID != c.given {
		return true
	}
	return c.args.closed && (f.Function.Arguments != "" || c.name != "" && name != c.name)
}

// An objectTracker follows arguments as they arrive, to tell where their object ends.
type objectTracker struct {
	schema.Scanner
	closed bool // the object came to its end
}

func (n *objectTracker) write(text string) {
	for _, c := range []byte(text) {
		bracket := (c == '}' || c == ']') && !n.InString()
		if n.Step(c); bracket {
			n.closed = n.Depth() == 0
		}
	}
}

// idPrefix begins the ids of calls that came without one.
const idPrefix = "call_"
