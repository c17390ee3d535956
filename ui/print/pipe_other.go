//go:build !unix

package print

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// isBrokenPipe reports whether err means that the reader of a pipe has left.
func isBrokenPipe(err error) bool {
	const noData = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, noData)
}

// readerLeft never fires here: a reader that left is noticed at the next write.
func readerLeft(*os.File) <-chan struct{} { return make(chan struct{}) }

// endings lists the signals that end the program.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM}
