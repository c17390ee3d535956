package openai

import (
	"strconv"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An answerState is the state that answers of both formats share.
type answerState struct {
	out         *llm.Out
	shared      *llm.SharedBody // holds other answers to the same request as well; nil for none
	gotChoice   bool            // of shared: a choice of this answer came
	othersEnded bool            // another one ended
	blocks      int             // blocks so far
	ids         adapter.CallIDs
	label       label
	usage       llm.Usage
	hasUsage    bool
	cited       adapter.Set // addresses of the sources that were sent
}

// cite sends a source, each address once.
func (t *answerState) cite(c citation) {
	if c.URL == "" || t.cited.Has(c.URL) {
		return
	}
	t.cited.Add(c.URL)
	t.out.Send(llm.Delta{Block: t.newBlock("s"), Part: llm.Part{Kind: llm.Source, URL: c.URL, Name: c.Title, Text: c.Content}})
}

// newBlock names a new block.
func (t *answerState) newBlock(prefix string) string {
	t.blocks++
	return prefix + strconv.Itoa(t.blocks)
}

// setUsage keeps the last numbers that say anything.
func (t *answerState) setUsage(n llm.Usage) {
	if n != (llm.Usage{}) || !t.hasUsage {
		t.usage, t.hasUsage = n, true
	}
}

// sendUsage sends the numbers, if there are any. Those of a response with several
// answers are sent with one of them.
func (t *answerState) sendUsage() {
	if t.hasUsage && t.shared.CountsUsage() {
		t.usage.Shared = t.shared != nil
		t.out.Send(t.usage)
	}
}

// bodyError returns the error that an event or a body of a 200 answer tells.
func (t *answerState) bodyError(data []byte) error {
	t.sendUsage()
	return wire.BodyError(data)
}
