package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An answer turns blocks into events. One that pauses comes in several rounds.
type answer struct {
	round
	out            *llm.Out
	names          adapter.Names
	needsSignature bool // thinking is worth nothing without its signature
	shape          adapter.Shape[event]

	blocks int // blocks so far, of all rounds
	open   map[int]*block
	order  []*block // those still open, oldest first
	calls  adapter.CallIDs
	citing
	unused   int  // parts of earlier thinking that the provider did not use
	hasText  bool // there is text
	hasCalls bool // there are calls for us to answer

	id, model    string
	earlierUsage llm.Usage // of the rounds before
	hasUsage     bool
}

// A round is what one response brought.
type round struct {
	started     bool              // it said that it begins
	roundBlocks int               // blocks so far
	content     []json.RawMessage // blocks that are complete
	stopReason  string            // stop_reason
	ended       bool              // the stop reason came, after the content
	usage       usage
}

// citing is what an answer cites.
type citing struct {
	cited adapter.Set // sources that were sent
	ran   bool        // the server used a tool: text with sources then comes in many blocks
	run   *textRun    // that may go on; nil: none is open
}

// A textRun is text in several blocks, which break in the middle of sentences, around what
// cites a source. It is one part, whose state is the list of its blocks.
type textRun struct {
	name   string            // of the block in our stream
	blocks []json.RawMessage // as they came
	cites  bool              // one of them has citations
}

// A block is arriving.
type block struct {
	blockHead
	raw      json.RawMessage // as it was opened
	name     string          // of the block in our stream
	gotDelta bool            // a delta came
	shown    bool            // something of it was sent
	input    []byte          // JSON text of a call's arguments
}

// onEvent reads one event.
func (a *answer) onEvent(e *event) {
	switch e.Type {
	case "message_start":
		a.started = true
		if e.Message != nil {
			a.onEnvelope(e.Message)
			for i, raw := range e.Message.Content {
				a.openBlock(i, raw)
			}
			a.roundBlocks = 0 // the same beginning may come again
		}
	case "content_block_start":
		a.openBlock(e.Index, e.Block)
	case "content_block_delta":
		a.onDelta(e.Index, &e.Delta)
	case "content_block_stop":
		if b := a.open[e.Index]; b != nil {
			a.closeBlock(b)
		}
	case "message_delta":
		a.setStopReason(e.Delta.Reason)
		a.ended = a.ended || e.Delta.Reason != ""
		a.addUsage(e.Usage)
	}
}

// startsAgain reports whether e begins another answer in the middle of this one, as
// proxies do that ask again when their connection breaks. The same beginning sent
// twice, with nothing between, is none.
func (a *answer) startsAgain(e *event) bool {
	if e.Type != "message_start" {
		return false
	}
	return a.roundBlocks > 0 || a.started && (e.Message == nil || e.Message.ID != a.id)
}

// onEnvelope reads what stands around the blocks.
func (a *answer) onEnvelope(m *envelope) {
	if m.ID != "" {
		a.id = m.ID
	}
	if m.Model != "" {
		a.model = m.Model
	}
	unused := 0
	for _, c := range m.Changed {
		if c.Type == "thinking_dropped" {
			unused++
		}
	}
	a.unused += unused
	if notice := adapter.UnusedThinking(unused, "earlier messages changed"); notice != "" {
		a.out.Send(llm.Notice{Text: notice})
	}
	a.setStopReason(m.Reason)
	a.addUsage(m.Usage)
}

func (a *answer) setStopReason(reason string) {
	if reason != "" {
		a.stopReason = reason
	}
}

func (a *answer) addUsage(u *usage) {
	if u != nil {
		a.usage.add(*u)
		a.hasUsage = true
	}
}

// openBlock opens a block. One that was never closed under this index ends here.
func (a *answer) openBlock(index int, raw json.RawMessage) *block {
	if b := a.open[index]; b != nil {
		if a.roundBlocks == 0 && !b.gotDelta && bytes.Equal(b.raw, raw) { // message_start had it
			return b
		}
		a.closeBlock(b)
	}
	b := &block{raw: raw}
	a.out.Hold(len(raw))
	if len(raw) > 0 {
		_ = adapter.DecodeLenient(raw, &b.blockHead)
	}
	a.blocks++
	a.roundBlocks++
	b.name = "b" + strconv.Itoa(a.blocks)
	if a.open == nil {
		a.open = map[int]*block{}
	}
	a.open[index] = b
	a.order = append(a.order, b)
	a.joinRun(b)
	a.showStart(b)
	return b
}

