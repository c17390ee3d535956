//go:build unix

package tty

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// An Input is a terminal whose reads have time limits and can be interrupted.
type Input struct {
	*os.File

	off, callOff *os.File   // a byte in this pipe interrupts reads
	reading      sync.Mutex // held during reads and pauses
	taking       sync.Mutex // held while available input is read or discarded
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
	// The input may have been discarded since then, and a read that waits for more
	// could not be interrupted.
	i.taking.Lock()
	defer i.taking.Unlock()
	if ready, err := i.await(0); !ready {
		return 0, err
	}
	return i.Read(buf)
}

// await reports whether input arrives within limit. It uses select, because poll does not support
// terminals on macOS.
func (i *Input) await(limit time.Duration) (ready bool, err error) {
	in, off := int(i.Fd()), int(i.off.Fd())
	for {
		var most *unix.Timeval // nil for no limit
		if limit >= 0 {
			t := unix.NsecToTimeval(limit.Nanoseconds())
			most = &t
		}
		var set unix.FdSet
		set.Set(in)
		set.Set(off)
		_, err := unix.Select(max(in, off)+1, &set, nil, nil, most)
		switch {
		case errors.Is(err, unix.EINTR): // for example on ctrl+z and fg
			continue
		case err != nil:
			return false, err
		case set.IsSet(off):
			return false, ErrPaused
		}
		return set.IsSet(in), nil
	}
}

// Pause interrupts reads and blocks them until resume is called.
func (i *Input) Pause() (resume func()) {
	i.callOff.Write([]byte{0})
	i.reading.Lock()
	i.off.Read(make([]byte, 1))
	return i.reading.Unlock
}

// Resumed waits until reads are not paused.
func (i *Input) Resumed() {
	i.reading.Lock()
	defer i.reading.Unlock()
}

// Close interrupts reads permanently. The file stays open.
func (i *Input) Close() error {
	_, err := i.callOff.Write([]byte{0})
	return err
}

// Forget discards unread input, including the incomplete line.
func (i *Input) Forget() {
	i.taking.Lock()
	defer i.taking.Unlock()
	FlushInput(i.Fd())
}
