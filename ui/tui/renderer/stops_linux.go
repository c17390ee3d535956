package renderer

import (
	"os"
	"os/signal"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// catchStops has SIGTSTP from outside arrive on ch, where it would stop the process with the modes of
// the screen on. Until releaseStops the process does not stop by it.
func catchStops(ch chan os.Signal) {
	if handler := stopHandler(); handler != nil {
		signal.Notify(ch, unix.SIGTSTP)
		_, _ = onStop(handler)
	}
}

// releaseStops has SIGTSTP stop the process again: an editor on the terminal sends it to the whole
// group, as stopped does. What signal.Stop leaves is Go's handler, which drops the signal.
func releaseStops(ch chan os.Signal) {
	signal.Stop(ch)
	if stopHandler() != nil {
		_, _ = onStop(&sigaction{})
	}
}

// stopHandler is Go's handler of SIGTSTP, or nil if the signal is left alone: it is ignored, as the
// parent process wants it, or cannot be set.
var stopHandler = sync.OnceValue(func() *sigaction {
	if was, err := onStop(nil); err != nil || was[0] == 1 { // SIG_IGN
		return nil
	}
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGTSTP)
	defer signal.Stop(ch)
	handler, err := onStop(nil)
	if err != nil {
		return nil
	}
	return &handler
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
