package print

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"parley/ui/app"
)

// CancelOnSignals cancels, from now on, on a signal that ends programs, and when the reader of
// standard output leaves; a second signal ends the program at once.
// Signals that were ignored at the start, as nohup does, stay so.
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
