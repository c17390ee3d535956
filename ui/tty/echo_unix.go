//go:build unix

package tty

import (
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// Echo sets whether the terminal fd echoes all input or only line ends.
func Echo(fd uintptr, on bool) {
	state, err := term.GetState(fd)
	if err != nil {
		return
	}
	state.Lflag = state.Lflag&^unix.ECHONL | unix.ECHO
	if !on {
		state.Lflag = state.Lflag&^unix.ECHO | unix.ECHONL
	}
	_ = term.SetState(fd, state)
}
