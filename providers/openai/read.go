package openai

import (
	"io"
	"strconv"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A decoder turns the answer of one wire format into events.
type decoder interface {
	// event reads the data of one server-sent event, and reports whether it was
	// the last of the answer.
	event(name string, data []byte) (last bool, err error)
	// whole reads an answer that comes in one piece.
	whole(data []byte) error
	// end finishes a stream that ended. Done says that the server said so.
	end(done bool) error
}

// read reads the body of a response, until the answer is complete. The body may
// be a stream of events or one JSON answer.
func read(body io.Reader, out *llm.Out, d decoder) error {
	r, first := wire.Sniff(body)
	if first != '{' {
		return stream(wire.NewEvents(r), out, d)
	}
	data, err := wire.ReadAll(r)
	if err != nil {
		return err
	}
	return d.whole(data)
}

// stream reads an answer that comes in events.
func stream(e *wire.Events, out *llm.Out, d decoder) error {
	for !out.Stopped() {
		data, err := e.Next()
		if err != nil {
			if end := d.end(e.Done); end != wire.ErrInterrupted || err == io.EOF {
				return end
			}
			return err
		}
		if last, err := d.event(e.Name, data); last || err != nil {
			return err
		}
	}
	return nil
}

// A tally is what the answers of both formats keep count of.
type tally struct {
	out     *llm.Out
	shared  *llm.SharedBody // holds other answers to the same request as well; nil for none
	chosen  bool            // of shared: a choice of this answer came
	others  bool            // another one ended
	opened  int             // blocks so far
	label   label
	usage   llm.Usage
	counted bool
}

// open names a new block.
func (t *tally) open(prefix string) string {
	t.opened++
	return prefix + strconv.Itoa(t.opened)
}

// count keeps the last numbers that say anything.
func (t *tally) count(n llm.Usage) {
	if n != (llm.Usage{}) || !t.counted {
		t.usage, t.counted = n, true
	}
}

// report sends the numbers, if there are any. Those of a response with several
// answers are sent with one of them.
func (t *tally) report() {
	if t.counted && t.shared.CountsUsage() {
		t.usage.Shared = t.shared != nil
		t.out.Send(t.usage)
	}
}

// failed is the error that an event or a body of a 200 answer tells.
func (t *tally) failed(data []byte) error {
	t.report()
	return wire.BodyError(data)
}
