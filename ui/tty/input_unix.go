//go:build unix

package tty

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// An Input is a terminal whose reads end after a while, or when they are called off.
type Input struct {
	*os.File

	off, callOff *os.File   // a byte in this pipe calls reading off
	reading      sync.Mutex // held while the terminal is read, and while that is paused
	taking       sync.Mutex // held while what is there is read, or thrown away
}

// NewInput returns an Input of f.
func NewInput(f *os.File) (*Input, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &Input{File: f, off: r, callOff: w}, nil
}

// ReadWithin implements File.
func (i *Input) ReadWithin(buf []byte, limit time.Duration) (int, error) {
	if !i.reading.TryLock() {
		return 0, ErrPaused
	}
	defer i.reading.Unlock()
	if ready, err := i.await(limit); !ready {
		return 0, err
	}
	// The input may have been thrown away since, and a read that waits for more could
	// not be called off.
	i.taking.Lock()
	defer i.taking.Unlock()
	if ready, err := i.await(0); !ready {
		return 0, err
	}
	return i.Read(buf)
}

// await reports whether there is something to read within limit. It is select: poll does not know
// terminals on macOS.
func (i *Input) await(limit time.Duration) (ready bool, err error) {
	in, off := int(i.Fd()), int(i.off.Fd())
	for {
		var most *unix.Timeval // nil: as long as it takes
		if limit >= 0 {
			t := unix.NsecToTimeval(limit.Nanoseconds())
			most = &t
		}
		var set unix.FdSet
		set.Set(in)
		set.Set(off)
		_, err := unix.Select(max(in, off)+1, &set, nil, nil, most)
		switch {
		case errors.Is(err, unix.EINTR): // ctrl+z and fg, for one
			continue
		case err != nil:
			return false, err
		case set.IsSet(off):
			return false, ErrPaused
		}
		return set.IsSet(in), nil
	}
}

// Pause takes the terminal from its reader until resume.
func (i *Input) Pause() (resume func()) {
	i.callOff.Write([]byte{0})
	i.reading.Lock()
	i.off.Read(make([]byte, 1))
	return i.reading.Unlock
}

// Resumed waits until reading is paused no longer.
func (i *Input) Resumed() {
	i.reading.Lock()
	defer i.reading.Unlock()
}

// Close calls reading off for good. The file stays open.
func (i *Input) Close() error {
	_, err := i.callOff.Write([]byte{0})
	return err
}

// Forget throws away what was typed and not read, the line that is being typed
// included.
func (i *Input) Forget() {
	i.taking.Lock()
	defer i.taking.Unlock()
	FlushInput(i.Fd())
}
