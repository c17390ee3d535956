package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An event is one event of a stream. It has no fields for data that parley does not show.
type event struct {
	Type        string          `json:"type"`
	ItemID      string          `json:"item_id"`
	OutputIndex *int            `json:"output_index"`
	Content     int             `json:"content_index"`
	Summary     int             `json:"summary_index"`
	Delta       arguments       `json:"delta"`
	Text        wire.Text       `json:"text"` // whole text of a piece
	Refusal     wire.Text       `json:"refusal"`
	Arguments   arguments       `json:"arguments"` // all arguments of a call
	Item        json.RawMessage `json:"item"`
	Response    json.RawMessage `json:"response"`
}

// A responsesAnswer turns the events of one answer into llm events. Items are identified by id, or
// else by index; if neither matches, by order. Some servers send no index and interleave items, and
// some proxies change ids between events.
type responsesAnswer struct {
	answerState
	names adapter.Names

	shape      adapter.Shape[event]
	byID       map[string]*openItem // ids of items and calls
	items      map[int]*openItem    // by index
	order      []*openItem
	owners     map[string]*openItem // by call id
	hasMessage bool                 // a message with text came
	hasText    bool                 // text other than a refusal came
	hasRefusal bool                 // a refusal came
}

// openItem is an item being received.
type openItem struct {
	item
	block         string // "" until there is content to show
	announced     bool
	named         bool            // an event found it by id
	gotDelta      bool            // a delta of its text or arguments came
	sent          strings.Builder // its text or arguments sent so far
	piece, start  int             // index of the last piece, and its start in sent
	thinkingEvent string          // type of the events that its thinking is read from
	callID        string          // id used by parley
	done          bool
	sealed        bool // its state is complete
	claimed       bool // the final list contains it
}

func (o *responsesAnswer) OnEvent(name string, data []byte) (last bool, err error) {
	e, err := o.shape.Decode(data, decodeEvent, eventDeltas)
	if err != nil {
		return false, wire.DecodeError(data, err)
	}
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "response.created", "response.in_progress":
		if o.blocks > 0 && e.Type == "response.created" { // another answer, to which no item so far belongs
			return true, wire.ErrInterrupted
		}
		adapter.DecodeLenient(e.Response, &o.label)
	case "response.output_item.added":
		o.addItem(e)
	case "response.output_item.done":
		o.finishItem(e)
	case "response.output_text.delta", "response.refusal.delta":
		o.addText(e)
	case "response.output_text.done", "response.refusal.done":
		o.endText(e)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta",
		"response.reasoning_summary_text.done", "response.reasoning_text.done":
		o.addThinking(e)
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		o.addArguments(e)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return true, o.finish(strings.TrimPrefix(e.Type, "response."), e.Response, data)
	case "error":
		return true, o.eventError(data)
	case "":
		if wire.EventError(data) != nil {
			return true, o.eventError(data)
		}
	}
	return false, nil
}

// decodeEvent decodes an event into e, replacing its content.
func decodeEvent(data []byte, e *event) error {
	*e = event{}
	return adapter.DecodeLenient(data, e)
}

// eventDeltas returns the delta field of e. An event whose type is in its SSE name has none.
func eventDeltas(e *event) []json.Unmarshaler {
	if e.Type == "" {
		return nil
	}
	return []json.Unmarshaler{&e.Delta}
}

// itemOf returns the item that e is about, adding one if none was announced. It returns nil if e
// ends a piece of a completed item.
func (o *responsesAnswer) itemOf(e *event, kind string) *openItem {
	ends := strings.HasSuffix(e.Type, ".done")
	it := o.find(kind, e.OutputIndex, func(it *openItem) bool { return true }, e.ItemID)
	if it == nil && e.OutputIndex == nil {
		for _, last := range o.order {
			if last.Type == kind && !(e.ItemID != "" && last.named) {
				it = last
			}
		}
		if it != nil && it.done && !ends {
			it = nil
		}
	}
	switch {
	case it == nil:
		it = o.newItem(item{Type: kind}, e.OutputIndex, e.ItemID)
		it.named = e.ItemID != "" && e.OutputIndex == nil
	case it.done && ends:
		return nil
	}
	return it
}

