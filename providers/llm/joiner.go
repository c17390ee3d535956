package llm

import (
	"slices"
	"unicode/utf8"
)

// A deltaJoiner completes runes in the text and input of deltas, which may be split anywhere: an
// incomplete rune waits for the next delta of its block. Waiting text is released when another
// block opens, which keeps the order on the screen. Waiting input is released at the end, since
// several calls may arrive at once.
type deltaJoiner struct {
	known   map[string]bool
	pending []*pendingBlock
}

// A pendingBlock is the waiting text or input of a block.
type pendingBlock struct {
	block       string
	kind        Kind
	text, input runeJoiner
}

// add returns the deltas to send in place of d. If changed is false, the caller sends d itself and
// ignores send.
func (j *deltaJoiner) add(d Delta) (send []Delta, changed bool) {
	if !j.known[d.Block] {
		if j.known == nil {
			j.known = map[string]bool{}
		}
		j.known[d.Block] = true
		send = j.release(false)
	}
	t := j.tail(d.Block)
	if t == nil && utf8.ValidString(d.Text) && utf8.ValidString(d.Input) { // the usual case
		if send == nil {
			return nil, false
		}
		return append(send, d), true
	}
	if t == nil {
		t = &pendingBlock{block: d.Block}
		j.pending = append(j.pending, t)
	}
	setField(&t.kind, d.Kind)
	whole := d
	whole.Text, whole.Input = t.text.add(d.Text), t.input.add(d.Input)
	if t.text.pending == "" && t.input.pending == "" {
		j.pending = slices.DeleteFunc(j.pending, func(o *pendingBlock) bool { return o == t })
	}
	emptied := whole.Text == "" && whole.OnlyText() && (d.Text != "" || d.Input != "")
	if !emptied || d.Kind == Call {
		send = append(send, whole)
	}
	return send, true
}

// discard drops the waiting text and input of blocks, whose names may be used again.
func (j *deltaJoiner) discard(blocks []string) {
	for _, name := range blocks {
		delete(j.known, name)
	}
	j.pending = slices.DeleteFunc(j.pending, func(t *pendingBlock) bool { return slices.Contains(blocks, t.block) })
}

// tail returns the pendingBlock of a block; nil if there is none.
func (j *deltaJoiner) tail(block string) *pendingBlock {
	for _, t := range j.pending {
		if t.block == block {
			return t
		}
	}
	return nil
}

// release returns the waiting text and, if all, the waiting input.
func (j *deltaJoiner) release(all bool) (send []Delta) {
	var left []*pendingBlock
	for _, t := range j.pending {
		d := Delta{Block: t.block, Part: Part{Kind: t.kind, Text: t.text.end()}}
		if all {
			d.Input = t.input.end()
		}
		if d.Text != "" || d.Input != "" {
			send = append(send, d)
		}
		if t.input.pending != "" {
			left = append(left, t)
		}
	}
	j.pending = left
	return send
}
