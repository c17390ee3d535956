package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "parley/providers/llm"
)

// A pause lasts its time, or until RetryNow of its turn: that ends all running pauses, with any
// pulse of the turn, and no later ones.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, pulse := WithPulse(t.Context(), 0)
		inner, _ := WithPulse(ctx, time.Minute)
		pulse.RetryNow() // no pause is running
		began := time.Now()
		done := make(chan error)
		for _, ctx := range []context.Context{ctx, inner} {
			go func() { done <- Pause(ctx, time.Hour) }()
		}
		time.Sleep(time.Second)
		pulse.RetryNow()
		if err := errors.Join(<-done, <-done); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		for _, ctx := range []context.Context{inner, t.Context()} {
			if err := Pause(ctx, time.Hour); err != nil {
				t.Error(err)
			}
		}
		if time.Since(began) != 2*time.Hour+time.Second {
			t.Errorf("the pauses took %v", time.Since(began))
		}
		told := AnnouncePause(inner)
		pulse.RetryNow()
		if err := Pause(told, time.Hour); err != nil || time.Since(began) != 2*time.Hour+time.Second {
			t.Errorf("%v; the pauses took %v", err, time.Since(began))
		}
		over, cancel := context.WithCancelCause(inner)
		why := errors.New("why")
		cancel(why)
		if err := Pause(over, time.Hour); err != why {
			t.Error(err)
		}
	})
}
