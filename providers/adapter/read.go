package adapter

import (
	"io"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A decoder turns an answer of one wire format into events.
type decoder interface {
	// OnEvent handles the data of one server-sent event, and reports whether it was the last one of
	// the answer.
	OnEvent(name string, data []byte) (last bool, err error)
	// OnBody handles an answer sent in one piece: an object or a list.
	OnBody(data []byte) error
	// OnEnd finishes a stream that ended. Done means that the server marked the end. OnEnd returns
	// wire.ErrInterrupted if the answer is incomplete.
	OnEnd(done bool) error
}

// Read reads the body of a response until the answer is complete or the consumer of out has left.
// The body may be a stream of events or one JSON value.
func Read(body io.Reader, out *llm.Out, d decoder) error {
	r, first := wire.Sniff(body)
	if first == '{' || first == '[' {
		data, err := wire.ReadAll(r)
		if err != nil {
			return err
		}
		return d.OnBody(data)
	}
	events := wire.NewEvents(r)
	for !out.Stopped() {
		data, err := events.Next()
		if err != nil {
			if end := d.OnEnd(events.Done && err == io.EOF); end != wire.ErrInterrupted || err == io.EOF {
				return end
			}
			return err
		}
		if last, err := d.OnEvent(events.Name, data); last || err != nil {
			return events.Blame(data, err)
		}
	}
	return nil
}

// FinishReason translates a service's finish reason in any spelling. Calls means that there are
// calls for parley to answer. Unknown words are llm.Other; "" is the ordinary end.
func FinishReason(word string, calls bool) llm.Reason {
	reason := llm.Other
	switch strings.ToLower(strings.ReplaceAll(word, "_", "")) {
	case "", "stop", "eos", "stopsequence", "endturn", "completed":
		reason = llm.Stop
	case "length", "maxtokens", "modellength", "modelcontextwindowexceeded", "continuation":
		reason = llm.Length
	case "toolcalls", "functioncall", "tooluse":
		reason = llm.Calls
	case "contentfilter", "sensitive", "refusal", "safety", "recitation", "blocklist", "prohibitedcontent", "spii", "modelarmor",
		"imagesafety", "imageprohibitedcontent", "imagerecitation":
		reason = llm.Refused
	}
	switch {
	case calls && reason == llm.Stop:
		return llm.Calls
	case !calls && reason == llm.Calls:
		return llm.Stop
	}
	return reason
}
