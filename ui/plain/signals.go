package plain

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"parley/session"
	"parley/ui/plain/console"
)

// watchSignals handles signals until stop is called. A terminating signal cancels everything. If the
// front end does not end within patience, because its terminal blocks, the program exits. Between
// stop and release only ctrl+c ends the program: a second hangup must not interrupt saving.
func (p *frontend) watchSignals() (stop, release func()) {
	const patience = 2500 * time.Millisecond
	ch, over := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(ch, os.Interrupt)
	for _, s := range console.Endings {
		if !signal.Ignored(s) { // as nohup does
			signal.Notify(ch, s)
		}
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		var end <-chan time.Time
		status := 0
		for {
			select {
			case <-over:
				return
			case <-end:
				os.Exit(status)
			case s := <-ch:
				if s == os.Interrupt {
					if !p.editor.running.Load() {
						p.mail.post(p.interrupt)
					}
					continue
				}
				if n, ok := s.(syscall.Signal); ok {
					status = 128 + int(n)
				}
				p.cancel(session.ErrProgramEnded)
				p.mail.post(func() { p.status, p.isOver = status, true })
				end = time.After(patience)
			}
		}
	})
	stop = func() {
		close(over)
		watching.Wait()
		signal.Reset(os.Interrupt)
	}
	release = func() {
		if p.status <= 128 { // otherwise the program ends immediately
			signal.Stop(ch)
		}
	}
	return stop, release
}
