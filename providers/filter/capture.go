package filter

// A capture is a running parser, and its result.
type capture struct {
	*parser
	syntax *callSyntax
	found  parsed
	ok     bool
}

// startCapture starts a capture with s and returns the rest.
func (c *callReader) startCapture(syntax *callSyntax, s string) string {
	k := &capture{parser: &parser{options: c.options, first: c.atStart, line: c.md.indent >= 0}, syntax: syntax}
	k.start(func() { k.found, k.ok = k.parse(syntax) })
	c.capture = k
	return c.feedCapture(s)
}

// feedCapture passes s to the parser and returns the unconsumed rest.
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

// endCapture ends the parser's text; well means that the response ended normally.
func (c *callReader) endCapture(well bool) {
	for c.capture != nil && !c.Stopped() {
		c.capture.finish(well)
		if rest := c.takeResult(); rest != "" {
			c.text(rest, 0)
		}
	}
	undecided := c.undecided
	c.undecided = ""
	c.sendText(undecided)
}

// takeResult takes the result of the finished parser and returns the rest of the text.
func (c *callReader) takeResult() string {
	k := c.capture
	c.closeCapture()
	pos := k.pos
	if !k.ok && k.starved {
		pos = len(k.buf) // the text ended inside it, so it is not parsed again
	} else if !k.ok && k.syntax != nil {
		pos = max(pos, len(k.syntax.mark()))
	}
	raw, rest := string(k.buf[:pos]), string(k.buf[pos:])
	switch v := c.judge(k); v {
	case asText:
		c.atStart = false
		c.md.stepAll(raw)
		c.sendText(raw)
		return rest
	case asCall:
		c.space = nil
		c.sendCalls(k.found)
	default:
		c.pending = append(c.pending, pendingCall{k.found, string(c.space), raw, c.alias, v == asCallIfLast})
		c.space = nil
	}
	c.atStart, c.atEdge, c.md = false, true, c.markdown()
	return rest
}

// A verdict is the use of a parser's result.
type verdict byte

const (
	asText       verdict = iota
	asCall               // immediately
	asCallLater          // after the pending ones, unless a native call comes
	asCallIfLast         // if no text follows
)

// judge decides whether the calls found by k count; see Calls and Prompted.
func (c *callReader) judge(k *capture) verdict {
	f := &k.found
	switch fits := f.allValid(); {
	case !k.ok, f.isJSON && (c.nativeCall || c.answer):
		return asText
	case fits && f.fenced, fits && f.anyRepaired(), fits && f.isJSON && !k.first:
		return asCallIfLast
	case fits && !f.isJSON && len(c.pending) == 0:
		return asCall
	case fits:
		return asCallLater
	case !c.lenient:
		return asText
	case !f.isJSON && !f.fenced, f.wrapped && k.first:
		return asCallIfLast
	case f.isJSON && c.prompted && !f.mayBeData() && (f.action || !f.fenced || k.first):
		return asCallIfLast
	}
	return asText
}

// closeCapture ends the parser.
func (c *callReader) closeCapture() {
	if c.capture != nil {
		c.capture.stop()
		c.capture = nil
	}
}
