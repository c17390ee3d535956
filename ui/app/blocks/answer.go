package blocks

import (
	"cmp"
	"encoding/json"
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
	shown bool // the front end has been shown the block
	began time.Time
	size  int        // bytes of text shown so far
	parts []textPart // stretches of text from the stream, in order
	count int        // of a source: its number under the answer
	tool  Tool

	started int // number of the call among those that the session has begun with; 0: not yet
}

// A textPart is one stretch of a block's text: the delta's block name and the bytes received.
type textPart struct {
	name string
	size int
}

// put appends a change to the block, which opens it if it is not shown yet.
func (b *block) put(c Change, out *changeList) {
	if !b.shown {
		b.shown, c.Op = true, Opened
	}
	c.ID = b.id
	out.put(c)
}

// setTool changes the block's tool call and reports it, with event as the cause.
func (b *block) setTool(event session.Event, out *changeList, change func(*Tool)) {
	change(&b.tool)
	b.tool.Name = act.DisplayName(b.tool.Name)
	tool := b.tool
	b.put(Change{Op: Replaced, Kind: ToolBlock, Tool: &tool, Event: event}, out)
}

// rename turns the block into another kind: some servers say only afterwards that a text was thinking.
func (b *block) rename(kind llm.Kind, part llm.Part, out *changeList) {
	c := Change{Op: Renamed, Was: b.id, Text: part.Text[:min(b.size, len(part.Text))]}
	b.id, b.kind, b.shown = out.id(), kind, true
	switch c.ID = b.id; kind {
	case llm.Thinking:
		c.Kind = ThinkingBlock
	case llm.Text:
		c.Kind, c.Whole = TextBlock, part.Text
	default: // the new kind has no text
		c, b.shown = Change{Op: Dropped, ID: c.Was, Kind: TextBlock}, false
	}
	out.put(c)
}

// close closes the block if it is thinking or text.
func (b *block) close(now time.Time, out *changeList) {
	switch b.kind {
	case llm.Thinking:
		b.shown = true // some models send thinking blocks without text
		out.put(Change{Op: Closed, ID: b.id, Kind: ThinkingBlock, Duration: now.Sub(b.began)})
	case llm.Text:
		out.put(Change{Op: Closed, ID: b.id, Kind: TextBlock})
	}
}

// A response is the answer that is arriving, or the last one: its text, calls, sources and media. The zero value is the
// state before the first answer.
type response struct {
	parts  partialAnswer     // nil before the first answer
	draft  llm.Draft         // collects the parts when the session does not provide them
	blocks map[string]*block // keyed by the delta's block name
	order  []*block          // the same blocks, in the order they began
	open   *block            // block that is growing; nil if none
	text   *block            // text block that later deltas may continue; nil if none
	calls  calls

	preview string // id of the block that shows an unfinished image; "" if none
}

// partialAnswer gives access to the answer that is arriving; session.PartialResponse implements it.
type partialAnswer interface {
	Part(block string) (llm.Part, bool)
}

// begin resets the response for a new answer. Without partial, the response collects the parts itself.
func (r *response) begin(partial session.PartialResponse) {
	*r = response{blocks: map[string]*block{}}
	if r.parts = &r.draft; partial != nil {
		r.parts = partial
	}
}

// add shows a delta. It returns the kind of its block and, for a call, the tool's name. Kind is "" for a delta that
// only changes the kind of its block.
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

// grow shows new text of a block; part holds everything received so far.
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
	case llm.Result: // of a tool run by the provider
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

// begun returns the block for a delta that begins one. It is the preceding text block if the delta continues that text;
// see llm.Breaks.
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

// pause closes the open block, unless it is text, which may continue.
func (r *response) pause(now time.Time, out *changeList) {
	if r.open != nil && r.open != r.text {
		r.open.close(now, out)
	}
	r.open = nil
}

// close closes all open blocks.
func (r *response) close(now time.Time, out *changeList) {
	r.pause(now, out)
	if r.text != nil {
		r.text.close(now, out)
		r.text = nil
	}
}

// discard removes blocks that are not part of the answer; see llm.Retry.
func (r *response) discard(blocks []string, out *changeList) {
	r.draft.Discard(blocks)
	for _, name := range blocks {
		if b := r.blocks[name]; b != nil {
			r.take(b, blocks, out)
		}
	}
}

// take removes the named parts from a block and returns how many bytes they had. A block without parts is removed.
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
		out.put(Change{Op: Dropped, ID: b.id, Kind: blockKind(b.kind)})
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

// blockKind returns the kind of the block that shows a part of an answer. Results of provider-run tools have no block.
func blockKind(kind llm.Kind) Kind {
	switch kind {
	case llm.Text:
		return TextBlock
	case llm.Thinking:
		return ThinkingBlock
	case llm.Call:
		return ToolBlock
	case llm.Source:
		return SourceBlock
	case llm.Media:
		return MediaBlock
	}
	return EventBlock
}

// showPreview shows an unfinished image.
func (r *response) showPreview(p llm.Preview, out *changeList) {
	whole := p.Part
	out.show(&r.preview, Change{Kind: MediaBlock, Part: &whole, Event: p})
}

// finish ends the answer with the response that the session stored.
func (r *response) finish(a session.Response, out *changeList) {
	out.drop(&r.preview, MediaBlock)
	r.setThinkingDurations(a.ThinkingDurations, out)
	r.calls.setIDs(r.order, a.Message.Calls())
	for _, b := range r.order {
		if b.kind != llm.Call {
			continue
		}
		switch ended := b.tool.Status >= CallDone; {
		case a.Message.Interrupted && !ended: // it will not run
			b.setTool(a, out, func(tool *Tool) { tool.Status = CallCanceled })
		case b.tool.Remote && !ended: // the provider sent no result for it
			b.setTool(a, out, func(tool *Tool) { tool.Status = CallDone })
		}
	}
}

