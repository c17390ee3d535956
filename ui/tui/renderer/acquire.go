package renderer

import (
	"fmt"
	"math"
	"time"
)

// Enter acquires the terminal, at the start and after another program had it, and redraws the
// screen. It does nothing if the screen already has the terminal or is closed.
func (s *Screen) Enter() error {
	if !Supported {
		return nil
	}
	s.terminalMu.Lock()
	defer s.terminalMu.Unlock()
	if !s.away || s.closed() {
		return nil
	}
	if err := s.t.oversized(); err != nil {
		return err
	}
	if err := s.t.Raw(); err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	s.away = false
	catchStops(s.stop)
	s.Redraw()
	notify(s.move)
	return nil
}

func (s *Screen) closed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// reenter restores the terminal after a shell may have changed it, if the screen had it.
func (s *Screen) reenter() {
	s.terminalMu.Lock()
	defer s.terminalMu.Unlock()
	if !s.away && s.t.Raw() == nil {
		s.Redraw()
	}
}

// leave restores the terminal to the state before Enter.
func (s *Screen) leave() {
	s.terminalMu.Lock()
	defer s.terminalMu.Unlock()
	if s.away {
		return
	}
	s.away = true
	releaseStops(s.stop)
	s.mu.Lock()
	s.buf = append(s.buf[:0], s.queue...)
	s.queue = recycled(s.queue)
	s.mu.Unlock()
	if s.entered {
		s.buf = s.modes.change(s.buf, &modes{})
		s.buf = append(s.buf, fmt.Sprintf(leave, max(s.grid.h, 1))...)
	}
	s.modes, s.cursor, s.entered = modes{}, false, false
	_, _ = s.flush() // the next user of the terminal gets the same error
}

// Close ends Run and restores the terminal. It returns false if a blocked terminal did not accept
// this within patience.
func (s *Screen) Close(patience time.Duration) bool {
	if !Supported {
		return false
	}
	s.once.Do(func() {
		close(s.done)
		s.markDrawn(math.MaxInt)
	})
	return Within(patience, s.leave)
}

// Within runs f, which must not panic, and reports whether it ended within patience. A blocked
// terminal may never accept output.
func Within(patience time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}
