// Package terminal shows a Bubble Tea program on the terminal and brings the terminal
// back on every way out: by keys, by signals, by panics, and by what cannot be caught.
package terminal

import (
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/renderer"
)

// A Loop is what a program on the terminal may be told from other goroutines.
type Loop struct {
	Send  func(tea.Msg)
	Crash func(panicked any, stack []byte) // ends the program with a report
	Drawn func()                           // waits until the terminal has the last frame
}

// Reports says how crashes are reported.
type Reports struct {
	// Path returns the file of a new report, for what only the guard can write.
	Path func() (string, error)

	// Crash keeps a panic in such a file, says so on standard error if tell is set, and
	// returns the exit status.
	Crash func(panicked any, stack []byte, tell bool) (status int)
}

// Run runs root on the terminal until it ends, and returns the exit status and whether
// the terminal is back. Started is called before the first frame; over is called once
// the screen is gone, before its errors are told.
func Run(root tea.Model, reports Reports, started func(Loop), over func()) (status int, back bool) {
	const forFrame = 2 * time.Second // a slow terminal may have one before it comes back
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
