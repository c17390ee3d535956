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
			c := newReader(llm.NewOut(yield), o)
			defer c.closeCapture()
			rewrite(s, c)
		}
	}
}

// A callReader reads the calls out of one answer.
type callReader struct {
	*llm.Out
	options

	block string // the text block that is being read
	alias string // the block its text goes to
	open  bool   // block is set
	count int    // calls made so far

	atStart      bool // nothing but white space came yet: JSON and fences may be calls
	atEdge       bool // nothing but white space came since the beginning or the last call
	nativeCall   bool // a call came natively
	hallucinated bool // the model went on with a result: what follows is left out

	space   []byte        // white space at an edge, held back
	held    string        // text that may be the beginning of a mark, held back
	pending []pendingCall // calls whose fate depends on what follows, held back
	capture *capture
	md      markdown
}

// A pendingCall is something that is a call only if what follows allows it.
type pendingCall struct {
	parsed
	blank, raw string // as it came, with the white space before it
	alias      string // the block that it is text of
	lastOnly   bool   // a call only if no text follows
}

func newReader(out *llm.Out, o options) *callReader {
	c := &callReader{Out: out, options: o, atStart: true, atEdge: true}
	c.md = c.markdown()
	return c
}

// markdown returns the state at the beginning of a text.
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
			c.Send(llm.Notice{Text: "text after the tool call dropped"})
		}
		if c.count > 0 && d.Reason == llm.Stop {
			d.Reason = llm.Calls
			e = d
		}
	}
	c.Send(e)
}

// delta handles d, which is e.
func (c *callReader) delta(d llm.Delta, e llm.Event) {
	switch {
	case d.Kind == llm.Call:
		c.nativeCall = c.nativeCall || !d.Remote
		c.release()
		c.atStart = false
	case d.Kind == llm.Text && c.skip != nil && c.skip(d.Block):
		c.leaveBlock()
	case d.Kind == llm.Text && (!c.open || d.Block != c.block):
		c.switchBlock(d.Block)
	case c.open && d.Block == c.block && d.Kind != llm.Text && d.Kind != "":
		// The block was renamed: no text of the answer came so far.
		c.release()
		fresh := newReader(c.Out, c.options)
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
	if c.capture == nil && !c.atEdge && c.held == "" {
		if i = c.md.seek(d.Text, 0); i == len(d.Text) && c.alias == c.block {
			c.Send(e) // nearly every delta of an answer
			return
		}
	}
	if hasMore(d) {
		head := d
		head.Text = ""
		c.Send(head)
	}
	c.text(d.Text, i)
}

// switchBlock goes on to another block of text.
func (c *callReader) switchBlock(block string) {
	c.leaveBlock()
	c.open, c.block, c.alias, c.md = true, block, block, c.markdown()
}

// leaveBlock ends the block that is being read.
func (c *callReader) leaveBlock() {
	if c.open {
		c.endCapture(false)
		c.sendSpace()
	}
	c.open = false
}

// chunk sets how much of a delta a parser gets at once: what it does not consume
// is read again.
const chunk = 512

// text handles text of the block, of which the first i bytes are known to hold
// no mark.
func (c *callReader) text(s string, i int) {
	for s != "" && !c.hallucinated && !c.Stopped() {
		part := s[:min(len(s), max(i, chunk))]
		s = s[len(part):]
		for part != "" && !c.Stopped() {
			if c.capture != nil {
				part = c.feedCapture(part)
			} else {
				part = c.outsideCall(c.held+part, i)
			}
			i = 0
		}
	}
}

// outsideCall handles the beginning of s, outside a capture, and returns the rest.
func (c *callReader) outsideCall(s string, i int) string {
	c.held = ""
	if c.atEdge {
		n := len(s) - len(strings.TrimLeft(s, whitespace))
		c.space = append(c.space, s[:n]...)
		c.md.walk(s[:n])
		if s = s[n:]; s == "" {
			return ""
		}
		if c.atStart && strings.IndexByte("{[`~", s[0]) >= 0 {
			shape, begins := findSyntax(s)
			switch {
			case shape == nil && begins:
				c.held = s
				return ""
			case shape == nil:
				return c.startCapture(nil, s)
			}
		}
	}
	for i = c.md.seek(s, i); i < len(s); i = c.md.seek(s, i+1) {
		shape, what := c.mark(s[i:], i > 0)
		if what != markNone {
			c.sendText(s[:i])
		}
		switch what {
		case markPartial:
			c.held = s[i:]
			return ""
		case markCall:
			return c.startCapture(shape, s[i:])
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

// mark returns what may begin at a byte at which seek stopped; text says that there
// is text before it that was not sent yet.
func (c *callReader) mark(s string, text bool) (*callSyntax, mark) {
	shape, begins := findSyntax(s)
	behind := c.prompted && c.md.indent >= 0 && c.afterCall(text) // a call, on a line of its own
	switch {
	case shape != nil:
		return shape, markCall
	case behind && strings.HasPrefix(s, resultMark):
		return nil, markHallucinatedResult
	case begins, behind && strings.HasPrefix(resultMark, s):
		return nil, markPartial
	case c.md.json && mayBeJSON(s):
		return nil, markCall
	}
	return nil, markNone
}

// afterCall reports whether a call stands before what follows now, or before text
// that follows now.
func (c *callReader) afterCall(text bool) bool {
	return c.nativeCall || c.count > 0 || slices.ContainsFunc(c.pending, func(w pendingCall) bool { return !w.lastOnly || !text })
}

// A mark is what may begin somewhere in a text.
type mark byte

const (
	markNone               mark = iota
	markPartial                 // more text has to come
	markCall                    // a call, of a shape or as JSON
	markHallucinatedResult      // a result that the model imagines
)

// resultMark begins the result of a tool where results are told as text.
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

// sendText sends text that is nothing else.
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

// decidePending decides what waits: text follows, or the message has ended.
func (c *callReader) decidePending(text bool) {
	waiting := c.pending
	c.pending = nil
	for _, w := range waiting {
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

// sendSpace sends the white space at the end, unless it belongs to a call.
func (c *callReader) sendSpace() {
	if len(c.space) > 0 && !(c.atEdge && c.count+len(c.pending) > 0) {
		c.emit(string(c.space))
	}
	c.space = nil
}

// release gives back as text what is held back: a call came natively, or the
// answer broke off. Only markup of calls that fit stays a call.
func (c *callReader) release() {
	if c.capture != nil {
		raw := string(c.capture.buf)
		c.closeCapture()
		c.md.walk(raw)
		c.sendText(raw)
	}
	held := c.held
	c.held = ""
	c.md.walk(held)
	c.sendText(held)
	for i, w := range c.pending {
		c.pending[i].lastOnly = w.lastOnly || w.isJSON
	}
	c.decidePending(true)
	c.sendSpace()
}
