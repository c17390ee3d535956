package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// An event is what comes in one event of a stream. Fields and types that parley
// shows nothing of are not read.
type event struct {
	Type     string          `json:"type"`
	At       *int            `json:"output_index"`
	Content  int             `json:"content_index"`
	Summary  int             `json:"summary_index"`
	Delta    arguments       `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response json.RawMessage `json:"response"`
}

// An output turns the events of one answer into ours. Items are told apart by
// their place, for some proxies change their ids between events.
type output struct {
	tally
	names map[string]string // tool names on the wire to ours

	reused event // the last one: its memory is used again
	items  map[int]*opened
	order  []*opened
	ids    map[string]*opened // of calls
	cited  map[string]bool    // URLs
	said   bool               // there was text that is no refusal
	denied bool               // there was a refusal
}

// opened is an item that is arriving.
type opened struct {
	item
	block  string // "" until there is something to show
	came   bool   // some of its text or arguments came
	piece  int    // which of its pieces came last
	source string // type of event from which its thinking is taken
	id     string // of the call, as parley knows it
	done   bool
	sealed bool // its state is complete
}

func (o *output) event(name string, data []byte) (last bool, err error) {
	e := &o.reused
	*e = event{}
	if err := lenient(data, e); err != nil {
		return false, wire.DecodeError(data, err)
	}
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "response.created", "response.in_progress":
		if o.opened > 0 && e.Type == "response.created" { // another answer, of which nothing belongs to this one
			return true, wire.ErrInterrupted
		}
		lenient(e.Response, &o.label)
	case "response.output_item.added":
		o.added(o.place(e), e.Item)
	case "response.output_item.done":
		o.done(o.place(e), e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		o.text(e)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		o.think(e)
	case "response.function_call_arguments.delta":
		o.arguments(e)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return true, o.final(strings.TrimPrefix(e.Type, "response."), e.Response, data)
	case "error":
		return true, o.fails(data)
	case "":
		if wire.EventError(data) != nil {
			return true, o.fails(data)
		}
	}
	return false, nil
}

// place is where an event belongs: servers that do not say mean the last item.
func (o *output) place(e *event) int {
	switch {
	case e.At != nil:
		return *e.At
	case e.Type == "response.output_item.added":
		return len(o.order)
	}
	return max(0, len(o.order)-1)
}

// at is the item an event is about, made up where none was announced.
func (o *output) at(place int, kind string) *opened {
	if it := o.items[place]; it != nil && it.Type == kind {
		return it
	}
	it := &opened{item: item{Type: kind}}
	if o.items == nil {
		o.items = map[int]*opened{}
	}
	o.items[place] = it
	o.order = append(o.order, it)
	return it
}

// added takes note of an item to come.
func (o *output) added(place int, raw json.RawMessage) {
	var head item
	if lenient(raw, &head) != nil || head.Type == "" {
		return
	}
	o.out.Hold(len(raw))
	if old := o.items[place]; old != nil && old.done {
		delete(o.items, place) // a server that numbers everything alike
	}
	it := o.at(place, head.Type)
	it.item = head
	switch {
	case head.Type == "function_call":
		o.call(it)
	case head.Type == "image_generation_call": // shown when it is there
	case head.remote():
		o.send(it, "c", head.call())
	}
}

// call opens a call, or tells of it what was not known.
func (o *output) call(it *opened) {
	p := llm.Part{Kind: llm.Call, Name: it.Name}
	if ours, ok := o.names[p.Name]; ok {
		p.Name = ours
	}
	switch owner := o.ids[it.CallID]; {
	case it.CallID == "":
	case owner == nil, owner == it:
		if o.ids == nil {
			o.ids = map[string]*opened{}
		}
		p.ID, it.id, o.ids[it.CallID] = it.CallID, it.CallID, it
	case it.id == "":
		it.id = mint()
		p.ID, p.Repeated = it.id, true
	}
	o.send(it, "c", p)
}

// send adds to the block of an item.
func (o *output) send(it *opened, prefix string, p llm.Part) {
	if it.block == "" {
		it.block = o.open(prefix)
	}
	o.out.Send(llm.Delta{Block: it.block, Part: p})
}

func (o *output) text(e *event) {
	if e.Delta == "" {
		return
	}
	refusal := e.Type == "response.refusal.delta"
	o.denied, o.said = o.denied || refusal, o.said || !refusal
	o.say(o.at(o.place(e), "message"), llm.Text, string(e.Delta), e.Content)
}

// think takes thinking from a summary or from the reasoning itself, whichever
// comes first: who sends both sends the same twice.
func (o *output) think(e *event) {
	it := o.at(o.place(e), "reasoning")
	if it.source == "" {
		it.source = e.Type
	}
	if it.source == e.Type {
		o.say(it, llm.Thinking, string(e.Delta), e.Content+e.Summary)
	}
}

// say adds text to an item; another piece of it begins a paragraph.
func (o *output) say(it *opened, kind llm.Kind, text string, piece int) {
	if text == "" {
		return
	}
	if it.came && piece != it.piece {
		text = between + text
	}
	it.came, it.piece = true, piece
	o.send(it, "b", llm.Part{Kind: kind, Text: text})
}

func (o *output) arguments(e *event) {
	if e.Delta == "" {
		return
	}
	it := o.at(o.place(e), "function_call")
	it.came = true
	o.send(it, "c", llm.Part{Kind: llm.Call, Input: string(e.Delta)})
}

// done takes an item as a whole.
func (o *output) done(place int, raw json.RawMessage) {
	var whole item
	if lenient(raw, &whole) != nil || whole.Type == "" {
		return
	}
	it := o.at(place, whole.Type)
	if it.done && it.ID != whole.ID {
		delete(o.items, place)
		it = o.at(place, whole.Type)
	}
	o.complete(it, whole, raw)
}

// complete sends what of an item did not come piece by piece, and its state.
func (o *output) complete(it *opened, whole item, raw json.RawMessage) {
	first := !it.done
	it.item, it.done = whole, true
	it.sealed = whole.Type != "reasoning" || present(whole.Encrypted)
	p := llm.Part{Kind: llm.Opaque, State: bytes.Clone(raw)}
	switch {
	case whole.Type == "message":
		o.late(it)
		o.cite(whole.Content)
		if p.Kind = llm.Text; !it.came {
			return // empty
		}
	case whole.Type == "reasoning":
		if !it.came {
			o.say(it, llm.Thinking, whole.thinking(), 0)
		}
		if it.came {
			p.Kind = llm.Thinking
		}
	case whole.Type == "function_call":
		o.call(it)
		if p.Kind = llm.Call; !it.came {
			p.Input = string(whole.Arguments)
		}
	case whole.image() != nil:
		p.Kind, p.Data, p.MIME = llm.Media, whole.image(), "image/png"
		if whole.Format != "" {
			p.MIME = "image/" + whole.Format
		}
	case whole.remote():
		state := p.State
		p = whole.call()
		p.State = state
	}
	o.send(it, "b", p)
	if text := whole.results(); whole.remote() && first && text != "" {
		o.out.Send(llm.Delta{Block: o.open("r"), Part: llm.Part{Kind: llm.Result, ID: p.ID, Name: p.Name, Text: text, Remote: true}})
	}
}

// late says a message that came in no deltas.
func (o *output) late(it *opened) {
	if it.came {
		return
	}
	for i, piece := range it.Content {
		o.denied, o.said = o.denied || piece.Refusal != "", o.said || piece.Text != ""
		o.say(it, llm.Text, string(piece.Text+piece.Refusal), i)
	}
}

// cite names the pages a message refers to, once each.
func (o *output) cite(content []entry) {
	for _, piece := range content {
		for _, c := range piece.Cites {
			if c.URL == "" || o.cited[c.URL] {
				continue
			}
			if o.cited == nil {
				o.cited = map[string]bool{}
			}
			o.cited[c.URL] = true
			o.out.Send(llm.Delta{Block: o.open("s"), Part: llm.Part{Kind: llm.Source, URL: c.URL, Text: c.Title}})
		}
	}
}

// end is called only for streams that did not get to their last event.
func (o *output) end(bool) error { return wire.ErrInterrupted }
