package openai

import "strings"

// minRepeated is how many bytes have to come again before text counts as cumulative while it is
// arriving: more than plain deltas repeat.
const minRepeated = 32

// A cumulative reads text of a service some of whose versions send all text so far in each chunk,
// and others the new text (Dialect.CumulativeReasoning). A block is cumulative if each of its chunks
// strictly extends the one before: "1", "1", "12" are three plain deltas. Until that is known its
// text is buffered.
type cumulative struct {
	isPlain, isCumulative bool
	last                  string // chunk, unless plain
	pending               string // chunks so far, while undecided
	repeated              int    // bytes that came again
}

// add returns what a chunk adds to the text, as far as that is decided.
func (c *cumulative) add(chunk string) string {
	rest, extends := strings.CutPrefix(chunk, c.last)
	switch {
	case c.isPlain || chunk == "":
		return chunk
	case c.isCumulative && extends:
		c.last = chunk
		return rest
	case c.isCumulative: // another block
		*c = cumulative{}
		return c.add(chunk)
	case !extends, rest == "":
		pending := c.pending
		*c = cumulative{isPlain: true}
		return pending + chunk
	}
	c.repeated += len(c.last)
	c.last = chunk
	if c.repeated < minRepeated {
		c.pending += chunk
		return ""
	}
	c.isCumulative, c.pending = true, ""
	return chunk
}

// flush ends a block and returns its text that is held back.
func (c *cumulative) flush() string {
	if c.isCumulative {
		return ""
	}
	held := *c
	if *c = (cumulative{}); held.repeated > 0 {
		c.isCumulative, c.last = true, held.last
	}
	return held.last
}
