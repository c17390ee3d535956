package print

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"parley/ui/app"
)

// CancelOnSignals calls cancel on a terminating signal, with Interrupted as the cause, and when the
// reader of standard output leaves, with app.ErrPipe. A second signal exits at once. Signals that
// were ignored at the start, as by nohup, stay ignored. Its goroutine runs as long as the program.
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
		for n := 0; ; {
			select {
			case <-left:
				cancel(app.ErrPipe)
				left = nil
			case s := <-signals:
				sig, _ := s.(syscall.Signal)
				if n++; n > 1 {
					os.Exit(128 + int(sig))
				}
				cancel(Interrupted{Signal: sig})
			}
		}
	}()
}
