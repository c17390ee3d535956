// Package filter rewrites the running text of an answer: thinking that a server
// left in the text becomes thinking blocks (Think), tool calls that it left
// there become calls (Calls), and tokens that end a turn go (Ends).
//
//	model ──► Ends ──► Think ──► Calls ──► session
//
// Filters are functions from Stream to Stream without goroutines. They hold text
// back only while it may still be the beginning of a mark, and what comes out
// does not depend on where the stream was cut into deltas. Text in which nothing
// is found passes byte for byte, and without an allocation.
package filter

import "parley/providers/llm"

// A rewriter is a filter on one answer.
type rewriter interface {
	event(llm.Event)
	release() // passes on what is held back: nothing follows
	Fail(error)
	Stopped() bool
}

// rewrite passes s through r.
func rewrite(s llm.Stream, r rewriter) {
	for e, err := range s {
		if err != nil {
			r.release()
			r.Fail(err)
		} else {
			r.event(e)
		}
		if r.Stopped() {
			return
		}
	}
	r.release()
}

// hasMore reports whether d says anything besides text of a block.
func hasMore(d llm.Delta) bool { return !d.OnlyText() }

// partialMark returns the length of the longest end of s with which mark may begin.
func partialMark(s, mark string) int {
	for n := min(len(s), len(mark)-1); n > 0; n-- {
		if s[len(s)-n:] == mark[:n] {
			return n
		}
	}
	return 0
}
