package terminal

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// modes returns the saved modes of the terminal in the form of stty -g: four sets of
// flags and 32 control characters, in hexadecimal.
func (t *Terminal) modes() string {
	s, err := unix.IoctlGetTermios(int(t.in.Fd()), unix.TCGETS)
	if err != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%x:%x:%x:%x", s.Iflag, s.Oflag, s.Cflag, s.Lflag)
	for i := range 32 {
		c := byte(0)
		if i < len(s.Cc) {
			c = s.Cc[i]
		}
		fmt.Fprintf(&b, ":%x", c)
	}
	return b.String()
}
