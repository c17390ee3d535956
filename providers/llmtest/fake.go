package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"parley/providers/llm"
)

// A Turn writes one response, as an adapter would. If it returns nil without having sent a Finish,
// the response was interrupted.
type Turn func(ctx context.Context, req llm.Request, out *llm.Out) error

// A Fake is a scripted model. It is safe for concurrent use.
type Fake struct {
	mu       sync.Mutex
	turns    []Turn
	requests []llm.Request
}

// New returns a model that answers the nth request with the nth turn. Further requests fail with an
// error that says so.
func New(turns ...Turn) *Fake { return &Fake{turns: turns} }

// Stream answers with the next turn. It takes the turn when the stream is ranged over, as an
// adapter sends its request then.
func (f *Fake) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		turn, n := f.nextTurn(req)
		if turn == nil {
			return fmt.Errorf("llmtest: request %d, but only %d turns are scripted", n, n-1)
		}
		return turn(ctx, req, out)
	})
}

// nextTurn records req. It returns its turn, nil if there is none, and its number, counted from 1.
func (f *Fake) nextTurn(req llm.Request) (Turn, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, clone(req))
	n := len(f.requests)
	if n > len(f.turns) {
		return nil, len(f.turns) + 1
	}
	return f.turns[n-1], n
}

// Requests returns copies of the requests so far, in the order received.
func (f *Fake) Requests() []llm.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]llm.Request, len(f.requests))
	for i, req := range f.requests {
		out[i] = clone(req)
	}
	return out
}

// clone copies everything in req that a caller could modify later.
func clone(req llm.Request) llm.Request {
	req.Messages = slices.Clone(req.Messages)
	for i, m := range req.Messages {
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			parts[j].Data = bytes.Clone(p.Data)
			parts[j].State = bytes.Clone(p.State)
		}
		req.Messages[i].Parts = parts
	}
	req.Tools = slices.Clone(req.Tools)
	for i, t := range req.Tools {
		req.Tools[i].Schema = bytes.Clone(t.Schema)
	}
	req.Stop = slices.Clone(req.Stop)
	return req
}

// Say answers with text, in pieces.
func Say(pieces ...string) Turn { return Think("", pieces...) }

// Think answers with thinking, then with text in pieces.
func Think(thinking string, pieces ...string) Turn {
	return func(_ context.Context, req llm.Request, out *llm.Out) error {
		if thinking != "" {
			out.Send(llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Thinking, Text: thinking}})
		}
		say(out, pieces)
		out.Send(count(req, len(thinking), pieces))
		out.Send(llm.Finish{Reason: llm.Stop, Raw: "stop"})
		return nil
	}
}

// Call answers with tool calls. Calls without an ID get "call_1", "call_2" and so on.
func Call(calls ...llm.Part) Turn {
	return func(_ context.Context, req llm.Request, out *llm.Out) error {
		var inputs []string
		for i, call := range calls {
			call.Kind = llm.Call
			if call.ID == "" {
				call.ID = "call_" + strconv.Itoa(i+1)
			}
			out.Send(llm.Delta{Block: "c" + strconv.Itoa(i), Part: call})
			inputs = append(inputs, call.Input)
		}
		out.Send(count(req, 0, inputs))
		out.Send(llm.Finish{Reason: llm.Calls, Raw: "tool_calls"})
		return nil
	}
}

// Fail answers with the events in before, and then with an error.
func Fail(err error, before ...llm.Event) Turn {
	return func(ctx context.Context, req llm.Request, out *llm.Out) error {
		_ = Script(before...)(ctx, req, out)
		return err
	}
}

// Cut answers with text, and ends without a Finish.
func Cut(pieces ...string) Turn {
	return func(_ context.Context, _ llm.Request, out *llm.Out) error {
		say(out, pieces)
		return nil
	}
}

// Hang answers with text, and then waits until the request is canceled.
func Hang(pieces ...string) Turn {
	return func(ctx context.Context, _ llm.Request, out *llm.Out) error {
		if !say(out, pieces) {
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// Script answers with exactly these events.
func Script(events ...llm.Event) Turn {
	return func(_ context.Context, _ llm.Request, out *llm.Out) error {
		for _, e := range events {
			if !out.Send(e) {
				break
			}
		}
		return nil
	}
}

// say sends text in pieces and reports whether the consumer has not left.
func say(out *llm.Out, pieces []string) bool {
	for _, piece := range pieces {
		if !out.Send(llm.Delta{Block: "1", Part: llm.Part{Kind: llm.Text, Text: piece}}) {
			return false
		}
	}
	return !out.Stopped()
}

// count returns a plausible usage: one token per four bytes of JSON. Long texts are counted without
// encoding them.
func count(req llm.Request, thinking int, pieces []string) llm.Usage {
	const long = 4 << 10
	in, out := len(req.System), thinking
	for _, m := range req.Messages {
		parts := slices.Clone(m.Parts)
		for i := range parts {
			p := &parts[i]
			if len(p.Text) > long {
				in, p.Text = in+len(p.Text), ""
			}
			if len(p.Data) > long {
				in, p.Data = in+len(p.Data)*4/3, nil
			}
		}
		text, _ := json.Marshal(parts)
		in += len(text)
	}
	for _, piece := range pieces {
		out += len(piece)
	}
	return llm.Usage{Input: in/4 + 1, Output: out/4 + 1, Thinking: thinking / 4}
}
