package features

import (
	"strconv"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// Jobs shows what commands in the background have written, and follows one that runs.
type Jobs struct {
	*panel.Deps
	pager   *dialog.Pager // nil: none was opened yet
	number  string        // of the job that it shows
	shown   app.JobView
	pending atomic.Bool // a message that the job has changed is on its way
}

// jobChangedMsg says that the job that is shown has written something, or ended.
type jobChangedMsg struct{}

// show shows the output of the command in the background with this number: from its beginning, or
// its end while it runs.
func (f *Jobs) show(number string) tea.Cmd {
	f.pager, f.number = dialog.Pages("Job "+number, nil, f.Theme), number
	n, _ := strconv.Atoi(number)
	cmd := f.Open(f.pager)
	jobs := f.App.Jobs
	f.OnLeave(func(dialog.ClosedMsg) tea.Cmd {
		jobs.View(n, nil)
		return nil
	})
	jobs.View(n, func() {
		if !f.pending.Swap(true) {
			f.Send(jobChangedMsg{})
		}
	})
	f.fill()
	if f.shown.Running {
		f.pager.GoToEnd()
	}
	return cmd
}

// Update shows what the job has written, and reports whether msg is news of it.
func (f *Jobs) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.OpenMsg:
		if msg.Panel == string(app.PanelJob) {
			return f.show(msg.Query), true
		}
		return nil, false
	case jobChangedMsg:
	default:
		return nil, false
	}
	f.pending.Store(false)
	if f.pager != nil && f.Current() == f.pager {
		f.fill()
	}
	return nil, true
}

// fill passes the output to the pager. A reader at the end stays there, any other where they are, also
// when lines above them were left out.
func (f *Jobs) fill() {
	before, now, at := f.shown, f.App.BackgroundJobs().View(f.number), f.pager.Line()
	part := format.Part{Title: now.Title, Source: strings.Join(now.Lines, "\n"), Render: func(int) []string { return now.Lines }}
	follows := f.pager.AtEnd()
	f.shown = now
	f.pager.SetParts(now.State, []format.Part{part})
	if moved := movedTo(before, now, at); !follows && moved != at {
		f.pager.GoToLine(moved)
	}
}

// movedTo returns where the line with this index is now. Output grows at its end; of much, lines
// in the middle are left out, so that those after them move up.
func movedTo(before, now app.JobView, at int) int {
	same := 0 // lines that both begin with
	for same < min(len(before.Lines), len(now.Lines)) && before.Lines[same] == now.Lines[same] {
		same++
	}
	if at < same || at >= len(before.Lines) {
		return at
	}
	behind := now.Size - before.Size // bytes from the beginning of the line on
	for _, line := range before.Lines[at:] {
		behind += int64(len(line)) + 1
	}
	to := len(now.Lines)
	for ; to > same && behind > 0; to-- {
		behind -= int64(len(now.Lines[to-1])) + 1
	}
	return to
}