// find returns the item of a kind with one of ids, or else the one at index if fits accepts it; nil
// if there is none.
func (o *responsesAnswer) find(kind string, index *int, fits func(*openItem) bool, ids ...string) *openItem {
	for _, id := range ids {
		if it := o.byID[id]; it != nil && it.Type == kind && fits(it) {
			it.named = true
			return it
		}
	}
	if index != nil {
		if it := o.items[*index]; it != nil && it.Type == kind && fits(it) {
			return it
		}
	}
	return nil
}

// newItem adds an item.
func (o *responsesAnswer) newItem(head item, index *int, id string) *openItem {
	it := &openItem{item: head}
	o.order = append(o.order, it)
	if index != nil {
		if o.items == nil {
			o.items = map[int]*openItem{}
		}
		o.items[*index] = it
	}
	o.name(it, head.ID, head.CallID, id)
	return it
}

// name assigns ids to an item, unless another item has them.
func (o *responsesAnswer) name(it *openItem, ids ...string) {
	if o.byID == nil {
		o.byID = map[string]*openItem{}
	}
	for _, id := range ids {
		if id != "" && o.byID[id] == nil {
			o.byID[id] = it
		}
	}
}

// addItem adds an announced item.
func (o *responsesAnswer) addItem(e *event) {
	var head item
	if adapter.DecodeLenient(e.Item, &head) != nil || head.Type == "" {
		return
	}
	o.out.Hold(len(e.Item))
	it := o.find(head.Type, nil, func(it *openItem) bool { return !it.done && it.mayBe(&head) }, head.ID, head.CallID, e.ItemID)
	if it == nil { // its deltas may have come first
		made := func(it *openItem) bool { return !it.done && !it.announced }
		it = o.find(head.Type, e.OutputIndex, made)
		if n := len(o.order); it == nil && e.OutputIndex == nil && n > 0 && o.order[n-1].Type == head.Type && made(o.order[n-1]) {
			it = o.order[n-1]
		}
	}
	if it == nil {
		it = o.newItem(head, e.OutputIndex, e.ItemID)
	}
	it.item, it.announced = head, true
	o.name(it, head.ID, head.CallID)
	switch {
	case head.Type == "function_call":
		o.openCall(it)
	case head.Type == "image_generation_call": // shown once complete
	case head.isRemote():
		p := o.remoteCall(it, &head)
		p.Input = "" // the whole input comes at the end
		o.send(it, "c", p)
	}
}

// mayBe reports whether whole can be the same item as it: their call ids do not differ.
func (it *openItem) mayBe(whole *item) bool {
	return it.CallID == "" || whole.CallID == "" || it.CallID == whole.CallID
}

// openCall announces a call, or the fields that were missing before.
func (o *responsesAnswer) openCall(it *openItem) {
	p := llm.Part{Kind: llm.Call, Name: o.names.Ours(it.Name)}
	p.ID, p.Repeated = o.claim(it, it.CallID)
	o.send(it, "c", p)
}

// remoteCall returns the part for the use of a remote tool, with a unique id.
func (o *responsesAnswer) remoteCall(it *openItem, whole *item) llm.Part {
	p := whole.remoteCall()
	p.ID, p.Repeated = o.claim(it, p.ID)
	return p
}

// claim returns parley's id for a call: id or, if another call of the answer has it, a new one; then repeated is
// true.
func (o *responsesAnswer) claim(it *openItem, id string) (own string, repeated bool) {
	switch owner := o.owners[id]; {
	case id == "":
	case owner == nil, owner == it:
		if o.owners == nil {
			o.owners = map[string]*openItem{}
		}
		it.callID, o.owners[id] = id, it
	case it.callID == "":
		it.callID, _ = o.ids.Claim("", idPrefix)
		return it.callID, true
	}
	return it.callID, false
}

