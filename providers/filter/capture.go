package filter

import "iter"

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
func (c *reader) start(shape *shape, s string) string {
	k := &capture{parser: &parser{options: c.options, first: c.begin, line: c.md.indent >= 0}, shape: shape}
	k.next, k.stop = iter.Pull(func(yield func(struct{}) bool) {
		k.pause = yield
		k.found, k.ok = k.parse(shape)
	})
	c.capture = k
	return c.feed(s)
}

// feed hands s to the parser and returns what it left.
func (c *reader) feed(s string) string {
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
func (c *reader) end(well bool) {
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
func (c *reader) take() string {
	k := c.capture
	c.close()
	pos := k.pos
	if !k.ok && k.dry {
		pos = len(k.buf) // it broke off: what is in it is not looked at again
	} else if !k.ok && k.shape != nil {
		pos = max(pos, len(k.shape.mark()))
	}
	raw, rest := string(k.buf[:pos]), string(k.buf[pos:])
	switch c.judge(k) {
	case isText:
		c.begin = false
		c.md.walk(raw)
		c.say(raw)
		return rest
	case isCall:
		c.blank = nil
		c.make(k.found)
	case isLast:
		c.waiting = append(c.waiting, wait{k.found, string(c.blank), raw, c.alias, true})
		c.blank = nil
	case isCallLater:
		c.waiting = append(c.waiting, wait{k.found, string(c.blank), raw, c.alias, false})
		c.blank = nil
	}
	c.begin, c.edge, c.md = false, true, c.markdown()
	return rest
}

// A verdict is what becomes of what a parser found.
type verdict byte

const (
	isText      verdict = iota
	isCall              // at once
	isCallLater         // behind those that wait, unless a call comes natively
	isLast              // if no text follows
)

// judge decides what the calls that k found are; see Calls and Prompted.
func (c *reader) judge(k *capture) verdict {
	f := &k.found
	switch fits := f.fits(); {
	case !k.ok, f.json && (c.native || c.answer):
		return isText
	case fits && f.fenced, fits && f.mended(), fits && f.json && !k.first:
		return isLast
	case fits && !f.json && len(c.waiting) == 0:
		return isCall
	case fits:
		return isCallLater
	case !c.lenient:
		return isText
	case !f.json && !f.fenced, f.wrapped && k.first:
		return isLast
	case f.json && c.prompted && !f.vague() && (f.action || !f.fenced || k.first):
		return isLast
	}
	return isText
}

// close ends the parser.
func (c *reader) close() {
	if c.capture != nil {
		c.capture.stop()
		c.capture = nil
	}
}
