package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
)

// A block is one part of an answer.
type block struct {
	id    string
	kind  llm.Kind
	shown bool // the front end knows it
	began time.Time
	size  int        // bytes of its text
	parts []textPart // that it holds: a text may come in several
	count int        // of a source: its number under the answer
	tool  Tool
}

// A textPart is a part of an answer, by the name of the delta's block, and how much came of it.
type textPart struct {
	name string
	size int
}

// put adds a change of the block.
func (b *block) put(c Change, out *changeList) {
	if !b.shown {
		b.shown, c.Op = true, Opened
	}
	c.ID = b.id
	out.put(c)
}

// setTool changes what is known of a call. Event is why.
func (b *block) setTool(event session.Event, out *changeList, change func(*Tool)) {
	change(&b.tool)
	b.tool.Name = act.DisplayName(b.tool.Name)
	tool := b.tool
	b.put(Change{Op: Replaced, Kind: ToolBlock, Tool: &tool, Event: event}, out)
}

// rename shows the block as another kind: some servers say only at the end of
// their thinking that it was thinking.
func (b *block) rename(kind llm.Kind, part llm.Part, out *changeList) {
	c := Change{Op: Renamed, Was: b.id, Text: part.Text[:min(b.size, len(part.Text))]}
	b.id, b.kind, b.shown = out.id(), kind, true
	switch c.ID = b.id; kind {
	case llm.Thinking:
		c.Kind = ThinkingBlock
	case llm.Text:
		c.Kind, c.Whole = TextBlock, part.Text
	default: // nothing of it is text
		c, b.shown = Change{Op: Dropped, ID: c.Was, Kind: TextBlock}, false
	}
	out.put(c)
}

// close ends the text of the block, if it has any.
func (b *block) close(now time.Time, out *changeList) {
	switch b.kind {
	case llm.Thinking:
		b.shown = true // some models say only that they thought
		out.put(Change{Op: Closed, ID: b.id, Kind: ThinkingBlock, Duration: now.Sub(b.began)})
	case llm.Text:
		out.put(Change{Op: Closed, ID: b.id, Kind: TextBlock})
	}
}

// A response is the answer that arrives, or arrived last: text blocks, calls and others. The
// zero value is before the first one.
type response struct {
	parts  partialAnswer     // nil: none has begun
	draft  llm.Draft         // where the session holds none
	blocks map[string]*block // by the name of the delta's block
	order  []*block          // the same as they began
	open   *block            // the one that grows; nil: none
	text   *block            // the text that what comes may continue; nil: none
	calls  calls

	preview string // id of the block that shows an unfinished image; "": none
}

// partialAnswer gives access to the answer that is arriving; session.PartialResponse implements it.
type partialAnswer interface {
	Part(block string) (llm.Part, bool)
}

// begin forgets the answer and begins another one, whose parts the response holds if partial
// does not.
func (r *response) begin(partial session.PartialResponse) {
	*r = response{blocks: map[string]*block{}}
	if r.parts = &r.draft; partial != (session.PartialResponse{}) {
		r.parts = partial
	}
}

// add shows a delta. It returns the kind of its block and, of a call, the name of the tool; ""
// for a delta that says only that the block is of another kind.
func (r *response) add(d llm.Delta, now time.Time, out *changeList) (kind llm.Kind, tool string) {
	if r.parts == &r.draft {
		r.draft.Add(d)
	}
	switch d.Kind {
	case llm.Call, llm.Result, llm.Media:
		r.close(now, out)
	}
	b := r.blocks[d.Block]
	if b == nil {
		b = r.begun(d, now, out)
	}
	renamed := d.Kind != "" && d.Kind != b.kind
	switch {
	case renamed && len(b.parts) > 1:
		size := r.take(b, []string{d.Block}, out)
		part, _ := r.parts.Part(d.Block)
		b = r.begun(llm.Delta{Block: d.Block, Part: llm.Part{Kind: d.Kind}}, now, out)
		r.open, d.Text, renamed = b, part.Text[:min(size, len(part.Text))]+d.Text, false
	case renamed:
		r.close(now, out)
	case b != r.open:
		r.pause(now, out)
	}
	if r.open = b; b.kind == llm.Text && !renamed {
		r.text = b
	}
	b.size += len(d.Text)
	for i := range b.parts {
		if at := &b.parts[len(b.parts)-1-i]; at.name == d.Block {
			at.size += len(d.Text)
			break
		}
	}
	part, _ := r.parts.Part(d.Block)
	if renamed {
		b.rename(d.Kind, part, out)
		return "", ""
	}
	r.grow(b, d.Text, part, out)
	return b.kind, part.Name
}

