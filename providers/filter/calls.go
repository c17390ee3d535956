package filter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
)

func calls(o options) func(llm.Stream) llm.Stream {
	return func(s llm.Stream) llm.Stream {
		if len(o.tools) == 0 {
			return s
		}
		return func(yield func(llm.Event, error) bool) {
			c := newCallReader(llm.NewOut(yield), o)
			defer c.closeCapture()
			rewrite(s, c)
		}
	}
}

// A callReader finds the calls in the text of one response.
type callReader struct {
	*llm.Out
	options

	block string // the current text block
	alias string // the block that receives its text
	open  bool   // block is set
	count int    // number of calls sent

	atStart      bool // only white space so far: JSON and fences may be calls
	atEdge       bool // only white space since the start or the last call
	nativeCall   bool // there was a native call
	hallucinated bool // the model wrote a tool result itself: the following text is dropped

	space     []byte        // buffered white space at an edge
	undecided string        // buffered text that may begin a mark
	pending   []pendingCall // buffered results that are calls or text, depending on what follows
	capture   *capture
	md        markdown
}

// A pendingCall is buffered until it is known whether it is a call.
type pendingCall struct {
	parsed
	blank, raw string // the preceding white space, and its text
	alias      string // block of that text
	lastOnly   bool   // it is a call only if no text follows
}

// noticeHallucinated is the notice about dropped text after a call.
const noticeHallucinated = "text after the tool call dropped"

func newCallReader(out *llm.Out, o options) *callReader {
	c := &callReader{Out: out, options: o, atStart: true, atEdge: true}
	c.md = c.markdown()
	return c
}

// markdown returns the state at the start of a text.
func (c *callReader) markdown() markdown { return markdown{json: c.prompted && !c.answer} }

func (c *callReader) event(e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		c.delta(d, e)
		return
	case llm.Finish:
		c.endCapture(d.Reason == llm.Stop || d.Reason == llm.Calls)
		c.decidePending(false)
		c.sendSpace()
		if c.hallucinated {
			c.Send(llm.Notice{Text: noticeHallucinated})
		}
		if c.count > 0 && d.Reason == llm.Stop {
			d.Reason = llm.Calls
			e = d
		}
	}
	c.Send(e)
}

// delta handles d; e is the same delta as an event.
func (c *callReader) delta(d llm.Delta, e llm.Event) {
	switch {
	case d.Kind == llm.Call:
		c.nativeCall = c.nativeCall || !d.Remote
		c.flush()
		c.atStart = false
	case d.Kind == llm.Text && c.skip != nil && c.skip(d.Block):
		c.leaveBlock()
	case d.Kind == llm.Text && (!c.open || d.Block != c.block):
		c.switchBlock(d.Block)
	case c.open && d.Block == c.block && d.Kind != llm.Text && d.Kind != "":
		// The block was renamed, so no text of the answer has come yet.
		c.flush()
		fresh := newCallReader(c.Out, c.options)
		fresh.count, fresh.nativeCall, fresh.hallucinated = c.count, c.nativeCall, c.hallucinated
		*c = *fresh
	}
	if !c.open || d.Block != c.block || d.Text == "" || d.Kind == llm.Call {
		c.Send(e)
		return
	}
	if c.hallucinated {
		return
	}
	i := 0
	if c.capture == nil && !c.atEdge && c.undecided == "" {
		if i = c.md.seek(d.Text, 0); i == len(d.Text) && c.alias == c.block {
			c.Send(e) // the usual case
			return
		}
	}
	sendHead(c.Out, d)
	c.text(d.Text, i)
}

// switchBlock starts another text block.
func (c *callReader) switchBlock(block string) {
	c.leaveBlock()
	c.open, c.block, c.alias, c.md = true, block, block, c.markdown()
}

// leaveBlock ends the current block.
func (c *callReader) leaveBlock() {
	if c.open {
		c.endCapture(false)
		c.sendSpace()
	}
	c.open = false
}

// maxChunk is the most bytes that a parser gets at once: the part that it does not consume is read
// again.
const maxChunk = 512

// text handles text of the current block; its first i bytes contain no mark.
func (c *callReader) text(s string, i int) {
	for s != "" && !c.hallucinated && !c.Stopped() {
		part := s[:min(len(s), max(i, maxChunk))]
		s = s[len(part):]
		for part != "" && !c.Stopped() {
			if c.capture != nil {
				part = c.feedCapture(part)
			} else {
				part = c.outsideCall(c.undecided+part, i)
			}
			i = 0
		}
	}
}

