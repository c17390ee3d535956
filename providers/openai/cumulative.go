package openai

import "strings"

// minRepeated is the number of repeated bytes after which text counts as cumulative while it still
// arrives: more than plain deltas repeat.
const minRepeated = 32

// A cumulative reads text of a service that, in some versions, sends all text so far in each chunk,
// and in others only the new text (Dialect.CumulativeReasoning). A block is cumulative if each of
// its chunks strictly extends the previous one: "1", "1", "12" are three plain deltas. The text is
// buffered until that is known.
type cumulative struct {
	isPlain, isCumulative bool
	last                  string // last chunk, unless plain
	pending               string // text of the chunks while undecided
	repeated              int    // number of repeated bytes
}

// add returns the text that a chunk adds, or "" while undecided.
func (c *cumulative) add(chunk string) string {
	rest, extends := strings.CutPrefix(chunk, c.last)
	switch {
	case c.isPlain || chunk == "":
		return chunk
	case c.isCumulative && extends:
		c.last = chunk
		return rest
	case c.isCumulative: // a new block
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

// flush ends a block and returns its buffered text.
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