// joinRun has a block of text go on where the one before it ended, if the server cites what it
// found.
func (a *answer) joinRun(b *block) {
	switch isText := b.kind() == llm.Text; {
	case !isText || !a.ran:
		a.endRun()
		a.ran = a.ran || strings.HasPrefix(b.Type, "server_tool_") || b.kind() == llm.Result
	case a.run == nil:
		a.run = &textRun{name: b.name}
	default:
		b.name = a.run.name
	}
}

// endRun sends the state of the run of text that is open.
func (a *answer) endRun() {
	run := a.run
	if a.run = nil; run == nil || !run.cites {
		return
	}
	state := run.blocks[0]
	if len(run.blocks) > 1 {
		state = append(append([]byte{'['}, bytes.Join(toBytes(run.blocks), []byte{','})...), ']')
	}
	a.out.Send(llm.Delta{Block: run.name, Part: llm.Part{Kind: llm.Text, State: state}})
}

// showStart shows what a block says by being opened.
func (a *answer) showStart(b *block) {
	switch kind := b.kind(); kind {
	case llm.Text:
		a.sendPart(b, llm.Part{Kind: kind, Text: b.Text.Text()})
	case llm.Thinking:
		a.sendPart(b, llm.Part{Kind: kind, Text: b.Thinking.Text()})
	case llm.Call:
		local, repeated := b.Type == "tool_use", false
		if local || b.ID == "" || !a.calls[b.ID] { // the server may use an id of its own again
			b.ID, repeated = a.calls.Claim(b.ID, idPrefix)
		}
		a.hasCalls = a.hasCalls || local
		a.sendPart(b, llm.Part{Kind: kind, ID: b.ID, Name: a.names.Ours(b.Name), Remote: !local, Repeated: repeated})
	}
}

// kind returns what a block is to us. Tools that the server runs say so by their
// types, such as server_tool_use and web_search_tool_result.
func (b *block) kind() llm.Kind {
	switch {
	case b.Type == "text":
		return llm.Text
	case b.Type == "thinking":
		return llm.Thinking
	case b.Type == "tool_use", strings.HasSuffix(b.Type, "_tool_use"):
		return llm.Call
	case strings.HasSuffix(b.Type, "_tool_result"):
		return llm.Result
	}
	return llm.Opaque
}

// sendPart sends a part of a block, unless it says nothing.
func (a *answer) sendPart(b *block, p llm.Part) {
	if (p.Kind == llm.Text || p.Kind == llm.Thinking) && p.Text == "" && p.State == nil {
		return
	}
	b.shown = true
	a.hasText = a.hasText || p.Kind == llm.Text
	a.out.Send(llm.Delta{Block: b.name, Part: p})
}

// onDelta adds to a block. Some servers do not open theirs, or one of another kind.
func (a *answer) onDelta(index int, d *delta) {
	b := a.open[index]
	kind, _ := strings.CutSuffix(d.Type, "_delta")
	legible := kind == "text" || kind == "thinking"
	switch {
	case b == nil && !legible:
		return
	case b == nil, legible && b.Type != kind && (b.kind() == llm.Text || b.kind() == llm.Thinking):
		b = a.openBlock(index, json.RawMessage(`{"type":"`+kind+`"}`))
	}
	b.gotDelta = true
	switch d.Type {
	case "text_delta":
		b.Text = append(b.Text, d.Text...)
		a.sendPart(b, llm.Part{Kind: llm.Text, Text: d.Text.Text()})
	case "thinking_delta":
		b.Thinking = append(b.Thinking, d.Thinking...)
		a.sendPart(b, llm.Part{Kind: llm.Thinking, Text: d.Thinking.Text()})
	case "signature_delta":
		b.Signature = append(b.Signature, d.Signature...)
		a.hold(len(d.Signature))
	case "input_json_delta":
		text := d.Input.Text()
		b.input = append(b.input, text...)
		if text != "" && b.kind() == llm.Call {
			a.sendPart(b, llm.Part{Kind: llm.Call, Input: text})
		} else {
			a.hold(len(text))
		}
	case "citations_delta":
		b.Citations = append(b.Citations, d.Citation)
		a.hold(len(d.Citation))
		a.sendSources(d.Citation)
	}
}

