package openai

import "strings"

const (
	// minRepeated is how many bytes have to come again for text to count as cumulative:
	// more than plain deltas repeat from their very beginning.
	minRepeated = 32
	// maxUndecided bounds what is held back until that is known, in bytes.
	maxUndecided = 1 << 10
)

// A cumulative reads text of a service of which some versions send in each chunk all text so far,
// and others the new text (Dialect.CumulativeReasoning). It decides once for a stream: chunks that
// from the first on begin with the chunk before are cumulative once minRepeated bytes have been
// repeated; any others are plain deltas. A few characters decide nothing: "1", "1", "12" are three
// plain deltas. Until then text is held back.
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
	case !extends, len(c.pending) > maxUndecided:
		return c.setPlain() + chunk
	case c.isCumulative:
		c.last = chunk
		return rest
	case rest != "":
		c.repeated += len(c.last)
	}
	c.last = chunk
	if c.repeated < minRepeated {
		c.pending += chunk
		return ""
	}
	c.isCumulative, c.pending = true, ""
	return chunk
}

// flush returns what is held back where something else follows: plain deltas, if
// that was undecided.
func (c *cumulative) flush() string {
	if c.isCumulative {
		return ""
	}
	return c.setPlain()
}

// setPlain decides that what came is plain, and returns what is held back.
func (c *cumulative) setPlain() string {
	pending := c.pending
	*c = cumulative{isPlain: true}
	return pending
}
