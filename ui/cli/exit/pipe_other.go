//go:build !unix

package exit

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// isBrokenPipe reports whether err means that the reader of a pipe has closed it.
func isBrokenPipe(err error) bool {
	const noData = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, noData)
}

// readerLeft returns a channel that is never closed: the next write notices that a reader left.
func readerLeft(*os.File) <-chan struct{} { return make(chan struct{}) }

// endings lists the signals that end the program.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM}
