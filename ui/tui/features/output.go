package features

import (
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// Output shows text that grows, and follows it.
type Output struct {
	*panel.Deps
	pager   *dialog.Pager // nil before the first one is opened
	of      app.Output
	shown   app.OutputText
	pending atomic.Bool // a message about new text is pending
}

// outputMsg reports new text in the displayed output.
type outputMsg struct{}

// show opens a pager with the output: at its beginning, or at its end while the program runs.
func (f *Output) show(of app.Output) tea.Cmd {
	f.pager, f.of = dialog.Pages(of.Title, nil, f.Theme), of
	cmd := f.Open(f.pager)
	f.OnLeave(func(dialog.Left) tea.Cmd {
		of.Watch(nil)
		return nil
	})
	of.Watch(func() {
		if !f.pending.Swap(true) {
			f.Send(outputMsg{})
		}
	})
	f.fill()
	if f.shown.Running {
		f.pager.GoToEnd()
	}
	return cmd
}

// Update opens output and adds new text. It reports whether msg was one of these.
func (f *Output) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case app.Output:
		return f.show(msg), true
	case outputMsg:
	default:
		return nil, false
	}
	f.pending.Store(false)
	if f.pager != nil && f.Current() == f.pager {
		f.fill()
	}
	return nil, true
}

// fill passes the output to the pager. A cursor at the end stays at the end. Elsewhere the cursor stays
// on its line, even if lines above were dropped.
func (f *Output) fill() {
	before, now, at := f.shown, f.of.Read(), f.pager.Line()
	part := format.Part{Title: now.Title, Source: strings.Join(now.Lines, "\n"), Render: func(int) []string { return now.Lines }}
	follows := f.pager.AtEnd()
	f.shown = now
	f.pager.SetParts(now.State, []format.Part{part})
	if moved := movedTo(before, now, at); !follows && moved != at {
		f.pager.GoToLine(moved)
	}
}

// movedTo returns the new index of a line. Output grows at its end. Long output loses lines in
// the middle, so that later lines move up.
func movedTo(before, now app.OutputText, at int) int {
	same := 0 // number of equal lines at the start
	for same < min(len(before.Lines), len(now.Lines)) && before.Lines[same] == now.Lines[same] {
		same++
	}
	if at < same || at >= len(before.Lines) {
		return at
	}
	behind := now.Size - before.Size // bytes from the start of the line to the end
	for _, line := range before.Lines[at:] {
		behind += int64(len(line)) + 1
	}
	to := len(now.Lines)
	for ; to > same && behind > 0; to-- {
		behind -= int64(len(now.Lines[to-1])) + 1
	}
	return to
}