// hold counts n bytes of content that show only when their block ends.
func (a *answer) hold(n int) {
	if n > 0 {
		a.out.Beat()
		a.out.Hold(n)
	}
}

// closeBlock closes a block: what has to go back as it is becomes its State.
func (a *answer) closeBlock(b *block) {
	maps.DeleteFunc(a.open, func(_ int, o *block) bool { return o == b })
	a.order = slices.DeleteFunc(a.order, func(o *block) bool { return o == b })
	if !b.gotDelta {
		for _, c := range b.Citations {
			a.sendSources(c)
		}
	}
	raw := b.rawBlock()
	if b.kind() != llm.Text || !isBlank(b.Text.Text()) {
		a.content = append(a.content, raw)
	}
	switch kind := b.kind(); kind {
	case llm.Text:
		if run := a.run; run != nil && b.name == run.name && len(b.Text) > 0 {
			run.blocks, run.cites = append(run.blocks, raw), run.cites || len(b.Citations) > 0
		} else if len(b.Citations) > 0 && len(b.Text) > 0 {
			a.sendPart(b, llm.Part{Kind: kind, State: raw})
		}
	case llm.Thinking:
		if len(b.Signature) > 0 || !a.needsSignature && b.shown {
			a.sendPart(b, llm.Part{Kind: kind, State: raw})
		}
	case llm.Call:
		p := llm.Part{Kind: kind}
		if len(b.input) == 0 {
			p.Input = b.wholeInput()
		}
		if b.Type != "tool_use" {
			p.State = raw
		} else if caller := b.Caller; adapter.IsPresent(caller) {
			p.State = slices.Concat([]byte(`{"caller":`), caller, []byte{'}'})
		}
		if p.Input != "" || p.State != nil {
			a.sendPart(b, p)
		}
	case llm.Result:
		text, failed := resultText(b.Content)
		a.sendPart(b, llm.Part{Kind: kind, ID: b.ToolUseID, Name: strings.TrimSuffix(b.Type, "_tool_result"), Remote: true, Text: text, Failed: failed || b.Failed, State: raw})
	case llm.Opaque:
		if len(raw) > 0 {
			a.sendPart(b, llm.Part{Kind: kind, State: raw})
		}
	}
}

// wholeInput returns the arguments that a call was opened with; "" for none. Some services send
// the text of the object.
func (b *block) wholeInput() string {
	input := string(b.Input)
	if text, err := wire.Unquote(b.Input); err == nil {
		input = text
	}
	whole, ok := llm.Arguments(input)
	switch {
	case !ok:
		return input
	case string(whole) == "{}":
		return ""
	}
	return string(whole)
}

// rawBlock returns the block as it would have come in one piece: as it came, if it did.
func (b *block) rawBlock() json.RawMessage {
	if !b.gotDelta {
		return b.raw
	}
	var fields map[string]json.RawMessage
	if adapter.DecodeLenient(b.raw, &fields) != nil || fields == nil {
		return b.raw
	}
	switch b.kind() {
	case llm.Text:
		fields["text"] = b.Text.JSON()
	case llm.Thinking:
		fields["thinking"], fields["signature"] = b.Thinking.JSON(), b.Signature.JSON()
	case llm.Call:
		if input, ok := llm.Arguments(string(b.input)); ok && len(b.input) > 0 {
			fields["input"] = input
		}
	}
	if len(b.Citations) > 0 {
		fields["citations"] = append(append([]byte{'['}, bytes.Join(toBytes(b.Citations), []byte{','})...), ']')
	}
	data, err := adapter.Marshal(fields)
	if err != nil {
		return b.raw
	}
	return data
}

func toBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, raw := range list {
		out = append(out, raw)
	}
	return out
}

// nextRound begins another round, and returns the blocks of the last one.
func (a *answer) nextRound() []json.RawMessage {
	said := a.content
	a.earlierUsage, a.round = a.totalUsage(), round{}
	return said
}

// totalUsage returns what all rounds have used.
func (a *answer) totalUsage() llm.Usage { return a.earlierUsage.Then(a.usage.toLLM()) }
