//go:build !unix

package tty

import (
	"os"
	"time"
)

// An Input is a console.
type Input struct{ *os.File }

// NewInput returns an Input of f.
func NewInput(f *os.File) (*Input, error) { return &Input{f}, nil }

// ReadWithin implements File. The console hands over whole sequences, so nothing is late; reading
// it cannot be called off.
func (i *Input) ReadWithin(buf []byte, limit time.Duration) (int, error) {
	if limit >= 0 {
		return 0, nil
	}
	return i.Read(buf)
}

// Pause does nothing: editors have windows of their own here.
func (i *Input) Pause() (resume func()) { return func() {} }

// Resumed does nothing.
func (i *Input) Resumed() {}

// Close does nothing: a read cannot be called off.
func (i *Input) Close() error { return nil }

// Forget does nothing: what was typed before a question is told by its time.
func (i *Input) Forget() {}
