package llm

import (
	"slices"
	"unicode/utf8"
)

// A deltaJoiner makes whole runes of the text and input of deltas, which may be cut
// anywhere: what only the next delta of a block completes is held back. Text
// that is held is released when another block opens, which keeps the order on
// the screen; input, of which several calls may come at once, at the end.
type deltaJoiner struct {
	last  string // block of the last delta
	known map[string]bool
	held  []*heldBack
}

// A heldBack is what is held back of a block.
type heldBack struct {
	block       string
	kind        Kind
	text, input runeJoiner
}

// add returns the deltas to send in place of d, and whether they differ from it.
// If they do not, the slice means nothing.
func (j *deltaJoiner) add(d Delta) (send []Delta, changed bool) {
	if d.Block != j.last || j.known == nil {
		if j.known == nil {
			j.known = map[string]bool{}
		}
		if j.last = d.Block; !j.known[d.Block] {
			j.known[d.Block] = true
			send = j.release(false)
		}
	}
	t := j.tail(d.Block)
	if t == nil && utf8.ValidString(d.Text) && utf8.ValidString(d.Input) { // nearly every delta
		if send == nil {
			return nil, false
		}
		return append(send, d), true
	}
	if t == nil {
		t = &heldBack{block: d.Block}
		j.held = append(j.held, t)
	}
	setField(&t.kind, d.Kind)
	whole := d
	whole.Text, whole.Input = t.text.add(d.Text), t.input.add(d.Input)
	if t.text.held == "" && t.input.held == "" {
		j.held = slices.DeleteFunc(j.held, func(o *heldBack) bool { return o == t })
	}
	emptied := whole.Text == "" && whole.OnlyText() && (d.Text != "" || d.Input != "")
	if !emptied || d.Kind == Call {
		send = append(send, whole)
	}
	return send, true
}

// discard drops what is held back of blocks, whose names may come again.
func (j *deltaJoiner) discard(blocks []string) {
	for _, name := range blocks {
		delete(j.known, name)
	}
	j.held = slices.DeleteFunc(j.held, func(t *heldBack) bool { return slices.Contains(blocks, t.block) })
}

// tail returns what is held back of a block, nil if nothing is.
func (j *deltaJoiner) tail(block string) *heldBack {
	for _, t := range j.held {
		if t.block == block {
			return t
		}
	}
	return nil
}

// release returns the text that is held back, and if all, the input too.
func (j *deltaJoiner) release(all bool) (send []Delta) {
	var left []*heldBack
	for _, t := range j.held {
		d := Delta{Block: t.block, Part: Part{Kind: t.kind, Text: t.text.end()}}
		if all {
			d.Input = t.input.end()
		}
		if d.Text != "" || d.Input != "" {
			send = append(send, d)
		}
		if t.input.held != "" {
			left = append(left, t)
		}
	}
	j.held = left
	return send
}
