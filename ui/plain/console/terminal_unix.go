//go:build unix

package console

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"parley/ui/tty"
)

// console names the terminal of this process.
const console = "/dev/tty"

// Endings lists the signals that end the program in order.
var Endings = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// wait waits until there is something to read, and reports false once reading was
// called off. With now it does not wait, and reports what is so. It is select: poll does
// not know terminals on macOS.
func (k *Keyboard) wait(now bool) (ready bool, err error) {
	var most *unix.Timeval // nil: as long as it takes
	if now {
		most = &unix.Timeval{}
	}
	in, off := int(k.In.Fd()), int(k.r.Fd())
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(off)
		_, err := unix.Select(max(in, off)+1, &set, nil, nil, most)
		if errors.Is(err, unix.EINTR) { // ctrl+z and fg, for one
			continue
		}
		if err != nil {
			return false, err
		}
		return set.IsSet(in) && !set.IsSet(off), nil
	}
}

// Pause takes the terminal away from the keyboard until resume.
func (k *Keyboard) Pause() (resume func()) {
	k.w.Write([]byte{0})
	k.reading.Lock()
	k.r.Read(make([]byte, 1))
	return k.reading.Unlock
}

// Forget throws away what was typed and not read, the line that is being typed
// included.
func (k *Keyboard) Forget() {
	k.taking.Lock()
	defer k.taking.Unlock()
	tty.FlushInput(k.In.Fd())
}

// Close ends Run, and frees what the keyboard holds.
func (k *Keyboard) Close() {
	k.over.Store(true)
	k.w.Write([]byte{0})
	<-k.ended
	k.r.Close()
	k.w.Close()
}
