package filter

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// Calls returns a filter that turns tool calls which a model wrote into its
// text into calls, with ids of their own. Without tools it does nothing.
//
// What counts as a call:
//
//   - markup or special tokens, see the table of shapes, anywhere outside code;
//   - JSON at the very beginning of the message, while no call came natively;
//   - either of them in a code fence that is the whole message;
//   - and it names an offered tool and has the arguments that requires, or it
//     is markup (or a tool_calls wrapper) and the whole message: then the
//     session's answer "unknown tool" helps more than markup on the screen.
//
// All else stays text. Text around calls is kept as it is; white space alone
// between calls, or between a call and either end of the message, belongs to
// the markup. Text behind a call goes to a block of its own, so that the message
// keeps its order. An answer with calls that ended with Stop ends with Calls.
func Calls(tools []llm.Tool) func(llm.Stream) llm.Stream {
	return func(s llm.Stream) llm.Stream {
		if len(tools) == 0 {
			return s
		}
		return func(yield func(llm.Event, error) bool) {
			c := &calls{Out: llm.NewOut(yield), tools: tools, begin: true, edge: true, clean: true}
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

type calls struct {
	*llm.Out
	tools []llm.Tool

	block string // the text block that is being read
	alias string // the block its text goes to
	open  bool   // block is set
	count int    // calls made so far

	begin  bool // nothing but white space came yet: JSON and fences may be calls
	clean  bool // nothing but white space and markup came yet
	edge   bool // nothing but white space came since the beginning or the last call
	native bool // a call came natively

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
	alone      bool   // a call only if no text follows
}

func (c *calls) event(e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		c.delta(d, e)
		return
	case llm.Finish:
		c.end(d.Reason == llm.Stop || d.Reason == llm.Calls)
		c.settle(false)
		c.rest()
		if c.count > 0 && d.Reason == llm.Stop {
			d.Reason = llm.Calls
			e = d
		}
	}
	c.Send(e)
}

// delta handles d, which is e.
func (c *calls) delta(d llm.Delta, e llm.Event) {
	switch {
	case d.Kind == llm.Call:
		c.native = c.native || !d.Remote
		c.release()
		c.begin, c.clean = false, false
	case d.Kind == llm.Text && (!c.open || d.Block != c.block):
		c.turn(d.Block)
	case c.open && d.Block == c.block && d.Kind != llm.Text && d.Kind != "":
		// The block was renamed: no text of the answer came so far.
		c.release()
		*c = calls{Out: c.Out, tools: c.tools, count: c.count, native: c.native, begin: true, edge: true, clean: true}
	}
	if !c.open || d.Block != c.block || d.Text == "" || d.Kind == llm.Call {
		c.Send(e)
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
func (c *calls) turn(block string) {
	if c.open {
		c.end(false)
		c.rest()
	}
	c.open, c.block, c.alias, c.md = true, block, block, markdown{}
}

// chunk is how much of a delta a parser gets at once: what it does not consume
// is read again.
const chunk = 512

// text handles text of the block, of which the first i bytes are known to hold
// no mark.
func (c *calls) text(s string, i int) {
	for s != "" && !c.Stopped() {
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
func (c *calls) plain(s string, i int) string {
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
				c.begin = false
				return c.start(nil, s)
			}
		}
	}
	for i = c.md.seek(s, i); i < len(s); i = c.md.seek(s, i+1) {
		shape, begins := announced(s[i:])
		if shape != nil || begins {
			c.say(s[:i])
			if shape != nil {
				return c.start(shape, s[i:])
			}
			c.held = s[i:]
			return ""
		}
		c.md.step(s[i])
	}
	c.say(s)
	return ""
}

// say sends text that is nothing else.
func (c *calls) say(s string) {
	if s == "" {
		return
	}
	c.settle(true)
	if len(c.blank) > 0 {
		s = string(c.blank) + s
		c.blank = nil
	}
	c.begin, c.clean, c.edge = false, false, false
	c.put(s)
}

func (c *calls) put(s string) {
	c.Send(llm.Delta{Block: c.alias, Part: llm.Part{Kind: llm.Text, Text: s}})
}

// settle decides what waits: text follows, or the message has ended.
func (c *calls) settle(text bool) {
	waiting := c.waiting
	c.waiting = nil
	for _, w := range waiting {
		if w.alone && text {
			c.put(w.blank + w.raw)
			c.clean, c.edge = false, false
		} else {
			c.make(w.calls)
		}
	}
}

// make sends calls.
func (c *calls) make(calls []call) {
	for _, found := range calls {
		c.count++
		c.Send(llm.Delta{Block: c.block + "/call" + strconv.Itoa(c.count), Part: llm.Part{
			Kind: llm.Call, ID: cmp.Or(found.id, id()), Name: found.name, Input: found.input,
		}})
	}
	c.alias, c.edge = c.block+"/text"+strconv.Itoa(c.count), true
}

// id is unique wherever a conversation goes.
func id() string {
	var b [12]byte
	rand.Read(b[:])
	return "call_" + hex.EncodeToString(b[:])
}

// rest sends the white space at the end, unless it belongs to a call.
func (c *calls) rest() {
	if len(c.blank) > 0 && !(c.edge && c.count+len(c.waiting) > 0) {
		c.put(string(c.blank))
	}
	c.blank = nil
}

// release gives back as text what is held back: a call came natively, or the
// answer broke off. Only markup of calls that fit stays a call.
func (c *calls) release() {
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
		c.waiting[i].alone = w.alone || w.json
	}
	c.settle(true)
	c.rest()
}

// A capture is a parser at work.
type capture struct {
	*parser
	shape *shape
	found found
	ok    bool
	next  func() (struct{}, bool)
	stop  func()
}

// start begins a capture with s and returns the rest.
func (c *calls) start(shape *shape, s string) string {
	k := &capture{parser: &parser{tools: c.tools}, shape: shape}
	k.next, k.stop = iter.Pull(func(yield func(struct{}) bool) {
		k.pause = yield
		k.found, k.ok = k.parse(shape)
	})
	c.capture = k
	return c.feed(s)
}

// feed hands s to the parser and returns what it left.
func (c *calls) feed(s string) string {
	k := c.capture
	if !k.add(s) {
		return ""
	}
	if _, paused := k.next(); paused {
		return ""
	}
	return c.take()
}

// end lets the parser come to an end with what it has.
func (c *calls) end(well bool) {
	for c.capture != nil && !c.Stopped() {
		c.capture.ended, c.capture.well = true, well
		c.capture.next()
		if rest := c.take(); rest != "" {
			c.text(rest, 0)
		}
	}
	held := c.held
	c.held = ""
	c.say(held)
}

// take takes what the parser, which has ended, found, and returns the rest.
func (c *calls) take() string {
	k := c.capture
	c.close()
	pos := k.pos
	if !k.ok && k.dry {
		pos = len(k.buf) // it broke off: what is in it is not looked at again
	} else if !k.ok && k.shape != nil {
		pos = max(pos, len(k.shape.mark()))
	}
	raw, rest := string(k.buf[:pos]), string(k.buf[pos:])
	fits := k.found.fits()
	switch {
	case !k.ok,
		k.found.json && c.native,
		!fits && (!k.found.markup || !c.clean || k.found.fenced):
		c.begin = false
		c.md.walk(raw)
		c.say(raw)
		return rest
	case fits && !k.found.json && !k.found.fenced && len(c.waiting) == 0:
		c.blank = nil
		c.make(k.found.calls)
	default:
		c.waiting = append(c.waiting, wait{k.found, string(c.blank), raw, !fits || k.found.fenced})
		c.blank = nil
	}
	c.begin, c.edge, c.md = false, true, markdown{}
	return rest
}

// close ends the parser.
func (c *calls) close() {
	if c.capture != nil {
		c.capture.stop()
		c.capture = nil
	}
}
