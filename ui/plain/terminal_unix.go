//go:build unix

package plain

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"parley/ui/tty"
)

// console is the terminal of this process.
const console = "/dev/tty"

// endings are the signals that end the program in order.
var endings = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// wait waits until there is something to read, and reports false once reading was
// called off. It is select: poll does not know terminals on macOS.
func (k *keyboard) wait() (ready bool, err error) {
	in, off := int(k.in.Fd()), int(k.r.Fd())
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(off)
		_, err := unix.Select(max(in, off)+1, &set, nil, nil, nil)
		if errors.Is(err, unix.EINTR) { // ctrl+z and fg, for one
			continue
		}
		if err != nil {
			return false, err
		}
		return !set.IsSet(off), nil
	}
}

// pause takes the terminal away from the keyboard until resume.
func (k *keyboard) pause() (resume func()) {
	k.w.Write([]byte{0})
	k.reading.Lock()
	k.r.Read(make([]byte, 1))
	return k.reading.Unlock
}

// forget throws away what was typed and not read, the line that is being typed
// included.
func (k *keyboard) forget() { tty.FlushInput(k.in.Fd()) }

// close ends run, and frees what the keyboard holds.
func (k *keyboard) close() {
	k.over.Store(true)
	k.w.Write([]byte{0})
	<-k.ended
	k.r.Close()
	k.w.Close()
}
