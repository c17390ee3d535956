// Package filter rewrites the text of a response as it arrives: thinking left in the text becomes
// thinking blocks (Think), tool calls left in the text become calls (Calls, Prompted, Actions), and
// the messages of gpt-oss become thinking, text or call markup, without end-of-turn tokens
// (Harmony).
//
//	model ──► Harmony ──► Think ──► Calls ──► session
//
// Filters are functions from Stream to Stream without goroutines. They buffer text only while it
// may begin a mark, and their output does not depend on how the stream is split into deltas. Text
// without marks passes unchanged and without allocations.
package filter

import "parley/providers/llm"

// A rewriter filters one response.
type rewriter interface {
	event(llm.Event)
	flush() // sends buffered content at the end
	Fail(error)
	Stopped() bool
}

// rewrite passes the events of s through r.
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

// sendHead sends the fields of d other than a block's text, if any.
func sendHead(out *llm.Out, d llm.Delta) {
	if !d.OnlyText() {
		d.Text = ""
		out.Send(d)
	}
}

// partialMark returns the length of the longest suffix of s that is a proper prefix of mark.
func partialMark(s, mark string) int {
	for n := min(len(s), len(mark)-1); n > 0; n-- {
		if s[len(s)-n:] == mark[:n] {
			return n
		}
	}
	return 0
}
