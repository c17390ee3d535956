//go:build unix

package paint

import (
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
)

// Here says whether Screens paint on this system.
const Here = true

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
		case <-s.over:
			return
		case <-goOn: // after a stop that nobody announced
			s.retake()
		case <-changed: // and maybe back, which leaves its marks
			last = size{}
		case <-s.move:
		}
		if w, h, err := s.t.Size(); err == nil && last != (size{w, h}) {
			last = size{w, h}
			send(tea.WindowSizeMsg{Width: w, Height: h})
		}
	}
}

// stopped stops this process, and what it runs in the foreground, until it is
// told to go on.
func stopped() error {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	<-goOn
	return nil
}
