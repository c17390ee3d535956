//go:build unix

package uitest

import (
	"os"
	"os/signal"
	"syscall"
)

// RestoreHangup makes the programs that tests start end at SIGHUP although this process
// ignores it, as under nohup, which they would inherit. Tests of that signal would
// wait forever.
func RestoreHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}