// setThinkingDurations replaces measured durations with the stored ones: the front end may have received the events
// late.
func (r *response) setThinkingDurations(stored []time.Duration, out *changeList) {
	var thinking []*block
	for _, b := range r.order {
		if b.kind == llm.Thinking {
			thinking = append(thinking, b)
		}
	}
	if len(thinking) != len(stored) { // some blocks were not stored
		return
	}
	for i, b := range thinking {
		out.put(Change{Op: Closed, ID: b.id, Kind: ThinkingBlock, Duration: stored[i]})
	}
}

// calls holds the tool calls of one answer. The zero value is empty.
type calls struct {
	blocks  map[string]*block // keyed by call ID
	started int               // number of calls that the session has begun with
}

// say reports whether the output of a call contains text.
func (c *calls) say(text string) bool {
	for _, b := range c.blocks {
		if strings.Contains(b.tool.Output, text) {
			return true
		}
	}
	return false
}

// block returns the block of a call, creating it if necessary.
func (c *calls) block(id string, out *changeList) *block {
	b := c.blocks[id]
	if b == nil {
		b = &block{id: out.id(), kind: llm.Call}
		c.set(id, b)
	}
	return b
}

// set registers b as the block of the call id.
func (c *calls) set(id string, b *block) {
	if c.blocks == nil {
		c.blocks = map[string]*block{}
	}
	c.blocks[id] = b
}

// setIDs registers the blocks under the call IDs of the complete answer. The session assigns IDs to calls that came
// without one, and replaces duplicates.
func (c *calls) setIDs(blocks []*block, whole []llm.Part) {
	var own []*block
	for _, b := range blocks {
		if b.kind == llm.Call && !b.tool.Remote {
			own = append(own, b)
		}
	}
	if len(whole) != len(own) {
		return // some calls were dropped; the others came with unique IDs
	}
	for i, call := range whole {
		c.set(call.ID, own[i])
	}
}

// running reports whether any call is running or waiting for approval.
func (c *calls) running() bool {
	for _, b := range c.blocks {
		if b.tool.Status == CallRunning || b.tool.Status == CallAsking {
			return true
		}
	}
	return false
}

// grow shows the arguments of a call as they arrive.
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

// remoteResult shows the result of a tool that the provider ran.
func (c *calls) remoteResult(part llm.Part, out *changeList) {
	c.block(part.ID, out).setTool(nil, out, func(tool *Tool) {
		tool.Name, tool.Output, tool.Status = cmp.Or(tool.Name, part.Name), part.Text, CallDone // the call may be in an earlier answer
		if part.Failed {
			tool.Status = CallFailed
		}
	})
}

// start shows a call that is about to run or to need approval.
func (c *calls) start(e session.Call, now time.Time, out *changeList) {
	b := c.block(e.Part.ID, out)
	c.started++
	b.started = c.started
	b.setTool(e, out, func(tool *Tool) {
		tool.Name, tool.Input, tool.Status, tool.Started, tool.Call = e.Part.Name, e.Part.Input, CallRunning, now, e.Part.ID
		tool.Stops = e.Part.Name != act.AskTool
	})
	c.markStops(out)
}

// markStops marks the last running call, and no other, as the one that the stop key ends.
func (c *calls) markStops(out *changeList) {
	last := &block{}
	for _, b := range c.blocks {
		if b.tool.Status == CallRunning && b.started > last.started {
			last = b
		}
	}
	for _, b := range c.blocks {
		if stops := b == last && b.tool.Name != act.AskTool; b.tool.Status == CallRunning && b.tool.Stops != stops {
			b.setTool(nil, out, func(tool *Tool) { tool.Stops = stops })
		}
	}
}

// ask shows a call that waits for the user's approval.
func (c *calls) ask(e session.ApprovalRequest, out *changeList) {
	c.block(e.Call.ID, out).setTool(e, out, func(tool *Tool) {
		tool.Status, tool.Asked = CallAsking, true // the approval prompt shows the diff
		tool.Input = e.Call.Input
	})
}

// decide shows the decision about a call and returns the call.
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

// progress shows output of a running call.
func (c *calls) progress(p session.Progress, out *changeList) {
	b := c.block(p.ID, out)
	b.tool.Live = true
	b.put(Change{Op: Grown, Kind: ToolBlock, Text: p.Text}, out)
}

// OpinionCall is the id of the call that shows a question to another model while its answer arrives.
const OpinionCall = "ask"

// OpinionInput returns the arguments of that call.
func OpinionInput(question string) string {
	input, _ := json.Marshal(map[string]string{"question": question}) // cannot fail for a string
	return string(input)
}

// opinion shows the answer of another model, in the block of its question if that is shown.
func (c *calls) opinion(e session.Opinion, out *changeList) {
	c.block(OpinionCall, out).setTool(e, out, func(tool *Tool) {
		*tool = Tool{Name: OpinionCall, Input: OpinionInput(e.Question), Output: e.Answer, Duration: e.Duration, By: e.By, Status: CallDone}
		switch {
		case e.Stopped:
			tool.Status = CallCanceled
		case e.Failed:
			tool.Status = CallFailed
		}
	})
	delete(c.blocks, OpinionCall)
}

// end shows the result of a call.
func (c *calls) end(r storedResult, out *changeList) {
	c.block(r.Part.ID, out).setTool(r.Result, out, func(tool *Tool) {
		tool.Input, tool.Output, tool.Duration, tool.Diff = cmp.Or(r.Input, tool.Input), r.Part.Text, r.Duration, r.Diff
		tool.Media, tool.By = r.Media, r.By
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
	c.markStops(out)
}
