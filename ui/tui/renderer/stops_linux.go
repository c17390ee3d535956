package renderer

import (
	"os"
	"os/signal"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// catchStops delivers SIGTSTP from other processes to ch. Otherwise it would stop the process with
// the screen's modes still set. The signal does not stop the process until releaseStops.
func catchStops(ch chan os.Signal) {
	if handler := stopHandler(); handler != nil {
		signal.Notify(ch, unix.SIGTSTP)
		_, _ = onStop(handler)
	}
}

// releaseStops lets SIGTSTP stop the process again: an editor on the terminal sends it to the whole
// process group, as stopped does. signal.Stop alone leaves Go's handler, which drops the signal.
func releaseStops(ch chan os.Signal) {
	signal.Stop(ch)
	if stopHandler() != nil {
		_, _ = onStop(&sigaction{})
	}
}

// stopHandler is Go's handler of SIGTSTP, or nil if the signal must not be changed: the parent
// process set it to be ignored, or it cannot be set.
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

// A sigaction is large enough for the kernel's struct sigaction. The zero value is the default action
// of a signal.
type sigaction [8]uintptr

// onStop sets the action of SIGTSTP, unless to is nil, and returns the previous action. os/signal
// cannot restore the default action of a signal that it has handled.
func onStop(to *sigaction) (was sigaction, err error) {
	const maskSize = 8 // bytes of the kernel's sigset_t
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGTSTP), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(&was)), maskSize, 0, 0)
	if errno != 0 {
		return was, errno
	}
	return was, nil
}
