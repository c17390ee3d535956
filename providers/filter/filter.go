// Package filter rewrites the running text of a response: thinking that a server
// left in the text becomes thinking blocks (Think), tool calls that it left there
// become calls (Calls, Prompted, Actions), and the messages of gpt-oss become thinking, text or
// markup of calls, without tokens that end a turn (Harmony).
//
//	model ──► Harmony ──► Think ──► Calls ──► session
//
// Filters are functions from Stream to Stream without goroutines. They hold text
// back only while it may still be the beginning of a mark, and what comes out
// does not depend on where the stream was cut into deltas. Text in which nothing
// is found passes byte for byte, and without an allocation.
package filter

import "parley/providers/llm"

// A rewriter filters one response.
type rewriter interface {
	event(llm.Event)
	flush() // sends what is held back, at the end
	Fail(error)
	Stopped() bool
}

// rewrite passes s through r.
func rewrite(s llm.Stream, r rewriter) {
	for e, err := range s {
		if err != nil {
			r.flush()
			r.Fail(err)
		} else {
			r.event(e)
		}
		if r.Stopped() {
			return
		}
	}
	r.flush()
}

// sendHead sends what d sets besides text of a block, if anything.
func sendHead(out *llm.Out, d llm.Delta) {
	if !d.OnlyText() {
		d.Text = ""
		out.Send(d)
	}
}

// partialMark returns the length of the longest end of s that mark begins with.
func partialMark(s, mark string) int {
	for n := min(len(s), len(mark)-1); n > 0; n-- {
		if s[len(s)-n:] == mark[:n] {
			return n
		}
	}
	return 0
}
