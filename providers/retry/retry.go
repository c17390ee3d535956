// Package retry retries requests to a model that failed before any output.
//
//	Stream ──► attempt ──► failed before the first Delta? ──► Retry, wait ──► attempt …
//
// It depends on the Fault of an error: rate limits, server failures and broken connections may be
// temporary, all other errors are passed on at once. A server's own advice on retrying takes
// precedence. After the first Delta nothing is retried, since the user has already seen part of the
// answer. A mistake of the model itself is retried once, at once, even if its thinking was shown,
// which is then discarded. If a server names a delay, the wait is at least that long. Otherwise it
// is a random part of a window that doubles (full jitter), so that many clients do not return at
// the same time.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"parley/providers/llm"
)

// Options bound the number of retries and the waits between them.
type Options struct {
	MaxRetries   int                                              // attempts after the first; 0 for none
	MaxWait      time.Duration                                    // no retry if the server asks for a longer wait; 0 is 60 s
	MaxTotalWait time.Duration                                    // sum of all waits for one answer; 0 is 120 s
	Sleep        func(ctx context.Context, d time.Duration) error // nil for llm.Pause
	Rand         func() float64                                   // in [0,1); nil for math/rand/v2
}

// Bounds of the window that a wait is drawn from if the server names none.
const (
	minWindow = 500 * time.Millisecond
	maxWindow = 8 * time.Second
)

// Wrap returns m with retries. The error of the stream is the error of the last attempt.
func Wrap(m llm.Model, o Options) llm.Model { return model{m, o.withDefaults()} }

// Do calls f until it succeeds or fails permanently, with at most o.MaxRetries retries, and returns
// its last error. f must be safe to repeat.
func Do(ctx context.Context, o Options, f func(context.Context) error) error {
	o = o.withDefaults()
	var waited time.Duration
	for n := 0; ; n++ {
		err := f(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait, ok := o.wait(err, n)
		if !ok || waited+wait > o.MaxTotalWait {
			return err
		}
		waited += wait
		if err := o.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (o Options) withDefaults() Options {
	if o.MaxWait == 0 {
		o.MaxWait = time.Minute
	}
	if o.MaxTotalWait == 0 {
		o.MaxTotalWait = 2 * time.Minute
	}
	if o.Sleep == nil {
		o.Sleep = llm.Pause
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

type model struct {
	inner llm.Model
	Options
}

func (m model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		var waited time.Duration
		var a answer
		for n := 0; ; n++ {
			err, again := a.attempt(m.inner.Stream(ctx, req), yield)
			if !again {
				return
			}
			wait, ok := m.wait(err, n)
			if mistaken(err) {
				wait, ok = 0, n < m.MaxRetries && !req.AfterMistake
				req.AfterMistake = true
			}
			if !ok || ctx.Err() != nil || waited+wait > m.MaxTotalWait {
				yield(nil, err)
				return
			}
			waited += wait
			pausing := llm.AnnouncePause(ctx)
			if !yield(llm.Retry{Attempt: n + 1, Max: m.MaxRetries, Wait: wait, Fault: llm.FaultOf(err), Discards: a.shown}, nil) {
				return
			}
			if err := m.Sleep(pausing, wait); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// answer holds the state shared by the attempts at one answer.
type answer struct {
	shown     []string  // blocks of the last attempt
	discarded llm.Usage // usage of discarded attempts, which were charged
}

// attempt passes on one answer. If the answer failed before its first Delta, or was a mistake, it
// returns the error without passing it on; otherwise the stream has ended.
func (a *answer) attempt(s llm.Stream, yield func(llm.Event, error) bool) (err error, failed bool) {
	a.shown = nil
	used := a.discarded
	for event, err := range s {
		if mistaken(err) {
			a.discarded = used
			return err, true
		}
		if err != nil && a.shown == nil {
			return err, true
		}
		switch e := event.(type) {
		case llm.Delta:
			if n := len(a.shown); n == 0 || a.shown[n-1] != e.Block && !slices.Contains(a.shown, e.Block) {
				a.shown = append(a.shown, e.Block)
			}
		case llm.Usage:
			used = a.discarded.Add(e)
			used.Shared = e.Shared
			used.Discarded = a.discarded.Input + a.discarded.Output + e.Discarded
			if a.discarded.Input > 0 {
				used.Last = e.Prompt()
			}
			event = used
		}
		if !yield(event, err) || err != nil {
			return nil, false
		}
	}
	return nil, false
}

// wait returns the wait before retry n, counted from 0, and whether to retry.
func (o Options) wait(err error, n int) (time.Duration, bool) {
	if n >= o.MaxRetries || !isTemporary(err) {
		return 0, false
	}
	if wait := llm.WaitOf(err); wait > 0 {
		// Never less than the server asked for, and up to half as much more: clients rejected at
		// the same time should not return at the same time.
		return wait + time.Duration(o.Rand()*float64(wait)/2), wait <= o.MaxWait
	}
	window := maxWindow
	if n < 4 { // 500 ms · 2⁴ is maxWindow
		window = minWindow << n
	}
	return time.Duration(o.Rand() * float64(window)), true
}

// mistaken reports whether err is a mistake of the model.
func mistaken(err error) bool {
	if err == nil { // the usual case
		return false
	}
	var e *llm.Error
	return errors.As(err, &e) && e.Mistake
}

// isTemporary reports whether err may be temporary: by the server's advice, which is more precise
// than its status, or else by the fault.
func isTemporary(err error) bool {
	var answer interface{ ShouldRetry() (again, said bool) }
	if errors.As(err, &answer) {
		if again, said := answer.ShouldRetry(); said {
			return again
		}
	}
	return llm.FaultOf(err).Temporary()
}
