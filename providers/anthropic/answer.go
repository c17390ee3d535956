package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// An answer turns blocks into events. One that pauses comes in several rounds.
type answer struct {
	out    *llm.Out
	names  map[string]string // tool names on the wire to ours
	signed bool              // thinking is worth nothing without its signature

	opened  int  // blocks so far, of all rounds
	started bool // this round said that it begins
	blocks  int  // of this round
	open    map[int]*block
	order   []*block          // those still open, oldest first
	content []json.RawMessage // blocks that are complete, of this round
	calls   map[string]bool   // ids of the calls
	cited   map[string]bool   // sources that were sent
	said    bool              // there is text
	asked   bool              // there are calls for us to answer

	id, model string
	end       string    // stop_reason
	usage     usage     // of this round
	before    llm.Usage // of the rounds before
	counted   bool
}

// A block is arriving.
type block struct {
	head
	raw   json.RawMessage // as it was opened
	name  string          // of the block in our stream
	grew  bool            // a delta came
	shown bool            // something of it was sent
	input []byte          // JSON text of a call's arguments
}

// take reads one event.
func (a *answer) take(e *event) {
	switch e.Type {
	case "message_start":
		a.started = true
		if e.Message != nil {
			a.envelope(e.Message)
		}
	case "content_block_start":
		a.start(e.Index, e.Block)
	case "content_block_delta":
		a.grow(e.Index, &e.Delta)
	case "content_block_stop":
		if b := a.open[e.Index]; b != nil {
			a.stop(b)
		}
	case "message_delta":
		a.stopped(e.Delta.Reason)
		a.count(e.Usage)
	}
}

// another reports whether e begins another answer in the middle of this one, as
// proxies do that ask again when their connection breaks. The same beginning sent
// twice, with nothing between, is none.
func (a *answer) another(e *event) bool {
	if e.Type != "message_start" {
		return false
	}
	return a.blocks > 0 || a.started && (e.Message == nil || e.Message.ID != a.id)
}

// envelope reads what stands around the blocks.
func (a *answer) envelope(m *envelope) {
	if m.ID != "" {
		a.id = m.ID
	}
	if m.Model != "" {
		a.model = m.Model
	}
	dropped := 0
	for _, c := range m.Changed {
		if c.Type == "thinking_dropped" {
			dropped++
		}
	}
	if dropped > 0 {
		a.out.Send(llm.Notice{Text: "earlier thinking left out by the server, for what stands before it has changed (" + strconv.Itoa(dropped) + ")"})
	}
	a.stopped(m.Reason)
	a.count(m.Usage)
}

func (a *answer) stopped(reason string) {
	if reason != "" {
		a.end = reason
	}
}

func (a *answer) count(u *usage) {
	if u != nil {
		a.usage.add(*u)
		a.counted = true
	}
}

// start opens a block. One that was never closed under this index ends here.
func (a *answer) start(index int, raw json.RawMessage) *block {
	if b := a.open[index]; b != nil {
		a.stop(b)
	}
	b := &block{raw: raw}
	a.out.Hold(len(raw))
	if len(raw) > 0 {
		decode(raw, &b.head)
	}
	a.opened++
	a.blocks++
	b.name = "b" + strconv.Itoa(a.opened)
	if a.open == nil {
		a.open = map[int]*block{}
	}
	a.open[index] = b
	a.order = append(a.order, b)
	a.begin(b)
	return b
}

// begin shows what a block says by being opened.
func (a *answer) begin(b *block) {
	switch kind := b.kind(); kind {
	case llm.Text:
		a.show(b, llm.Part{Kind: kind, Text: b.Text.Text()})
	case llm.Thinking:
		a.show(b, llm.Part{Kind: kind, Text: b.Thinking.Text()})
	case llm.Call:
		repeated := a.calls[b.ID] && b.Type == "tool_use"
		if b.ID == "" || repeated {
			b.ID = mint()
		}
		if a.calls == nil {
			a.calls = map[string]bool{}
		}
		a.calls[b.ID] = true
		a.asked = a.asked || b.Type == "tool_use"
		name := b.Name
		if ours, ok := a.names[name]; ok {
			name = ours
		}
		a.show(b, llm.Part{Kind: kind, ID: b.ID, Name: name, Remote: b.Type != "tool_use", Repeated: repeated})
	}
}

// kind is what a block is to us. Tools that the server runs say so by their
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

