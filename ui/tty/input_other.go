//go:build !unix

package tty

import (
	"os"
	"time"
)

// An Input is a console as a File.
type Input struct{ *os.File }

// NewInput returns an Input of f.
func NewInput(f *os.File) (*Input, error) { return &Input{f}, nil }

// ReadWithin implements File. The console delivers whole sequences, so nothing is late. A read
// cannot be interrupted.
func (i *Input) ReadWithin(buf []byte, limit time.Duration) (int, error) {
	if limit >= 0 {
		return 0, nil
	}
	return i.Read(buf)
}

// Pause does nothing, because editors have their own windows here.
func (i *Input) Pause() (resume func()) { return func() {} }

// Resumed does nothing.
func (i *Input) Resumed() {}

// Close does nothing, because a read cannot be interrupted.
func (i *Input) Close() error { return nil }

// Forget does nothing, because the time of a line tells whether it was typed before a question.
func (i *Input) Forget() {}