// grow shows new text of a block; part is the block up to now.
func (r *response) grow(b *block, text string, part llm.Part, out *changeList) {
	c := Change{Op: Grown, Text: text}
	switch b.kind {
	case llm.Thinking:
		c.Kind = ThinkingBlock
	case llm.Text:
		if c.Kind = TextBlock; b.size <= len(part.Text) {
			c.Whole = part.Text
		}
	case llm.Call:
		r.calls.grow(b, part, out)
		return
	case llm.Result: // of a tool that the provider ran
		r.calls.remoteResult(part, out)
		return
	case llm.Source, llm.Media:
		out.drop(&r.preview, MediaBlock)
		whole := part
		c = Change{Op: Replaced, Kind: SourceBlock, Part: &whole}
		if b.kind == llm.Media {
			c.Kind = MediaBlock
			break
		}
		if b.count == 0 {
			for _, other := range r.order {
				b.count = max(b.count, other.count)
			}
			b.count++
		}
		c.Count = b.count
	}
	if text != "" || c.Part != nil && part.Visible() {
		b.put(c, out)
	}
}

// begun returns the block of a delta that begins one: that of the text before it if it continues
// that, see llm.Breaks.
func (r *response) begun(d llm.Delta, now time.Time, out *changeList) *block {
	if d.Begins {
		r.close(now, out)
	}
	b := r.text
	if d.Kind != llm.Text || b == nil {
		b = &block{id: out.id(), kind: d.Kind, began: now}
		r.order = append(r.order, b)
	}
	r.blocks[d.Block] = b
	b.parts = append(b.parts, textPart{name: d.Block})
	return b
}

// pause ends the block that grew last, unless it is a text, which may continue.
func (r *response) pause(now time.Time, out *changeList) {
	if r.open != nil && r.open != r.text {
		r.open.close(now, out)
	}
	r.open = nil
}

// close ends the blocks that are open.
func (r *response) close(now time.Time, out *changeList) {
	r.pause(now, out)
	if r.text != nil {
		r.text.close(now, out)
		r.text = nil
	}
}

// discard takes away blocks that are no part of the answer: see llm.Retry.
func (r *response) discard(blocks []string, out *changeList) {
	r.draft.Discard(blocks)
	for _, name := range blocks {
		if b := r.blocks[name]; b != nil {
			r.take(b, blocks, out)
		}
	}
}

// take takes the parts of these names out of a block, which goes with the last one, and returns how
// much of them came.
func (r *response) take(b *block, names []string, out *changeList) (size int) {
	var left strings.Builder
	b.parts = slices.DeleteFunc(b.parts, func(p textPart) bool {
		if slices.Contains(names, p.name) {
			delete(r.blocks, p.name)
			size += p.size
			return true
		}
		part, _ := r.parts.Part(p.name)
		left.WriteString(part.Text[:min(p.size, len(part.Text))])
		return false
	})
	text := left.String()
	if b.shown {
		out.put(Change{Op: Dropped, ID: b.id, Kind: blockKinds[b.kind]})
	}
	if len(b.parts) > 0 {
		b.id, b.shown, b.size = out.id(), false, len(text)
		if text != "" {
			b.put(Change{Kind: TextBlock, Text: text}, out)
		}
		return size
	}
	r.order = slices.DeleteFunc(r.order, func(o *block) bool { return o == b })
	maps.DeleteFunc(r.calls.blocks, func(_ string, o *block) bool { return o == b })
	if r.open == b {
		r.open = nil
	}
	if r.text == b {
		r.text = nil
	}
	return size
}

// blockKinds maps what shows a part of an answer; a result of a provider's tool has no block.
var blockKinds = map[llm.Kind]BlockKind{
	llm.Text: TextBlock, llm.Thinking: ThinkingBlock, llm.Call: ToolBlock, llm.Source: SourceBlock, llm.Media: MediaBlock,
}

// showPreview shows an image that is not finished.
func (r *response) showPreview(p llm.Preview, out *changeList) {
	whole := p.Part
	out.show(&r.preview, Change{Kind: MediaBlock, Part: &whole, Event: p})
}

// finish ends the answer as the session has it.
func (r *response) finish(a session.Response, out *changeList) {
	out.drop(&r.preview, MediaBlock)
	r.setThinkingDurations(a.ThinkingDurations, out)
	r.calls.setIDs(r.order, a.Message.Calls())
	for _, b := range r.order {
		if b.kind != llm.Call {
			continue
		}
		switch ended := b.tool.Status >= CallDone; {
		case a.Message.Interrupted && !ended: // it never runs
			b.setTool(a, out, func(tool *Tool) { tool.Status = CallCanceled })
		case b.tool.Remote && !ended: // without a result of its own
			b.setTool(a, out, func(tool *Tool) { tool.Status = CallDone })
		}
	}
}

