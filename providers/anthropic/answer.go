package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An answer turns blocks into events. A pausing answer comes in several rounds.
type answer struct {
	round
	out            *llm.Out
	names          adapter.Names
	needsSignature bool // thinking without its signature is useless
	shape          adapter.Shape[event]

	blocks adapter.Blocks // of all rounds
	open   map[int]*block
	order  []*block // open blocks, oldest first
	calls  adapter.CallIDs
	citing
	unused   int  // number of earlier thinking parts that the provider ignored
	hasText  bool // there is text
	hasCalls bool // there are calls for parley to answer

	id, model    string
	earlierUsage llm.Usage // usage of earlier rounds
	hasUsage     bool
}

// A round is the content of one response.
type round struct {
	started     bool              // message_start came
	roundBlocks int               // number of blocks so far
	content     []json.RawMessage // completed blocks
	stopReason  string            // stop_reason
	ended       bool              // the stop reason came after the content
	usage       usage
}

// citing holds the citations of an answer.
type citing struct {
	cited adapter.Set // sources already sent
	ran   bool        // the server used a tool, so text with sources comes in many blocks
	run   *textRun    // open run; nil for none
}

// A textRun is text in several blocks, split inside sentences around the text that cites a source.
// It is one part, whose State is the list of its blocks.
type textRun struct {
	name   string            // name of its block in our stream
	blocks []json.RawMessage // as received
	cites  bool              // a block has citations
}

// A block is a content block being received.
type block struct {
	blockHead
	raw      json.RawMessage // as opened
	name     string          // its name in our stream
	gotDelta bool            // a delta came
	shown    bool            // part of it was sent
	input    []byte          // JSON of a call's arguments
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
			a.roundBlocks = 0 // the same beginning may be sent again
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

// startsAgain reports whether e starts another answer inside this one, as proxies do when they
// retry after a lost connection. The same beginning sent twice in a row does not count.
func (a *answer) startsAgain(e *event) bool {
	if e.Type != "message_start" {
		return false
	}
	return a.roundBlocks > 0 || a.started && (e.Message == nil || e.Message.ID != a.id)
}

// onEnvelope reads the fields around the blocks.
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

// openBlock opens a block. It ends a block of the same index that was never closed.
func (a *answer) openBlock(index int, raw json.RawMessage) *block {
	if b := a.open[index]; b != nil {
		if a.roundBlocks == 0 && !b.gotDelta && bytes.Equal(b.raw, raw) { // message_start contained the block
			return b
		}
		a.closeBlock(b)
	}
	b := &block{raw: raw}
	a.out.Hold(len(raw))
	if len(raw) > 0 {
		_ = adapter.DecodeLenient(raw, &b.blockHead)
	}
	a.roundBlocks++
	b.name = a.blocks.New("b")
	if a.open == nil {
		a.open = map[int]*block{}
	}
	a.open[index] = b
	a.order = append(a.order, b)
	a.joinRun(b)
	a.showStart(b)
	return b
}

// joinRun lets a block of text continue the previous one if the server cites its search results.
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

// endRun sends the state of the open text run.
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

// showStart sends the content that a block is opened with.
func (a *answer) showStart(b *block) {
	switch kind := b.kind(); kind {
	case llm.Text:
		a.sendPart(b, llm.Part{Kind: kind, Text: b.Text.Text()})
	case llm.Thinking:
		a.sendPart(b, llm.Part{Kind: kind, Text: b.Thinking.Text()})
	case llm.Call:
		local, repeated := b.Type == "tool_use", false
		if local || b.ID == "" || !a.calls[b.ID] { // the server may reuse the ids of its own calls
			b.ID, repeated = a.calls.Claim(b.ID, idPrefix)
		}
		a.hasCalls = a.hasCalls || local
		a.sendPart(b, llm.Part{Kind: kind, ID: b.ID, Name: a.names.Ours(b.Name), Remote: !local, Repeated: repeated})
	}
}

// kind returns the llm.Kind of a block. Tools run by the server are recognized by block types such
// as server_tool_use and web_search_tool_result.
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

// sendPart sends a part of a block, unless it is empty.
func (a *answer) sendPart(b *block, p llm.Part) {
	if (p.Kind == llm.Text || p.Kind == llm.Thinking) && p.Text == "" && p.State == nil {
		return
	}
	b.shown = true
	a.hasText = a.hasText || p.Kind == llm.Text
	a.out.Send(llm.Delta{Block: b.name, Part: p})
}

// onDelta adds to a block. Some servers do not open the block, or open one of another kind.
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

// hold counts n bytes of content that are shown only when their block ends.
func (a *answer) hold(n int) {
	if n > 0 {
		a.out.Beat()
		a.out.Hold(n)
	}
}

// closeBlock closes a block. Data that must go back unchanged becomes its State.
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

// wholeInput returns the arguments that a call was opened with; "" for none. Some services send the
// object as a string.
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

// rawBlock returns the block in complete form; unchanged if it came without deltas.
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

// nextRound starts another round, and returns the blocks of the last one.
func (a *answer) nextRound() []json.RawMessage {
	said := a.content
	a.earlierUsage, a.round = a.totalUsage(), round{}
	return said
}

// totalUsage returns the usage of all rounds.
func (a *answer) totalUsage() llm.Usage { return a.earlierUsage.Then(a.usage.toLLM()) }
