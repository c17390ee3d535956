//go:build unix

package renderer

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Supported reports whether Screens paint on this system.
const Supported = true

// Follow sends the size of the terminal whenever it changed, and takes the
// terminal back when a shell let go of it, until Close.
func (s *Screen) Follow(send func(tea.Msg)) {
	changed, goOn := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(changed)
	defer signal.Stop(goOn)
	last := s.sent
	for {
		select {
		case <-s.done:
			return
		case <-goOn: // after a stop that nobody announced
			s.reenter()
		case <-changed: // and maybe back, which leaves its marks
			last = size{}
		case <-s.move:
		}
		if now := s.t.size(); now != last {
			last = now
			send(tea.WindowSizeMsg{Width: now.w, Height: now.h})
		}
	}
}

// stopped stops this process, and what it runs in the foreground, until it is
// told to go on. Where there is no job control, as in a process group that no
// shell looks after, the system drops the signal: the process is still there.
func stopped() error {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	for range 30 { // of which one at most passes while the process is stopped
		select {
		case <-goOn:
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	return errSuspendUnavailable
}
