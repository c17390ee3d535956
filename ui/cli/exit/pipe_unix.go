//go:build unix

package exit

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isBrokenPipe reports whether err means that the reader of a pipe has closed it.
func isBrokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) }

// readerLeft returns a channel that is closed when f is a pipe or socket and its reader closes it,
// so that no tokens are paid for an answer without a reader. Its goroutine runs as long as the
// program.
func readerLeft(f *os.File) <-chan struct{} {
	gone := make(chan struct{})
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return gone
	}
	go func() {
		fds := []unix.PollFd{{Fd: int32(f.Fd())}} // no events: only errors and hang-up wake it
		for {
			n, err := unix.Poll(fds, -1)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
			if n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
				close(gone)
				return
			}
		}
	}()
	return gone
}

// endings lists the signals that end the program.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
