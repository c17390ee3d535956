package archive

import (
	"maps"
	"slices"

	"parley/providers/llm"
)

// Masked returns c with what mask makes of its texts, of the arguments of calls
// and of their results, and in c.Masked how many of those it changed. What
// providers want back byte for byte, State, stays, and so do files.
func Masked(c Conversation, mask func(string) string) Conversation {
	clean := func(text *string) {
		if masked := mask(*text); masked != *text {
			*text = masked
			c.Masked++
		}
	}
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Parts = slices.Clone(n.Parts)
		for k := range n.Parts {
			p := &n.Parts[k]
			clean(&p.Text)
			clean(&p.Input)
			if p.Kind != llm.Call && p.Kind != llm.Result { // theirs is the tool's
				clean(&p.Name)
			}
		}
		n.Results = maps.Clone(n.Results)
		for _, id := range slices.Sorted(maps.Keys(n.Results)) {
			o := n.Results[id]
			clean(&o.Diff)
			n.Results[id] = o
		}
	}
	clean(&c.Session.Title)
	clean(&c.Session.Preview)
	return c
}
