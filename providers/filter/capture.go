package filter

import "iter"

// A capture is a parser at work.
type capture struct {
	*parser
	syntax *callSyntax
	found  parsed
	ok     bool
	next   func() (struct{}, bool)
	stop   func()
}

// startCapture begins a capture with s and returns the rest.
func (c *callReader) startCapture(shape *callSyntax, s string) string {
	k := &capture{parser: &parser{options: c.options, first: c.atStart, line: c.md.indent >= 0}, syntax: shape}
	k.next, k.stop = iter.Pull(func(yield func(struct{}) bool) {
		k.pause = yield
		k.found, k.ok = k.parse(shape)
	})
	c.capture = k
	return c.feedCapture(s)
}

// feedCapture hands s to the parser and returns what it left.
func (c *callReader) feedCapture(s string) string {
	k := c.capture
	if !k.add(s) {
		return ""
	}
	if _, paused := k.next(); paused {
		return ""
	}
	return c.takeResult()
}

// endCapture lets the parser come to an end with what it has.
func (c *callReader) endCapture(well bool) {
	for c.capture != nil && !c.Stopped() {
		c.capture.ended, c.capture.complete = true, well
		c.capture.next()
		if rest := c.takeResult(); rest != "" {
			c.text(rest, 0)
		}
	}
	held := c.held
	c.held = ""
	c.sendText(held)
}

// takeResult takes what the parser, which has ended, found, and returns the rest.
func (c *callReader) takeResult() string {
	k := c.capture
	c.closeCapture()
	pos := k.pos
	if !k.ok && k.starved {
		pos = len(k.buf) // it broke off: what is in it is not looked at again
	} else if !k.ok && k.syntax != nil {
		pos = max(pos, len(k.syntax.mark()))
	}
	raw, rest := string(k.buf[:pos]), string(k.buf[pos:])
	switch c.judge(k) {
	case isText:
		c.atStart = false
		c.md.walk(raw)
		c.sendText(raw)
		return rest
	case isCall:
		c.space = nil
		c.sendCalls(k.found)
	case isLast:
		c.pending = append(c.pending, pendingCall{k.found, string(c.space), raw, c.alias, true})
		c.space = nil
	case isCallLater:
		c.pending = append(c.pending, pendingCall{k.found, string(c.space), raw, c.alias, false})
		c.space = nil
	}
	c.atStart, c.atEdge, c.md = false, true, c.markdown()
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
func (c *callReader) judge(k *capture) verdict {
	f := &k.found
	switch fits := f.allValid(); {
	case !k.ok, f.isJSON && (c.nativeCall || c.answer):
		return isText
	case fits && f.fenced, fits && f.anyRepaired(), fits && f.isJSON && !k.first:
		return isLast
	case fits && !f.isJSON && len(c.pending) == 0:
		return isCall
	case fits:
		return isCallLater
	case !c.lenient:
		return isText
	case !f.isJSON && !f.fenced, f.wrapped && k.first:
		return isLast
	case f.isJSON && c.prompted && !f.mayBeData() && (f.action || !f.fenced || k.first):
		return isLast
	}
	return isText
}

// closeCapture ends the parser.
func (c *callReader) closeCapture() {
	if c.capture != nil {
		c.capture.stop()
		c.capture = nil
	}
}
