//go:build unix

package renderer

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Supported reports whether Screens draw on this system.
const Supported = true

// Follow sends the size of the terminal when it changes, and tea.SuspendMsg when the process should
// stop. It restores the terminal when the process continues after a stop. It returns after Close.
func (s *Screen) Follow(send func(tea.Msg)) {
	changed, continued := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(changed)
	defer signal.Stop(continued)
	last := s.sent
	for {
		select {
		case <-s.done:
			return
		case <-s.stop:
			send(tea.SuspendMsg{})
		case <-continued: // after SIGSTOP, which gives no warning
			s.reenter()
		case <-changed: // redraw even if the size has changed back meanwhile
			last = size{}
		case <-s.move:
		}
		if now := s.t.size(); now != last {
			last = now
			send(tea.WindowSizeMsg{Width: now.w, Height: now.h})
		}
	}
}

// stopped stops this process group and returns when it continues. Without job control, as in an
// orphaned process group, the system ignores the signal; it then returns errSuspendUnavailable.
func stopped() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	for range 30 { // a stop takes up at most one of these waits
		select {
		case <-continued:
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	return errSuspendUnavailable
}
