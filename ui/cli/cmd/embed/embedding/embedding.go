// Package embedding turns any number of texts into vectors: it splits them into requests that the model accepts, sends
// several at once, retries failed ones for a while, and returns the vectors in the order of the texts.
//
//	texts ──► split ──► a few requests at once ──► in order ──► Batches
//	           ▲ waits while earlier ones are on their way
//
// Only texts on their way are in memory, so that they may come from a file of any size. Batches before an error are
// complete: the work can continue after them.
package embedding

import (
	"context"
	"fmt"
	"iter"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/retry"
)

// An Input is a text to embed.
type Input struct {
	Line int    // line number, from 1
	File string // file of the text; "" for arguments and standard input
	Text string
}

// A Batch holds some inputs, in order, with a vector for each.
type Batch struct {
	Inputs  []Input
	Vectors [][]float32
	Bill    works.Bill
	Notes   []string // for the user: settings left out of the request
}

// Options limit the requests. The zero value has the defaults.
type Options struct {
	works.EmbedOptions
	Model    string                                           // for errors
	MaxInput int                                              // tokens per text; 0 if unknown
	MaxBatch int                                              // texts per request, if fewer than the model accepts; 0 is the model's limit
	Parallel int                                              // requests at once; 0 is 4
	Reserve  func(tokens int) error                           // called once for the texts of each request before they are sent; an error ends the run; nil for none
	Retries  int                                              // per request; 0 is 5
	Sleep    func(ctx context.Context, d time.Duration) error // nil sleeps
}

const (
	usualParallel = 4
	usualRetries  = 5
	// estimateMargin is how far, in percent, the estimated tokens of a text may exceed a limit before the text is
	// refused unsent: tokenizers differ.
	estimateMargin = 25
	// estimateShare is the percentage of a request's token limit that is filled by estimate.
	estimateShare = 80
)

// A TooLongError reports a text that is too long for the model. No part of it was sent.
type TooLongError struct {
	Input
	Tokens, Limit int // estimated tokens, and the model's limit
	Model         string
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%s: about %d tokens, and %s takes %d: split the text", e.Place(), e.Tokens, e.Model, e.Limit)
}

// Place returns the place of an input, as "line 3" or "notes.txt:3".
func (in Input) Place() string {
	if in.File != "" {
		return fmt.Sprintf("%s:%d", in.File, in.Line)
	}
	return fmt.Sprintf("line %d", in.Line)
}

// Run embeds inputs, which must not be blank, and yields batches in order. It ends with its first error: one of inputs,
// a *TooLongError, or an *llm.Error of the model. All batches before the failed input have been yielded by then.
func Run(ctx context.Context, e works.Embedder, inputs iter.Seq2[Input, error], o Options) iter.Seq2[Batch, error] {
	if o.Parallel < 1 {
		o.Parallel = usualParallel
	}
	if o.Retries < 1 {
		o.Retries = usualRetries
	}
	return func(yield func(Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r := &run{e: e, o: o, gate: newGate(ctx, o.Parallel)}
		queue := make(chan chan result, o.Parallel)
		go func() { // not waited for: a read of inputs may hang
			defer close(queue)
			r.read(ctx, inputs, queue)
		}()
		for {
			select {
			case <-ctx.Done():
				yield(Batch{}, context.Cause(ctx))
				return
			case pending, ok := <-queue:
				if !ok || !yieldResult(<-pending, yield) {
					return
				}
			}
		}
	}
}

// yieldResult yields a result and reports whether to continue.
func yieldResult(got result, yield func(Batch, error) bool) bool {
	if len(got.batch.Inputs) > 0 && !yield(got.batch, nil) {
		return false
	}
	if got.err != nil {
		yield(Batch{}, got.err)
	}
	return got.err == nil
}

// A run is one call of Run.
type run struct {
	e    works.Embedder
	o    Options
	gate *gate
}

type result struct {
	batch Batch
	err   error
}

// read splits inputs into batches, and starts a request for each once queue has room.
func (r *run) read(ctx context.Context, inputs iter.Seq2[Input, error], queue chan<- chan result) {
	texts, tokens := r.e.Batch()
	if r.o.MaxBatch > 0 {
		texts = min(texts, r.o.MaxBatch)
	}
	tokens = tokens * estimateShare / 100
	var batch []Input
	size := 0
	send := func(end error) bool {
		pending := make(chan result, 1)
		select {
		case queue <- pending:
		case <-ctx.Done():
			return false
		}
		if end != nil {
			pending <- result{err: end}
			return false
		}
		err := error(nil)
		if r.o.Reserve != nil {
			err = r.o.Reserve(size)
		}
		now := batch
		batch, size = nil, 0
		if err == nil {
			err = r.gate.enter() // here, so that requests are sent in order
		}
		if err != nil {
			pending <- result{err: err}
			return false
		}
		go func() {
			got, err := r.embed(ctx, now, true)
			pending <- result{got, err}
		}()
		return true
	}
	for in, err := range inputs {
		n := 0
		if err == nil {
			n, err = r.estimate(in)
		}
		full := len(batch) >= texts || tokens > 0 && size+n > tokens
		if len(batch) > 0 && (full || err != nil) && !send(nil) {
			return
		}
		if err != nil {
			send(err)
			return
		}
		batch, size = append(batch, in), size+n
	}
	if len(batch) > 0 {
		send(nil)
	}
}

// estimate returns the estimated tokens of a text, or an error if no request can hold it.
func (r *run) estimate(in Input) (tokens int, err error) {
	tokens = catalog.Estimate(in.Text)
	if limit := r.o.MaxInput; limit > 0 && tokens > limit+limit*estimateMargin/100 {
		return 0, &TooLongError{Input: in, Tokens: tokens, Limit: limit, Model: r.o.Model}
	}
	return tokens, nil
}

// embed sends one batch. It retries after errors that may be temporary, and halves a batch that is too large. With an
// error it returns the part before it. Entered means that the request has entered the gate.
func (r *run) embed(ctx context.Context, inputs []Input, entered bool) (Batch, error) {
	texts := make([]string, len(inputs))
	for i, in := range inputs {
		texts[i] = in.Text
	}
	var got *works.Embedded
	err := retry.Do(ctx, retry.Options{MaxRetries: r.o.Retries, MaxTotalWait: maxWait, Sleep: r.o.Sleep}, func(ctx context.Context) (err error) {
		if !entered {
			if err := r.gate.enter(); err != nil {
				return err
			}
		}
		entered = false
		got, err = r.e.Embed(ctx, texts, r.o.EmbedOptions)
		r.gate.leave(llm.FaultOf(err) == llm.RateLimit)
		return err
	})
	switch {
	case err == nil:
		return Batch{inputs, got.Vectors, got.Bill, got.Notes}, nil
	case llm.FaultOf(err) != llm.ContextOverflow:
		return Batch{}, err
	case len(inputs) == 1:
		return Batch{}, fmt.Errorf("%s: %w", inputs[0].Place(), err)
	}
	first, err := r.embed(ctx, inputs[:len(inputs)/2], false)
	if err != nil {
		return first, err
	}
	rest, err := r.embed(ctx, inputs[len(inputs)/2:], false)
	return Batch{append(first.Inputs, rest.Inputs...), append(first.Vectors, rest.Vectors...), first.Bill.Add(rest.Bill), first.Notes}, err
}

// maxWait is the longest total wait for the retries of one request.
const maxWait = 5 * time.Minute
