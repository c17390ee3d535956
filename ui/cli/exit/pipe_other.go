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
	const noData, notConnected = syscall.Errno(232), syscall.Errno(233) // ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, noData) || errors.Is(err, notConnected)
}

// readerLeft returns a channel that is never closed: the next write notices that a reader left.
func readerLeft(*os.File) <-chan struct{} { return make(chan struct{}) }

// endings lists the signals that end the program.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM}
