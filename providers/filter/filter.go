// Package filter rewrites the running text of an answer: thinking that a server
// left in the text becomes thinking blocks (Think), tool calls that it left
// there become calls (Calls).
//
//	model ──► Think ──► Calls ──► session
//
// Filters are functions from Stream to Stream without goroutines. They hold text
// back only while it may still be the beginning of a mark, and what comes out
// does not depend on where the stream was cut into deltas. Text in which nothing
// is found passes byte for byte, and without an allocation.
package filter

import "parley/providers/llm"

// ThinkOptions say how a server marks thinking in its text.
type ThinkOptions struct {
	// Prefilled says that the server's template opens the thinking itself, so
	// that an answer begins with thinking and only the closing tag arrives.
	Prefilled bool
}

// Think returns a filter that turns tagged thinking at the very beginning of an
// answer into a thinking block of its own.
func Think(o ThinkOptions) func(llm.Stream) llm.Stream {
	return func(s llm.Stream) llm.Stream { return s }
}

// Calls returns a filter that turns tool calls which a model wrote into its
// text into calls.
func Calls(tools []llm.Tool) func(llm.Stream) llm.Stream {
	return func(s llm.Stream) llm.Stream { return s }
}