// setThinkingDurations takes over the times that are stored: events may have waited for the
// front end.
func (r *response) setThinkingDurations(stored []time.Duration, out *changeList) {
	var thinking []*block
	for _, b := range r.order {
		if b.kind == llm.Thinking {
			thinking = append(thinking, b)
		}
	}
	if len(thinking) != len(stored) { // some are not stored
		return
	}
	for i, b := range thinking {
		out.put(Change{Op: Closed, ID: b.id, Kind: ThinkingBlock, Duration: stored[i]})
	}
}

// calls are the calls of tools of one answer. The zero value has none.
type calls struct{ blocks map[string]*block } // by id of the call

// block returns the block of a call, which is made if there is none.
func (c *calls) block(id string, out *changeList) *block {
	b := c.blocks[id]
	if b == nil {
		b = &block{id: out.id(), kind: llm.Call}
		c.set(id, b)
	}
	return b
}

// set gives a call its block.
func (c *calls) set(id string, b *block) {
	if c.blocks == nil {
		c.blocks = map[string]*block{}
	}
	c.blocks[id] = b
}

// setIDs notes under which ids the calls of a whole answer with these blocks go on: the session
// gives an id to those that came without one, and another to those that share
// one.
func (c *calls) setIDs(blocks []*block, whole []llm.Part) {
	var own []*block
	for _, b := range blocks {
		if b.kind == llm.Call && !b.tool.Remote {
			own = append(own, b)
		}
	}
	if len(whole) != len(own) {
		return // some were dropped: the others have ids of their own
	}
	for i, call := range whole {
		c.set(call.ID, own[i])
	}
}

// running reports whether a call runs, or waits for the user.
func (c *calls) running() bool {
	for _, b := range c.blocks {
		if b.tool.Status == CallRunning || b.tool.Status == CallAsking {
			return true
		}
	}
	return false
}

// grow shows a call whose arguments arrive.
func (c *calls) grow(b *block, part llm.Part, out *changeList) {
	if part.ID != "" {
		c.set(part.ID, b)
	}
	b.setTool(nil, out, func(tool *Tool) {
		tool.Name, tool.Input, tool.Remote, tool.Status = part.Name, part.Input, part.Remote, CallArriving
		if part.Remote {
			tool.Status, tool.Started = CallRunning, b.began
		}
	})
}

// remoteResult shows what a tool that the provider ran answered.
func (c *calls) remoteResult(part llm.Part, out *changeList) {
	c.block(part.ID, out).setTool(nil, out, func(tool *Tool) {
		tool.Name, tool.Output, tool.Status = cmp.Or(tool.Name, part.Name), part.Text, CallDone // its call may be in an earlier answer
		if part.Failed {
			tool.Status = CallFailed
		}
	})
}

// start shows a call that is about to run, or to be asked about.
func (c *calls) start(e session.Call, now time.Time, out *changeList) {
	c.block(e.Part.ID, out).setTool(e, out, func(tool *Tool) {
		tool.Name, tool.Input, tool.Status, tool.Started, tool.Stops = e.Part.Name, e.Part.Input, CallRunning, now, true
	})
}

// ask shows a call that the user is asked about.
func (c *calls) ask(e session.ApprovalRequest, out *changeList) {
	c.block(e.Call.ID, out).setTool(e, out, func(tool *Tool) {
		tool.Status, tool.Asked = CallAsking, true // the question shows the diff
		tool.Input = e.Call.Input
	})
}

// decide shows what was decided about a call, and returns the tool.
func (c *calls) decide(d session.Decision, now time.Time, out *changeList) Tool {
	b := c.block(d.ID, out)
	for _, other := range c.blocks {
		if allowed := d.Verdict != act.Deny; allowed && other != b && other.tool.Ran && other.tool.Status == CallRunning {
			other.tool.Parallel, b.tool.Parallel = true, true
		}
	}
	b.setTool(d, out, func(tool *Tool) {
		tool.Status, tool.Started, tool.Ran = CallRunning, now, true
		if d.Verdict == act.Deny {
			tool.Status, tool.Ran = CallDenied, false
		}
	})
	return b.tool
}

// progress shows output of a call that runs.
func (c *calls) progress(p session.Progress, out *changeList) {
	b := c.block(p.ID, out)
	b.tool.Live = true
	b.put(Change{Op: Grown, Kind: ToolBlock, Text: p.Text}, out)
}

// end shows the result of a call.
func (c *calls) end(r storedResult, out *changeList) {
	c.block(r.Part.ID, out).setTool(r.Result, out, func(tool *Tool) {
		tool.Input, tool.Output, tool.Duration, tool.Diff = cmp.Or(r.Input, tool.Input), r.Part.Text, r.Duration, r.Diff
		switch {
		case r.denied || tool.Status == CallDenied:
			tool.Status = CallDenied
		case r.Stopped:
			tool.Status = CallCanceled
		case r.lost:
			tool.Status = CallLost
		case r.Part.Failed:
			tool.Status = CallFailed
		default:
			tool.Status = CallDone
		}
	})
}
