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
	parts  []*partBuilder
}

// partBuilder is a part whose appended fields have not been joined yet.
type partBuilder struct {
	Part
	text, input strings.Builder
	data        []byte
}

// Add folds d into the draft. The message does not depend on how a block is split into deltas.
func (d *Draft) Add(delta Delta) {
	i, ok := d.blocks[delta.Block]
	if !ok {
		if d.blocks == nil {
			d.blocks = map[string]int{}
		}
		i = len(d.parts)
		d.blocks[delta.Block] = i
		d.parts = append(d.parts, &partBuilder{})
	}
	p := d.parts[i]
	p.text.WriteString(delta.Text)
	p.input.WriteString(delta.Input)
	p.data = append(p.data, delta.Data...)
	setField(&p.Kind, delta.Kind)
	setField(&p.ID, delta.ID)
	setField(&p.Name, delta.Name)
	setField(&p.Failed, delta.Failed)
	setField(&p.Remote, delta.Remote)
	setField(&p.Repeated, delta.Repeated)
	setField(&p.Begins, delta.Begins)
	setField(&p.MIME, delta.MIME)
	setField(&p.URL, delta.URL)
	setField(&p.Width, delta.Width)
	setField(&p.Height, delta.Height)
	setField(&p.Made, delta.Made)
	if delta.State != nil {
		p.State = slices.Clone(delta.State)
	}
}

// Discard removes the blocks in Retry.Discards. Unknown names are skipped.
func (d *Draft) Discard(blocks []string) {
	for _, name := range blocks {
		i, ok := d.blocks[name]
		if !ok {
			continue
		}
		d.parts = slices.Delete(d.parts, i, i+1)
		delete(d.blocks, name)
		for other, at := range d.blocks {
			if at > i {
				d.blocks[other] = at - 1
			}
		}
	}
}

func setField[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// Parts returns the parts received so far.
func (d *Draft) Parts() []Part {
	parts := make([]Part, len(d.parts))
	for i := range d.parts {
		parts[i] = d.parts[i].part()
	}
	return parts
}

// Kind returns the kind of the block called block; "" if there is none.
func (d *Draft) Kind(block string) Kind {
	if i, ok := d.blocks[block]; ok {
		return d.parts[i].Kind
	}
	return ""
}

// Part returns the block called block; false if there is none.
func (d *Draft) Part(block string) (Part, bool) {
	i, ok := d.blocks[block]
	if !ok {
		return Part{}, false
	}
	return d.parts[i].part(), true
}

func (g *partBuilder) part() Part {
	p := g.Part
	p.Text, p.Input = g.text.String(), g.input.String()
	if n := len(g.data); n > 0 {
		p.Data = g.data[:n:n] // later bytes are appended after it
	}
	return p
}

// Complete returns the parts of a finished answer. Calls without arguments get "{}", empty parts
// are dropped, and text is valid UTF-8.
func (d *Draft) Complete() []Part {
	return d.kept(func(p *Part) bool {
		if p.Kind == Call && noArguments(p.Input) {
			p.Input = "{}"
		}
		return true
	})
}

// kept returns the parts that keep, which may change them, does not drop; empty ones are dropped as
// well.
func (d *Draft) kept(keep func(*Part) bool) (parts []Part) {
	for _, p := range d.Parts() {
		p.Text, p.Input = Clean(p.Text), Clean(p.Input)
		if keep(&p) && !isEmpty(&p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// Visible returns the parts so far that are visible; see Part.Visible.
func (d *Draft) Visible() []Part {
	return slices.DeleteFunc(d.Parts(), func(p Part) bool { return !p.Visible() })
}

// Visible reports whether p has content that a user would see.
func (p Part) Visible() bool {
	p.State = nil
	return !isEmpty(&p)
}

// Interrupted returns the parts of an answer that was canceled or interrupted. Text, thinking and
// the provider's tool use stay. Calls of parley's own tools are dropped, since a call of an
// interrupted answer must never run. State is dropped, since a provider accepts it only as part of
// a whole answer. The result of Portable is valid for every provider.
func (d *Draft) Interrupted() []Part {
	return d.kept(func(p *Part) bool {
		p.State = nil
		return p.Kind != Call || p.Remote
	})
}

// Limited returns the parts of an answer that ended at one of parley's limits; see Finish.Limit. It
// returns the parts of Complete without the provider's tool use. The calls of parley's own tools
// stay: they must not run, but get a result that says so. Incomplete arguments are dropped.
func (d *Draft) Limited() []Part {
	return d.kept(func(p *Part) bool {
		p.State = nil
		if p.Kind == Call && (!strings.HasSuffix(strings.TrimSpace(p.Input), "}") || !json.Valid([]byte(p.Input))) {
			p.Input = "{}"
		}
		return p.Kind != Result && (p.Kind != Call || !p.Remote)
	})
}

// noArguments reports whether a call's arguments are empty: servers send "", "null" and white
// space.
func noArguments(input string) bool {
	input = strings.TrimSpace(input)
	return input == "" || input == "null"
}

// isEmpty reports whether a part has nothing to show, send or replay.
func isEmpty(p *Part) bool {
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

// Arguments reports whether a call's input is one complete JSON object. It returns the object in
// compact form, as valid UTF-8 and without lone surrogates, which some servers refuse. It also
// accepts an object encoded as a string, as some servers send it.
func Arguments(input string) (json.RawMessage, bool) {
	if noArguments(input) {
		return json.RawMessage("{}"), true
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(cleanJSON(input))) != nil {
		return nil, false
	}
	if inner := ""; b.Bytes()[0] == '"' && json.Unmarshal(b.Bytes(), &inner) == nil {
		return Arguments(inner)
	}
	if b.Bytes()[0] != '{' {
		return nil, false
	}
	return b.Bytes(), true
}
