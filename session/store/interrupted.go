package store

import "parley/providers/llm"

// What the model is told of calls that the end of the program interrupted.
const (
	// StartedCallText answers one that had begun.
	StartedCallText = "Interrupted: the program ended while this ran. What it did until then is not known."
	// UnstartedCallText answers one that had not begun, or only read.
	UnstartedCallText = "Interrupted: the program ended before this was finished. It changed nothing."
)

// CloseInterrupted returns n as it counts once nobody writes it any more: an answer
// that was still arriving is cut, and each of calls, those of the message in
// front of n, that has no result in n gets one. A node that is not open is
// returned as it is.
func CloseInterrupted(n Node, calls []llm.Part) Node {
	if !n.Partial {
		return n
	}
	n.Partial = false
	switch n.Role {
	case llm.RoleAssistant:
		n.Interrupted = true
	case llm.RoleTool:
		n.Parts = append(n.Parts[:len(n.Parts):len(n.Parts)], unanswered(n, calls)...)
	}
	return n
}

// unanswered returns a result for each call that n has none for.
func unanswered(n Node, calls []llm.Part) (missing []llm.Part) {
	has := map[string]bool{}
	for _, p := range n.Parts {
		has[p.ID] = true
	}
	for _, c := range calls {
		if has[c.ID] {
			continue
		}
		text := UnstartedCallText
		if n.Results[c.ID].Started {
			text = StartedCallText
		}
		missing = append(missing, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: text, Failed: true})
	}
	return missing
}
