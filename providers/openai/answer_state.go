package openai

import (
	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/share"
	"parley/providers/wire"
)

// An answerState is the state shared by answers of both wire formats.
type answerState struct {
	out         *llm.Out
	shared      *share.Body // a body with several answers to the same request; nil for none
	gotChoice   bool        // a choice of this answer came in shared
	othersEnded bool        // another answer in shared ended
	blocks      adapter.Blocks
	ids         adapter.CallIDs
	label       label
	usage       llm.Usage
	hasUsage    bool
	cited       adapter.Set // addresses of the sources already sent
}

// cite sends a source unless its address was sent before.
func (t *answerState) cite(c citation) {
	if c.URL == "" || t.cited.Has(c.URL) {
		return
	}
	t.cited.Add(c.URL)
	t.out.Send(llm.Delta{Block: t.blocks.New("s"), Part: llm.Part{Kind: llm.Source, URL: c.URL, Name: c.Title, Text: c.Content}})
}

// setUsage stores n unless it is zero and an earlier usage exists.
func (t *answerState) setUsage(n llm.Usage) {
	if n != (llm.Usage{}) || !t.hasUsage {
		t.usage, t.hasUsage = n, true
	}
}

// sendUsage sends the usage, if any. The usage of a response with several answers is sent with one
// of them.
func (t *answerState) sendUsage() {
	if t.hasUsage && t.shared.CountsUsage() {
		t.usage.Shared = t.shared != nil
		t.out.Send(t.usage)
	}
}

// bodyError returns the error in an event or body of a response with status 200.
func (t *answerState) bodyError(data []byte) error {
	t.sendUsage()
	return wire.BodyError(data)
}
