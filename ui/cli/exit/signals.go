package exit

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"parley/ui/app/wording"
)

// CancelOnSignals calls cancel on a terminating signal, with Interrupted as the cause, and when the reader of standard
// output leaves, with app.ErrPipe. A second signal exits immediately, unless it comes within twinSignal of the first:
// timeout and shells send a signal to a process and to its group. Signals that were ignored at the start, as by nohup,
// stay ignored. Its goroutine runs as long as the program.
func CancelOnSignals(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	for _, s := range endings {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	signal.Ignore(syscall.SIGPIPE) // writes report it instead
	left := readerLeft(os.Stdout)
	go func() {
		var first time.Time
		for {
			select {
			case <-left:
				cancel(wording.ErrPipe)
				left = nil
			case s := <-signals:
				sig, _ := s.(syscall.Signal)
				if first.IsZero() {
					first = time.Now()
					cancel(Interrupted{Signal: sig})
				} else if time.Since(first) > twinSignal {
					os.Exit(128 + int(sig))
				}
			}
		}
	}()
}

// twinSignal is the time within which a second signal counts as the first one.
const twinSignal = 200 * time.Millisecond
