package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A Draft is a message that is still arriving. It is the only code that folds
// deltas into parts. The zero value is an empty draft.
type Draft struct {
	blocks map[string]int // Delta.Block to index in parts
	parts  []*growing
}

// growing is a part whose appended fields have not been joined yet.
type growing struct {
	Part
	text, input strings.Builder
	data        []byte
}

// Add folds d into the draft. Any split of a block's deltas gives the same
// message.
func (d *Draft) Add(delta Delta) {
	i, ok := d.blocks[delta.Block]
	if !ok {
		if d.blocks == nil {
			d.blocks = map[string]int{}
		}
		i = len(d.parts)
		d.blocks[delta.Block] = i
		d.parts = append(d.parts, &growing{})
	}
	p := d.parts[i]
	write(&p.text, delta.Text, maxText)
	write(&p.input, delta.Input, maxInput)
	p.data = append(p.data, delta.Data...)
	set(&p.Kind, delta.Kind)
	set(&p.ID, delta.ID)
	set(&p.Name, delta.Name)
	set(&p.Failed, delta.Failed)
	set(&p.Remote, delta.Remote)
	set(&p.Repeated, delta.Repeated)
	set(&p.MIME, delta.MIME)
	set(&p.URL, delta.URL)
	if delta.State != nil {
		p.State = slices.Clone(delta.State)
	}
}

// write appends s to b. What has become long gets the room for the most that it
// may become, at once, so that it is not copied time and again.
func write(b *strings.Builder, s string, most int) {
	const long = 4 << 20
	if b.Len() >= long && b.Len()+len(s) > b.Cap() && b.Len()+len(s) <= most {
		text := b.String()
		b.Reset() // else Grow takes twice the old room on top
		b.Grow(most)
		b.WriteString(text)
	}
	b.WriteString(s)
}

func set[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// Parts returns what has arrived so far.
func (d *Draft) Parts() []Part {
	parts := make([]Part, len(d.parts))
	for i := range d.parts {
		parts[i] = d.parts[i].part()
	}
	return parts
}

// Kind returns what the block that was opened under this name is.
func (d *Draft) Kind(block string) Kind {
	if i, ok := d.blocks[block]; ok {
		return d.parts[i].Kind
	}
	return ""
}

// Part returns the block that was opened under this name.
func (d *Draft) Part(block string) (Part, bool) {
	i, ok := d.blocks[block]
	if !ok {
		return Part{}, false
	}
	return d.parts[i].part(), true
}

func (g *growing) part() Part {
	p := g.Part
	p.Text, p.Input = g.text.String(), g.input.String()
	if n := len(g.data); n > 0 {
		p.Data = g.data[:n:n] // what is added later stands behind it
	}
	return p
}

// Done returns the parts of an answer that finished. Calls without arguments
// have "{}"; parts that hold nothing at all are left out; text is valid UTF-8.
func (d *Draft) Done() []Part {
	var parts []Part
	for _, p := range d.Parts() {
		p = tidy(p)
		if p.Kind == Call && empty(p.Input) {
			p.Input = "{}"
		}
		if !hollow(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// Shown returns those of Parts that there is something to see of.
func (d *Draft) Shown() []Part {
	return slices.DeleteFunc(d.Parts(), func(p Part) bool { return !p.Shown() })
}

// Shown reports whether there is something to see of p.
func (p Part) Shown() bool {
	p.State = nil
	return !hollow(p)
}

// Close returns the parts of an answer that was canceled or cut. Text, thinking
// and what the provider's tools did stay; calls of parley's own tools are dropped,
// for a call of an answer that broke off must never run; State is dropped, for a
// provider accepts it only as part of a whole answer. What Portable makes of the
// rest is valid everywhere.
func (d *Draft) Close() []Part {
	var parts []Part
	for _, p := range d.Parts() {
		p = tidy(p)
		p.State = nil
		if p.Kind == Call && !p.Remote || hollow(p) {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// Capped returns the parts of an answer that ended at a limit of parley's; see
// Finish.Limit. They are those of Close without what the provider's tools did, and
// the calls of parley's own tools, which must not run either, but can be answered
// with that. Arguments that came in part are dropped.
func (d *Draft) Capped() []Part {
	var parts []Part
	for _, p := range d.Parts() {
		p = tidy(p)
		p.State = nil
		switch {
		case p.Kind == Result, p.Kind == Call && p.Remote, hollow(p):
			continue
		case p.Kind == Call:
			if !strings.HasSuffix(strings.TrimSpace(p.Input), "}") || !json.Valid([]byte(p.Input)) {
				p.Input = "{}"
			}
		}
		parts = append(parts, p)
	}
	return parts
}

func tidy(p Part) Part {
	p.Text, p.Input = Clean(p.Text), Clean(p.Input)
	return p
}

// empty reports whether a call's arguments say nothing: servers send "", "null"
// and white space for no arguments.
func empty(input string) bool {
	input = strings.TrimSpace(input)
	return input == "" || input == "null"
}

// hollow reports whether a part carries nothing to show, send or replay.
func hollow(p Part) bool {
	switch p.Kind {
	case Call, Result:
		return false
	case Text, Thinking:
		return p.Text == "" && p.State == nil
	case Media:
		return len(p.Data) == 0 && p.URL == "" && p.State == nil
	case Source:
		return p.URL == "" && p.Text == "" && p.State == nil
	}
	return p.State == nil
}

// Arguments reports whether a call's input is one complete JSON object, and
// returns it compact, in valid UTF-8 and without halves of surrogate pairs, which
// some servers refuse.
func Arguments(input string) (json.RawMessage, bool) {
	if empty(input) {
		return json.RawMessage("{}"), true
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(cleanJSON(input))) != nil || b.Bytes()[0] != '{' {
		return nil, false
	}
	return b.Bytes(), true
}
