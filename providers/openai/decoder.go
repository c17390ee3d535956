package openai

import (
	"io"
	"strconv"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A decoder turns the answer of one wire format into events.
type decoder interface {
	// onEvent reads the data of one server-sent event, and reports whether it was
	// the last of the answer.
	onEvent(name string, data []byte) (last bool, err error)
	// onBody reads an answer that comes in one piece.
	onBody(data []byte) error
	// onEnd finishes a stream that ended. Done says that the server said so.
	onEnd(done bool) error
}

// readBody reads the body of a response, until the answer is complete. The body may
// be a stream of events or one JSON answer.
func readBody(body io.Reader, out *llm.Out, d decoder) error {
	r, first := wire.Sniff(body)
	if first != '{' {
		return readEvents(wire.NewEvents(r), out, d)
	}
	data, err := wire.ReadAll(r)
	if err != nil {
		return err
	}
	return d.onBody(data)
}

// readEvents reads an answer that comes in events.
func readEvents(e *wire.Events, out *llm.Out, d decoder) error {
	for !out.Stopped() {
		data, err := e.Next()
		if err != nil {
			if end := d.onEnd(e.Done); end != wire.ErrInterrupted || err == io.EOF {
				return end
			}
			return err
		}
		if last, err := d.onEvent(e.Name, data); last || err != nil {
			return err
		}
	}
	return nil
}

// A answerState is what the answers of both formats keep count of.
type answerState struct {
	out         *llm.Out
	shared      *llm.SharedBody // holds other answers to the same request as well; nil for none
	gotChoice   bool            // of shared: a choice of this answer came
	othersEnded bool            // another one ended
	blocks      int             // blocks so far
	label       label
	usage       llm.Usage
	hasUsage    bool
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

// bodyError is the error that an event or a body of a 200 answer tells.
func (t *answerState) bodyError(data []byte) error {
	t.sendUsage()
	return wire.BodyError(data)
}
