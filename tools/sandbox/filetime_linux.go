package sandbox

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileTimeNow returns the current time of the clock that stamps files, which may be a few
// milliseconds late.
func fileTimeNow() time.Time {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t) != nil {
		return time.Time{}
	}
	return time.Unix(t.Unix())
}

// changeTime returns when a file was last changed in any way, or renamed.
func changeTime(info fs.FileInfo) time.Time {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(s.Ctim.Unix())
}
