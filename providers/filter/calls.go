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
			defer c.close()
			for e, err := range s {
				if err != nil {
					c.release()
					c.Fail(err)
				} else {
					c.event(e)
				}
				if c.Stopped() {
					return
				}
			}
			c.release()
		}
	}
}

// A reader reads the calls out of one answer.
type reader struct {
	*llm.Out
	options

	block string // the text block that is being read
	alias string // the block its text goes to
	open  bool   // block is set
	count int    // calls made so far

	begin    bool // nothing but white space came yet: JSON and fences may be calls
	edge     bool // nothing but white space came since the beginning or the last call
	native   bool // a call came natively
	imagined bool // the model went on with a result: what follows is left out

	blank   []byte // white space at an edge, held back
	held    string // text that may be the beginning of a mark, held back
	waiting []wait // calls whose fate depends on what follows, held back
	capture *capture
	md      markdown
}

// A wait is something that is a call only if what follows allows it.
type wait struct {
	found
	blank, raw string // as it came, with the white space before it
	alias      string // the block that it is text of
	last       bool   // a call only if no text follows
}

func newReader(out *llm.Out, o options) *reader {
	c := &reader{Out: out, options: o, begin: true, edge: true}
	c.md = c.markdown()
	return c
}

// markdown returns the state at the beginning of a text.
func (c *reader) markdown() markdown { return markdown{json: c.prompted && !c.answer} }

func (c *reader) event(e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		c.delta(d, e)
		return
	case llm.Finish:
		c.end(d.Reason == llm.Stop || d.Reason == llm.Calls)
		c.settle(false)
		c.rest()
		if c.imagined {
			c.Send(llm.Notice{Text: "left out what the model wrote behind its tool call"})
		}
		if c.count > 0 && d.Reason == llm.Stop {
			d.Reason = llm.Calls
			e = d
		}
	}
	c.Send(e)
}

// delta handles d, which is e.
func (c *reader) delta(d llm.Delta, e llm.Event) {
	switch {
	case d.Kind == llm.Call:
		c.native = c.native || !d.Remote
		c.release()
		c.begin = false
	case d.Kind == llm.Text && c.skip != nil && c.skip(d.Block):
		c.leave()
	case d.Kind == llm.Text && (!c.open || d.Block != c.block):
		c.turn(d.Block)
	case c.open && d.Block == c.block && d.Kind != llm.Text && d.Kind != "":
		// The block was renamed: no text of the answer came so far.
		c.release()
		fresh := newReader(c.Out, c.options)
		fresh.count, fresh.native, fresh.imagined = c.count, c.native, c.imagined
		*c = *fresh
	}
	if !c.open || d.Block != c.block || d.Text == "" || d.Kind == llm.Call {
		c.Send(e)
		return
	}
	if c.imagined {
		return
	}
	i := 0
	if c.capture == nil && !c.edge && c.held == "" {
		if i = c.md.seek(d.Text, 0); i == len(d.Text) && c.alias == c.block {
			c.Send(e) // nearly every delta of an answer
			return
		}
	}
	if more(d) {
		head := d
		head.Text = ""
		c.Send(head)
	}
	c.text(d.Text, i)
}

// turn goes on to another block of text.
func (c *reader) turn(block string) {
	c.leave()
	c.open, c.block, c.alias, c.md = true, block, block, c.markdown()
}

// leave ends the block that is being read.
func (c *reader) leave() {
	if c.open {
		c.end(false)
		c.rest()
	}
	c.open = false
}

// chunk is how much of a delta a parser gets at once: what it does not consume
// is read again.
const chunk = 512

// text handles text of the block, of which the first i bytes are known to hold
// no mark.
func (c *reader) text(s string, i int) {
	for s != "" && !c.imagined && !c.Stopped() {
		part := s[:min(len(s), max(i, chunk))]
		s = s[len(part):]
		for part != "" && !c.Stopped() {
			if c.capture != nil {
				part = c.feed(part)
			} else {
				part = c.plain(c.held+part, i)
			}
			i = 0
		}
	}
}