// send sends p in the block of an item, starting the block if necessary.
func (o *responsesAnswer) send(it *openItem, prefix string, p llm.Part) {
	if it.block == "" {
		it.block = o.blocks.New(prefix)
	}
	o.out.Send(llm.Delta{Block: it.block, Part: p})
}

func (o *responsesAnswer) addText(e *event) {
	if e.Delta == "" {
		return
	}
	refusal := e.Type == "response.refusal.delta"
	o.hasRefusal, o.hasText = o.hasRefusal || refusal, o.hasText || !refusal
	o.addPiece(o.itemOf(e, "message"), llm.Text, string(e.Delta), e.Content)
}

// endText sends the text of a message piece that the deltas lacked.
func (o *responsesAnswer) endText(e *event) {
	if it := o.itemOf(e, "message"); it != nil {
		o.hasRefusal, o.hasText = o.hasRefusal || e.Refusal != "", o.hasText || e.Text != ""
		o.endPiece(it, llm.Text, string(e.Text+e.Refusal), e.Content)
	}
}

// addThinking adds thinking from a summary or from the reasoning itself, depending on which comes
// first: servers that send both send the same text twice.
func (o *responsesAnswer) addThinking(e *event) {
	kind, ends := strings.CutSuffix(e.Type, ".done")
	it := o.itemOf(e, "reasoning")
	if it == nil {
		return
	}
	if kind = strings.TrimSuffix(kind, ".delta"); it.thinkingEvent == "" {
		it.thinkingEvent = kind
	}
	switch piece := e.Content + e.Summary; {
	case it.thinkingEvent != kind:
	case ends:
		o.endPiece(it, llm.Thinking, string(e.Text), piece)
	default:
		o.addPiece(it, llm.Thinking, string(e.Delta), piece)
	}
}

// addPiece adds text to an item; each further piece of thinking starts a paragraph.
func (o *responsesAnswer) addPiece(it *openItem, kind llm.Kind, text string, piece int) {
	if text == "" {
		return
	}
	p := llm.Part{Kind: kind, Text: text}
	first := !it.gotDelta
	switch {
	case kind == llm.Text:
		p.Begins = first && o.hasMessage
		o.hasMessage = true
	case !first && piece != it.piece:
		p.Text = paragraphBreak + text
	}
	it.sent.WriteString(p.Text)
	if first || piece != it.piece {
		it.piece, it.start = piece, it.sent.Len()-len(text)
	}
	it.gotDelta = true
	o.send(it, "b", p)
}

// endPiece sends the part of a piece's whole text that was not sent yet.
func (o *responsesAnswer) endPiece(it *openItem, kind llm.Kind, text string, piece int) {
	said := ""
	switch {
	case it.gotDelta && piece < it.piece: // earlier text cannot be changed
		return
	case it.gotDelta && piece == it.piece:
		said = it.sent.String()[it.start:]
	}
	if rest, ok := strings.CutPrefix(text, said); ok {
		o.addPiece(it, kind, rest, piece)
	}
}

// addArguments adds arguments of a call, or those that the deltas lacked.
func (o *responsesAnswer) addArguments(e *event) {
	if e.Delta == "" && e.Arguments == "" {
		return
	}
	it := o.itemOf(e, "function_call")
	if it == nil {
		return
	}
	text := string(e.Delta)
	if e.Arguments != "" {
		text, _ = strings.CutPrefix(string(e.Arguments), it.sent.String())
		if text == string(e.Arguments) && it.gotDelta { // the item itself will decide which are right
			return
		}
	}
	o.sendArguments(it, text)
}

func (o *responsesAnswer) sendArguments(it *openItem, text string) {
	it.gotDelta = true
	it.sent.WriteString(text)
	o.send(it, "c", llm.Part{Kind: llm.Call, Input: text})
}

