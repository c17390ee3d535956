package media

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// WithRetries returns m with retries for servers that cannot be reached, or that reject a request
// before generating anything because of rate limits or load. It sends a notice each time. Sleep
// waits between the attempts; nil uses the clock.
func WithRetries(m works.ImageMaker, sleep func(context.Context, time.Duration) error) works.ImageMaker {
	if sleep == nil {
		sleep = pause
	}
	return retryingMaker{m, sleep}
}

type retryingMaker struct {
	works.ImageMaker
	pause func(context.Context, time.Duration) error
}

// Make implements works.ImageMaker.
func (a retryingMaker) Make(ctx context.Context, r works.ImageRequest) iter.Seq2[works.ImageEvent, error] {
	return func(yield func(works.ImageEvent, error) bool) {
		for n := 1; ; n++ {
			begun, failed := false, error(nil)
			for e, err := range a.ImageMaker.Make(ctx, r) {
				begun = begun || e.Note == "" && err == nil
				if failed = err; failed != nil {
					break
				}
				if e.Note != "" && n > 1 { // repeats a note of the first attempt
					continue
				}
				if !yield(e, nil) {
					return
				}
			}
			var e *llm.Error
			if failed == nil {
				return
			}
			if begun || !errors.As(failed, &e) || n == maxStarts || ctx.Err() != nil || e.Wait > time.Minute || !wasNotCreated(e) {
				yield(works.ImageEvent{}, failed)
				return
			}
			wait := max(e.Wait, jitter(time.Second<<n)).Round(time.Second)
			if !yield(works.ImageEvent{Note: fmt.Sprintf("%s; not drawn yet: trying again in %s", e, llm.WaitText(wait))}, nil) {
				return
			}
			if err := a.pause(ctx, wait); err != nil {
				yield(works.ImageEvent{}, notCreatedError{err})
				return
			}
		}
	}
}