// outsideCall handles the start of s outside a capture, and returns the rest.
func (c *callReader) outsideCall(s string, i int) string {
	c.undecided = ""
	if c.atEdge {
		n := len(s) - len(strings.TrimLeft(s, whitespace))
		c.space = append(c.space, s[:n]...)
		c.md.stepAll(s[:n])
		if s = s[n:]; s == "" {
			return ""
		}
		if c.atStart && strings.IndexByte("{[`~", s[0]) >= 0 {
			syntax, begins := findSyntax(s)
			switch {
			case syntax == nil && begins:
				c.undecided = s
				return ""
			case syntax == nil:
				return c.startCapture(nil, s)
			}
		}
	}
	for i = c.md.seek(s, i); i < len(s); i = c.md.seek(s, i+1) {
		syntax, what := c.mark(s[i:], i > 0)
		if what != markNone {
			c.sendText(s[:i])
		}
		switch what {
		case markPartial:
			c.undecided = s[i:]
			return ""
		case markCall:
			return c.startCapture(syntax, s[i:])
		case markHallucinatedResult:
			c.decidePending(false)
			c.space, c.hallucinated = nil, true
			return ""
		}
		c.md.step(s[i])
	}
	c.sendText(s)
	return ""
}

// mark returns what begins with s, which is where seek stopped; text says that text before it
// was not sent yet.
func (c *callReader) mark(s string, text bool) (*callSyntax, mark) {
	syntax, begins := findSyntax(s)
	behind := c.prompted && c.md.indent >= 0 && c.afterCall(text) // a call, on a line of its own
	switch {
	case syntax != nil:
		return syntax, markCall
	case behind && strings.HasPrefix(s, resultMark):
		return nil, markHallucinatedResult
	case begins, behind && strings.HasPrefix(resultMark, s):
		return nil, markPartial
	case c.md.json && mayBeJSON(s):
		return nil, markCall
	}
	return nil, markNone
}

// afterCall reports whether a call precedes what follows; text says that this is text.
func (c *callReader) afterCall(text bool) bool {
	return c.nativeCall || c.count > 0 || slices.ContainsFunc(c.pending, func(w pendingCall) bool { return !w.lastOnly || !text })
}

// A mark is what text begins with.
type mark byte

const (
	markNone               mark = iota
	markPartial                 // more text has to come
	markCall                    // a call, of a shape or as JSON
	markHallucinatedResult      // a tool result that the model wrote itself
)

// resultMark begins a tool result in prompts of providers/prompted.
const resultMark = "<tool_result"

// mayBeJSON reports whether s can begin an object, a list of objects, or a fence
// around them.
func mayBeJSON(s string) bool {
	if s[0] == '`' || s[0] == '~' {
		return true
	}
	if s[0] == '[' {
		if s = strings.TrimLeft(s[1:], whitespace); s == "" {
			return true
		}
	}
	if s[0] != '{' {
		return false
	}
	s = strings.TrimLeft(s[1:], whitespace)
	return s == "" || s[0] == '"'
}

// sendText sends text that is not part of a call.
func (c *callReader) sendText(s string) {
	if s == "" {
		return
	}
	c.decidePending(true)
	if len(c.space) > 0 {
		s = string(c.space) + s
		c.space = nil
	}
	c.atStart, c.atEdge = false, false
	c.emit(s)
}

func (c *callReader) emit(s string) { c.emitTo(c.alias, s) }

func (c *callReader) emitTo(block, s string) {
	c.Send(llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}})
}

// decidePending sends pending calls, or their text. Text means that text follows; otherwise the
// message has ended.
func (c *callReader) decidePending(text bool) {
	pending := c.pending
	c.pending = nil
	for _, w := range pending {
		if w.lastOnly && text {
			c.emitTo(w.alias, w.blank+w.raw)
			c.atEdge = false
		} else {
			c.sendCalls(w.parsed)
		}
	}
}

// sendCalls sends the calls of f.
func (c *callReader) sendCalls(f parsed) {
	if f.anyRepaired() {
		c.Send(llm.Notice{Text: "repaired a broken tool call"})
	}
	for _, found := range f.calls {
		c.count++
		n := strconv.Itoa(c.count)
		if found.thought != "" {
			c.Send(llm.Delta{Block: c.block + "/thought" + n, Part: llm.Part{Kind: llm.Thinking, Name: Thought, Text: found.thought}})
		}
		c.Send(llm.Delta{Block: c.block + "/call" + n, Part: llm.Part{
			Kind: llm.Call, ID: cmp.Or(found.id, NewID()), Name: found.name, Input: found.input, Failed: found.unreadable,
		}})
	}
	c.alias, c.atEdge = c.block+"/text"+strconv.Itoa(c.count), true
}

// sendSpace sends the buffered white space at the end, unless it belongs to a call.
func (c *callReader) sendSpace() {
	if len(c.space) > 0 && !(c.atEdge && c.count+len(c.pending) > 0) {
		c.emit(string(c.space))
	}
	c.space = nil
}

// flush sends buffered content as text: a native call came, or the answer was interrupted. Only
// markup of valid calls remains a call.
func (c *callReader) flush() {
	if c.capture != nil {
		raw := string(c.capture.buf)
		c.closeCapture()
		c.md.stepAll(raw)
		c.sendText(raw)
	}
	undecided := c.undecided
	c.undecided = ""
	c.md.stepAll(undecided)
	c.sendText(undecided)
	for i, w := range c.pending {
		c.pending[i].lastOnly = w.lastOnly || w.isJSON
	}
	c.decidePending(true)
	c.sendSpace()
}
