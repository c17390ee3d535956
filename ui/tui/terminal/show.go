// Package terminal shows a Bubble Tea program on the terminal and restores the
// terminal on every way out: keys, signals, panics, and crashes that cannot be caught.
package terminal

import (
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/renderer"
)

// A Loop holds functions that other goroutines may call while the program runs.
type Loop struct {
	Send  func(tea.Msg)
	Crash func(panicked any, stack []byte) // ends the program with a report
	Drawn func()                           // waits until the terminal has accepted the last frame
}

// Reports holds the functions that report crashes.
type Reports struct {
	// Path returns the file of a new report, for reports that only the guard can write.
	Path func() (string, error)

	// Crash stores a panic in such a file, mentions it on standard error if tell is
	// set, and returns the exit status.
	Crash func(panicked any, stack []byte, tell bool) (status int)
}

// Run runs root on the terminal until it ends. It returns the exit status and whether
// the terminal was restored. It calls started before the first frame, and over after
// the screen is gone but before its errors are printed.
func Run(root tea.Model, reports Reports, started func(Loop), over func()) (status int, back bool) {
	const forFrame = 2 * time.Second // a slow terminal may get one frame before it is restored
	terminal := Save(os.Stdin, os.Stdout)
	screen := renderer.New(terminal.Screen(os.Environ()))
	out := &exit{terminal: terminal, reports: reports, leave: screen.Close, lent: screen.Lent}
	program := screen.Program(root, tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	out.kill = program.Kill
	started(Loop{Send: program.Send, Crash: out.crashed, Drawn: screen.Drawn})
	stop := out.signals(program.Send)
	defer stop()
	var painting sync.WaitGroup
	func() {
		defer out.recover()
		if err := screen.Enter(); err != nil {
			out.ended(err)
			return
		}
		painting.Go(func() { out.safely(screen.Run) })
		painting.Go(func() { out.safely(func() { screen.Follow(program.Send) }) })
		_, err := program.Run()
		out.ended(err)
	}()
	back = out.restored(forFrame) && renderer.Within(forFrame, painting.Wait)
	over()
	return out.finish(back), back
}