// show sends a part of a block, unless it says nothing.
func (a *answer) show(b *block, p llm.Part) {
	if (p.Kind == llm.Text || p.Kind == llm.Thinking) && p.Text == "" && p.State == nil {
		return
	}
	b.shown = true
	a.said = a.said || p.Kind == llm.Text
	a.out.Send(llm.Delta{Block: b.name, Part: p})
}

// grow adds to a block. Some servers do not open theirs.
func (a *answer) grow(index int, d *delta) {
	b := a.open[index]
	if b == nil {
		kind, ok := strings.CutSuffix(d.Type, "_delta")
		if !ok || kind != "text" && kind != "thinking" {
			return
		}
		b = a.start(index, json.RawMessage(`{"type":"`+kind+`"}`))
	}
	b.grew = true
	switch d.Type {
	case "text_delta":
		b.Text = append(b.Text, d.Text...)
		a.show(b, llm.Part{Kind: llm.Text, Text: d.Text.Text()})
	case "thinking_delta":
		b.Thinking = append(b.Thinking, d.Thinking...)
		a.show(b, llm.Part{Kind: llm.Thinking, Text: d.Thinking.Text()})
	case "signature_delta":
		b.Signature = append(b.Signature, d.Signature...)
		a.held(len(d.Signature))
	case "input_json_delta":
		text := d.Input.Text()
		b.input = append(b.input, text...)
		if text != "" && b.kind() == llm.Call {
			a.show(b, llm.Part{Kind: llm.Call, Input: text})
		} else {
			a.held(len(text))
		}
	case "citations_delta":
		b.Citations = append(b.Citations, d.Citation)
		a.held(len(d.Citation))
		a.cite(d.Citation)
	}
}

// held counts n bytes of content that show only when their block ends.
func (a *answer) held(n int) {
	if n > 0 {
		a.out.Beat()
		a.out.Hold(n)
	}
}

// stop closes a block: what has to go back as it is becomes its State.
func (a *answer) stop(b *block) {
	maps.DeleteFunc(a.open, func(_ int, o *block) bool { return o == b })
	a.order = slices.DeleteFunc(a.order, func(o *block) bool { return o == b })
	if !b.grew {
		for _, c := range b.Citations {
			a.cite(c)
		}
	}
	raw := b.whole()
	if b.kind() != llm.Text || len(b.Text) > 0 {
		a.content = append(a.content, raw)
	}
	switch kind := b.kind(); kind {
	case llm.Text:
		if len(b.Citations) > 0 && len(b.Text) > 0 {
			a.show(b, llm.Part{Kind: kind, State: raw})
		}
	case llm.Thinking:
		if len(b.Signature) > 0 || !a.signed && b.shown {
			a.show(b, llm.Part{Kind: kind, State: raw})
		}
	case llm.Call:
		p := llm.Part{Kind: kind}
		if input, ok := llm.Arguments(string(b.Input)); ok && len(b.input) == 0 && len(input) > len("{}") {
			p.Input = string(input)
		}
		if b.Type != "tool_use" {
			p.State = raw
		}
		if p.Input != "" || p.State != nil {
			a.show(b, p)
		}
	case llm.Result:
		text, failed := told(b.Content)
		a.show(b, llm.Part{Kind: kind, ID: b.For, Remote: true, Text: text, Failed: failed || b.Failed, State: raw})
	case llm.Opaque:
		if len(raw) > 0 {
			a.show(b, llm.Part{Kind: kind, State: raw})
		}
	}
}

// whole is the block as it would have come in one piece: as it came, if it did.
func (b *block) whole() json.RawMessage {
	if !b.grew {
		return b.raw
	}
	var fields map[string]json.RawMessage
	if decode(b.raw, &fields) != nil || fields == nil {
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
		fields["citations"] = append(append([]byte{'['}, bytes.Join(plain(b.Citations), []byte{','})...), ']')
	}
	data, err := marshal(fields)
	if err != nil {
		return b.raw
	}
	return data
}

func plain(list []json.RawMessage) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, raw := range list {
		out = append(out, raw)
	}
	return out
}

// next begins another round, and returns the blocks of the last one.
func (a *answer) next() []json.RawMessage {
	said := a.content
	a.before, a.usage = a.total(), usage{}
	a.content, a.end = nil, ""
	a.started, a.blocks = false, 0
	return said
}

// total is what all rounds have used.
func (a *answer) total() llm.Usage { return a.before.Add(a.usage.normal()) }