// plain handles the beginning of s, outside a capture, and returns the rest.
func (c *reader) plain(s string, i int) string {
	c.held = ""
	if c.edge {
		n := len(s) - len(strings.TrimLeft(s, space))
		c.blank = append(c.blank, s[:n]...)
		c.md.walk(s[:n])
		if s = s[n:]; s == "" {
			return ""
		}
		if c.begin && strings.IndexByte("{[`~", s[0]) >= 0 {
			shape, begins := announced(s)
			switch {
			case shape == nil && begins:
				c.held = s
				return ""
			case shape == nil:
				return c.start(nil, s)
			}
		}
	}
	for i = c.md.seek(s, i); i < len(s); i = c.md.seek(s, i+1) {
		shape, what := c.mark(s[i:], i > 0)
		if what != markNone {
			c.say(s[:i])
		}
		switch what {
		case markPartial:
			c.held = s[i:]
			return ""
		case markCall:
			return c.start(shape, s[i:])
		case markResult:
			c.settle(false)
			c.blank, c.imagined = nil, true
			return ""
		}
		c.md.step(s[i])
	}
	c.say(s)
	return ""
}

// mark says what may begin at a byte at which seek stopped; text says that there
// is text before it that was not sent yet.
func (c *reader) mark(s string, text bool) (*shape, mark) {
	shape, begins := announced(s)
	behind := c.prompted && c.md.indent >= 0 && c.called(text) // a call, on a line of its own
	switch {
	case shape != nil:
		return shape, markCall
	case behind && strings.HasPrefix(s, resultMark):
		return nil, markResult
	case begins, behind && strings.HasPrefix(resultMark, s):
		return nil, markPartial
	case c.md.json && mayBeJSON(s):
		return nil, markCall
	}
	return nil, markNone
}

// called reports whether a call stands before what follows now, or before text
// that follows now.
func (c *reader) called(text bool) bool {
	return c.native || c.count > 0 || slices.ContainsFunc(c.waiting, func(w wait) bool { return !w.last || !text })
}

// A mark is what may begin somewhere in a text.
type mark byte

const (
	markNone    mark = iota
	markPartial      // more text has to come
	markCall         // a call, of a shape or as JSON
	markResult       // a result that the model imagines
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
		if s = strings.TrimLeft(s[1:], space); s == "" {
			return true
		}
	}
	if s[0] != '{' {
		return false
	}
	s = strings.TrimLeft(s[1:], space)
	return s == "" || s[0] == '"'
}

// say sends text that is nothing else.
func (c *reader) say(s string) {
	if s == "" {
		return
	}
	c.settle(true)
	if len(c.blank) > 0 {
		s = string(c.blank) + s
		c.blank = nil
	}
	c.begin, c.edge = false, false
	c.put(s)
}

func (c *reader) put(s string) { c.putTo(c.alias, s) }

func (c *reader) putTo(block, s string) {
	c.Send(llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}})
}

// settle decides what waits: text follows, or the message has ended.
func (c *reader) settle(text bool) {
	waiting := c.waiting
	c.waiting = nil
	for _, w := range waiting {
		if w.last && text {
			c.putTo(w.alias, w.blank+w.raw)
			c.edge = false
		} else {
			c.make(w.found)
		}
	}
}

// make sends the calls of f.
func (c *reader) make(f found) {
	if f.mended() {
		c.Send(llm.Notice{Text: "mended a broken tool call"})
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
	c.alias, c.edge = c.block+"/text"+strconv.Itoa(c.count), true
}

// rest sends the white space at the end, unless it belongs to a call.
func (c *reader) rest() {
	if len(c.blank) > 0 && !(c.edge && c.count+len(c.waiting) > 0) {
		c.put(string(c.blank))
	}
	c.blank = nil
}

// release gives back as text what is held back: a call came natively, or the
// answer broke off. Only markup of calls that fit stays a call.
func (c *reader) release() {
	if c.capture != nil {
		raw := string(c.capture.buf)
		c.close()
		c.md.walk(raw)
		c.say(raw)
	}
	held := c.held
	c.held = ""
	c.md.walk(held)
	c.say(held)
	for i, w := range c.waiting {
		c.waiting[i].last = w.last || w.json
	}
	c.settle(true)
	c.rest()
}
