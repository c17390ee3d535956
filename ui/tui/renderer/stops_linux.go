package renderer

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// catchStops has SIGTSTP from outside arrive on ch, where it would stop the process with the modes of
// the screen on. Until releaseStops the process does not stop by it.
func catchStops(ch chan os.Signal) {
	if handler, err := stopHandler(); err == nil {
		signal.Notify(ch, unix.SIGTSTP)
		_, _ = onStop(&handler)
	}
}

// releaseStops has SIGTSTP stop the process again: an editor on the terminal sends it to the whole
// group, as stopped does. What signal.Stop leaves is Go's handler, which drops the signal.
func releaseStops(ch chan os.Signal) {
	signal.Stop(ch)
	if _, err := stopHandler(); err == nil {
		_, _ = onStop(&sigaction{})
	}
}

// stopHandler returns Go's handler of SIGTSTP, or an error if the signal is left alone: it is
// ignored, as the parent process wants it, or cannot be set.
var stopHandler = sync.OnceValues(func() (sigaction, error) {
	was, err := onStop(nil)
	if err == nil && was[0] == 1 { // SIG_IGN
		err = errors.New("SIGTSTP is ignored")
	}
	if err != nil {
		return was, err
	}
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGTSTP)
	defer signal.Stop(ch)
	return onStop(nil)
})

// A sigaction is a struct sigaction of the kernel, which is not larger. The zero value is the default
// action of a signal.
type sigaction [8]uintptr

// onStop sets what SIGTSTP does, nothing if to is nil, and returns what it did until now. os/signal
// cannot set the default action of a signal that it has handled.
func onStop(to *sigaction) (was sigaction, err error) {
	const maskSize = 8 // bytes of a sigset_t of the kernel
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGTSTP), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(&was)), maskSize, 0, 0)
	if errno != 0 {
		return was, errno
	}
	return was, nil
}
