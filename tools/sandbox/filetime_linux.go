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

// fileTimeAfter returns that time once it is after t, which has passed: files that are changed
// from then on can be told from those that were changed before t.
func fileTimeAfter(t time.Time) (now time.Time) {
	for range 50 { // it is late by 10 ms at most, unless it was set back
		if now = fileTimeNow(); now.After(t) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return now
}

// changeTime returns when a file was last changed in any way, or renamed.
func changeTime(info fs.FileInfo) time.Time {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(s.Ctim.Unix())
}
