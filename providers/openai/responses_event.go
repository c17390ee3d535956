package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An event is what comes in one event of a stream. Fields and types that parley
// shows nothing of are not read.
type event struct {
	Type        string          `json:"type"`
	OutputIndex *int            `json:"output_index"`
	Content     int             `json:"content_index"`
	Summary     int             `json:"summary_index"`
	Delta       arguments       `json:"delta"`
	Item        json.RawMessage `json:"item"`
	Response    json.RawMessage `json:"response"`
}

// A responsesAnswer turns the events of one answer into ours. Items are identified by their index,
// for some proxies change their ids between events.
type responsesAnswer struct {
	answerState
	names adapter.Names

	shape      adapter.Shape[event]
	items      map[int]*openItem
	order      []*openItem
	owners     map[string]*openItem // by the ids of calls
	hasMessage bool                 // a message has text
	hasText    bool                 // there was text that is no refusal
	hasRefusal bool                 // there was a refusal
}

// openItem is an item that is arriving.
type openItem struct {
	item
	block         string // "" until there is something to show
	gotDelta      bool   // some of its text or arguments came
	piece         int    // which of its pieces came last
	thinkingEvent string // type of event from which its thinking is taken
	id            string // of the call, as parley knows it
	done          bool
	sealed        bool // its state is complete
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
		if o.blocks > 0 && e.Type == "response.created" { // another answer, of which nothing belongs to this one
			return true, wire.ErrInterrupted
		}
		adapter.DecodeLenient(e.Response, &o.label)
	case "response.output_item.added":
		o.addItem(o.indexOf(e), e.Item)
	case "response.output_item.done":
		o.finishItem(o.indexOf(e), e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		o.addText(e)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		o.addThinking(e)
	case "response.function_call_arguments.delta":
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

// decodeEvent reads an event into e, whatever e held.
func decodeEvent(data []byte, e *event) error {
	*e = event{}
	return adapter.DecodeLenient(data, e)
}

// eventDeltas returns the field of e in which an answer arrives. An event that its name tells
// apart has none.
func eventDeltas(e *event) []json.Unmarshaler {
	if e.Type == "" {
		return nil
	}
	return []json.Unmarshaler{&e.Delta}
}

// indexOf returns where an event belongs: servers that do not say mean the last item.
func (o *responsesAnswer) indexOf(e *event) int {
	switch {
	case e.OutputIndex != nil:
		return *e.OutputIndex
	case e.Type == "response.output_item.added":
		return len(o.order)
	}
	return max(0, len(o.order)-1)
}

// itemAt returns the item an event is about, made up where none was announced.
func (o *responsesAnswer) itemAt(place int, kind string) *openItem {
	if it := o.items[place]; it != nil && it.Type == kind {
		return it
	}
	it := &openItem{item: item{Type: kind}}
	if o.items == nil {
		o.items = map[int]*openItem{}
	}
	o.items[place] = it
	o.order = append(o.order, it)
	return it
}

// addItem takes note of an item to come.
func (o *responsesAnswer) addItem(place int, raw json.RawMessage) {
	var head item
	if adapter.DecodeLenient(raw, &head) != nil || head.Type == "" {
		return
	}
	o.out.Hold(len(raw))
	if old := o.items[place]; old != nil && old.done {
		delete(o.items, place) // a server that numbers everything alike
	}
	it := o.itemAt(place, head.Type)
	it.item = head
	switch {
	case head.Type == "function_call":
		o.openCall(it)
	case head.Type == "image_generation_call": // shown when it is there
	case head.isRemote():
		p := head.remoteCall()
		p.Input = "" // which comes whole at the end
		o.send(it, "c", p)
	}
}

// openCall opens a call, or tells of it what was not known.
func (o *responsesAnswer) openCall(it *openItem) {
	p := llm.Part{Kind: llm.Call, Name: o.names.Ours(it.Name)}
	switch owner := o.owners[it.CallID]; {
	case it.CallID == "":
	case owner == nil, owner == it:
		if o.owners == nil {
			o.owners = map[string]*openItem{}
		}
		p.ID, it.id, o.owners[it.CallID] = it.CallID, it.CallID, it
	case it.id == "":
		it.id, _ = o.ids.Claim("", idPrefix)
		p.ID, p.Repeated = it.id, true
	}
	o.send(it, "c", p)
}

// send adds to the block of an item.
func (o *responsesAnswer) send(it *openItem, prefix string, p llm.Part) {
	if it.block == "" {
		it.block = o.newBlock(prefix)
	}
	o.out.Send(llm.Delta{Block: it.block, Part: p})
}

func (o *responsesAnswer) addText(e *event) {
	if e.Delta == "" {
		return
	}
	refusal := e.Type == "response.refusal.delta"
	o.hasRefusal, o.hasText = o.hasRefusal || refusal, o.hasText || !refusal
	o.addPiece(o.itemAt(o.indexOf(e), "message"), llm.Text, string(e.Delta), e.Content)
}

// addThinking takes thinking from a summary or from the reasoning itself, whichever
// comes first: who sends both sends the same twice.
func (o *responsesAnswer) addThinking(e *event) {
	it := o.itemAt(o.indexOf(e), "reasoning")
	if it.thinkingEvent == "" {
		it.thinkingEvent = e.Type
	}
	if it.thinkingEvent == e.Type {
		o.addPiece(it, llm.Thinking, string(e.Delta), e.Content+e.Summary)
	}
}

// addPiece adds text to an item; another piece of thinking begins a paragraph.
func (o *responsesAnswer) addPiece(it *openItem, kind llm.Kind, text string, piece int) {
	if text == "" {
		return
	}
	p := llm.Part{Kind: kind, Text: text}
	switch first := !it.gotDelta; {
	case kind == llm.Text:
		p.Begins = first && o.hasMessage
		o.hasMessage = true
	case !first && piece != it.piece:
		p.Text = paragraphBreak + text
	}
	it.gotDelta, it.piece = true, piece
	o.send(it, "b", p)
}

func (o *responsesAnswer) addArguments(e *event) {
	if e.Delta == "" {
		return
	}
	it := o.itemAt(o.indexOf(e), "function_call")
	it.gotDelta = true
	o.send(it, "c", llm.Part{Kind: llm.Call, Input: string(e.Delta)})
}

// finishItem takes an item as a whole.
func (o *responsesAnswer) finishItem(place int, raw json.RawMessage) {
	var whole item
	if adapter.DecodeLenient(raw, &whole) != nil || whole.Type == "" {
		return
	}
	it := o.itemAt(place, whole.Type)
	if it.done && (it.ID != whole.ID || it.CallID != whole.CallID) {
		delete(o.items, place)
		it = o.itemAt(place, whole.Type)
	}
	o.completeItem(it, whole, raw)
}

// completeItem sends what of an item did not come piece by piece, and its state.
func (o *responsesAnswer) completeItem(it *openItem, whole item, raw json.RawMessage) {
	first := !it.done
	it.item, it.done = whole, true
	it.sealed = whole.Type != "reasoning" || adapter.IsPresent(whole.Encrypted)
	p := llm.Part{Kind: llm.Opaque, State: bytes.Clone(raw)}
	switch {
	case whole.Type == "message":
		o.sendWhole(it)
		o.sendSources(whole.Content)
		if p.Kind = llm.Text; !it.gotDelta {
			return // empty
		}
	case whole.Type == "reasoning":
		if !it.gotDelta {
			o.addPiece(it, llm.Thinking, whole.thinking(), 0)
		}
		if it.gotDelta {
			p.Kind = llm.Thinking
		}
	case whole.Type == "function_call":
		o.openCall(it)
		if p.Kind = llm.Call; !it.gotDelta && first {
			p.Input = string(whole.Arguments)
		}
	case whole.image() != nil:
		p.Kind, p.Data, p.MIME = llm.Media, whole.image(), "image/png"
		if whole.Format != "" {
			p.MIME = "image/" + whole.Format
		}
	case whole.isRemote():
		state := p.State
		p = whole.remoteCall()
		p.State = state
	}
	o.send(it, "b", p)
	if text := whole.remoteResults(); whole.isRemote() && first && text != "" {
		o.out.Send(llm.Delta{Block: o.newBlock("r"), Part: llm.Part{Kind: llm.Result, ID: p.ID, Name: p.Name, Text: text, Remote: true}})
	}
}

// sendWhole says a message that came in no deltas.
func (o *responsesAnswer) sendWhole(it *openItem) {
	if it.gotDelta {
		return
	}
	for i, piece := range it.Content {
		o.hasRefusal, o.hasText = o.hasRefusal || piece.Refusal != "", o.hasText || piece.Text != ""
		o.addPiece(it, llm.Text, string(piece.Text+piece.Refusal), i)
	}
}

// sendSources names the pages a message refers to.
func (o *responsesAnswer) sendSources(content []entry) {
	for _, piece := range content {
		for _, c := range piece.Cites {
			o.cite(c)
		}
	}
}

// OnEnd returns wire.ErrInterrupted: it is called only for streams without their last event.
func (o *responsesAnswer) OnEnd(bool) error { return wire.ErrInterrupted }
