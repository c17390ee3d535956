package sandbox

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileTimeNow returns the current time of the file system's clock, which may lag by a few
// milliseconds.
func fileTimeNow() time.Time {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t) != nil {
		return time.Time{}
	}
	return time.Unix(t.Unix())
}

// fileTimeAfter waits until that time is after t, which has passed, and returns it: later
// changes of files can then be distinguished from those before t.
func fileTimeAfter(t time.Time) (now time.Time) {
	for range 50 { // it lags by at most 10 ms, unless the clock was set back
		if now = fileTimeNow(); now.After(t) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return now
}

// changeTime returns the time of a file's last change of any kind, including a
// rename.
func changeTime(info fs.FileInfo) time.Time {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(s.Ctim.Unix())
}