// finishItem completes an item from its whole form.
func (o *responsesAnswer) finishItem(e *event) {
	var whole item
	if adapter.DecodeLenient(e.Item, &whole) != nil || whole.Type == "" {
		return
	}
	fits := func(it *openItem) bool {
		again := it.ID == whole.ID && it.CallID == whole.CallID && it.Name == whole.Name && it.Arguments == whole.Arguments &&
			(e.OutputIndex == nil || o.items[*e.OutputIndex] == it)
		return it.mayBe(&whole) && (!it.done || again)
	}
	it := o.find(whole.Type, e.OutputIndex, fits, whole.ID, whole.CallID, e.ItemID)
	if it == nil && e.OutputIndex == nil {
		named := whole.ID != "" || whole.CallID != ""
		if i := slices.IndexFunc(o.order, func(it *openItem) bool {
			return it.Type == whole.Type && !it.done && fits(it) && !(named && it.named)
		}); i >= 0 {
			it = o.order[i]
		}
	}
	if it == nil {
		it = o.newItem(whole, e.OutputIndex, e.ItemID)
	}
	o.completeItem(it, whole, e.Item)
}

// completeItem sends the parts of an item that did not come in deltas, and its state.
func (o *responsesAnswer) completeItem(it *openItem, whole item, raw json.RawMessage) {
	first := !it.done
	it.item, it.done = whole, true
	it.sealed = whole.Type != "reasoning" || adapter.IsPresent(whole.Encrypted)
	o.name(it, whole.ID, whole.CallID)
	p := llm.Part{Kind: llm.Opaque, State: bytes.Clone(raw)}
	switch {
	case whole.Type == "message":
		for _, piece := range whole.Content {
			o.hasRefusal, o.hasText = o.hasRefusal || piece.Refusal != "", o.hasText || piece.Text != ""
		}
		o.sendRest(it, llm.Text, whole.text())
		o.sendSources(whole.Content)
		if p.Kind = llm.Text; !it.gotDelta {
			return // the block is empty
		}
	case whole.Type == "reasoning":
		o.sendRest(it, llm.Thinking, whole.thinking())
		if it.gotDelta {
			p.Kind = llm.Thinking
		}
	case whole.Type == "function_call":
		o.openCall(it)
		p.Kind = llm.Call
		if first {
			o.settleArguments(it)
		}
	case whole.image() != nil:
		p.Kind, p.Data, p.MIME = llm.Media, whole.image(), "image/png"
		if whole.Format != "" {
			p.MIME = "image/" + whole.Format
		}
	case whole.isRemote():
		state := p.State
		p = o.remoteCall(it, &whole)
		p.State = state
	}
	o.send(it, "b", p)
	if text := whole.remoteResults(); whole.isRemote() && first && text != "" {
		o.out.Send(llm.Delta{Block: o.blocks.New("r"), Part: llm.Part{Kind: llm.Result, ID: p.ID, Name: p.Name, Text: text, Remote: true}})
	}
}

// sendRest sends the text of an item that the deltas lacked. If the deltas differ, they stay: they
// were shown.
func (o *responsesAnswer) sendRest(it *openItem, kind llm.Kind, whole string) {
	if rest, ok := strings.CutPrefix(whole, it.sent.String()); ok {
		o.addPiece(it, kind, rest, it.piece)
	}
}

// settleArguments makes a call run with the arguments of its item. If the deltas differ, it
// withdraws the call and sends it again.
func (o *responsesAnswer) settleArguments(it *openItem) {
	whole, sent := string(it.Arguments), it.sent.String()
	rest, ok := strings.CutPrefix(whole, sent)
	if a, valid := llm.Arguments(whole); !ok && valid {
		b, _ := llm.Arguments(sent)
		ok, rest = bytes.Equal(a, b), ""
	}
	switch {
	case whole == "":
		return
	case !ok:
		o.send(it, "", llm.Part{Kind: llm.Opaque})
		it.block, rest = "", whole
		it.sent.Reset()
		o.openCall(it)
	}
	o.sendArguments(it, rest)
}

// sendSources sends the pages that a message cites.
func (o *responsesAnswer) sendSources(content []entry) {
	for _, piece := range content {
		for _, c := range piece.Cites {
			o.cite(c)
		}
	}
}

// OnEnd returns wire.ErrInterrupted: it is called only for streams without their last event.
func (o *responsesAnswer) OnEnd(bool) error { return wire.ErrInterrupted }
