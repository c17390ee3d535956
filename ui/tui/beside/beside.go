// Package beside shows a side question and its answer above the input.
package beside

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/session"
	"parley/ui/app"
	"parley/ui/markdown"
	"parley/ui/tui/band"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// Sizes of the pane: the number of rows from which it has empty rows between its parts, and the width of prose in cells.
const (
	airyFrom = 12
	prose    = 100
)

// A Pane shows the last question. It is closed by its key, and when another conversation is opened.
type Pane struct {
	*panel.Deps
	of      *session.Session // nil: it is closed
	shown   app.Beside
	ctx     context.Context
	cancel  context.CancelFunc
	earlier bool        // there are questions before the last one
	pending atomic.Bool // a message about new text is pending
}

// grownMsg reports new text.
type grownMsg struct{}

// New returns the pane as a part of the screen.
func New(d *panel.Deps) []common.Part { return []common.Part{&Pane{Deps: d}} }

// Update opens and closes the pane. It reports whether msg is for the pane alone.
func (p *Pane) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case app.Beside:
		p.open(msg)
	case grownMsg:
		p.pending.Store(false)                    // the next frame shows it
		if p.of != nil && p.shown.Read().Closed { // by a command
			p.close()
		}
	case common.UpdatedMsg:
		if p.of != p.App.Session {
			p.close()
		}
		return nil, false
	case common.ShutdownMsg:
		p.close()
		return nil, false
	default:
		return nil, false
	}
	return nil, true
}

func (p *Pane) open(b app.Beside) {
	if p.of != p.App.Session {
		p.close()
	}
	if p.earlier = p.of != nil; !p.earlier {
		p.of = p.App.Session
		p.ctx, p.cancel = context.WithCancel(context.Background())
	}
	p.shown = b
	b.Watch(func() {
		if !p.pending.Swap(true) {
			p.Send(grownMsg{})
		}
	})
	ctx := p.ctx
	p.Go(func() { b.Grow(ctx) })
}

// close closes the pane if it is open, and stops what makes its text grow.
func (p *Pane) close() {
	if p.of != nil {
		p.cancel()
		p.of = nil
		p.shown.Watch(nil)
	}
}

// Key returns the effect of a key on an empty line; nil if it is none of the pane.
func (p *Pane) Key(key string) func() tea.Cmd {
	if p.of == nil {
		return nil
	}
	if key == "esc" {
		return func() tea.Cmd {
			p.close()
			return p.Perform(p.shown.Closed())
		}
	}
	for _, a := range p.shown.Actions() {
		switch {
		case a.Key != key:
		case a.Copy != nil:
			return func() tea.Cmd { return p.Copy(a.Copy("")) }
		default:
			return func() tea.Cmd { return p.Perform(a.Do("")) }
		}
	}
	return nil
}

// Rows returns the pane with at most most rows; nil if it is closed or they are too few.
func (p *Pane) Rows(width, most int) []string {
	const least = 3 // heading, question, and a row of the answer
	if p.of == nil || most < least || width <= 2*band.Width {
		return nil
	}
	text, th := p.shown.Read(), p.Theme
	inner := width - 2*band.Width
	answer := strings.Split(markdown.Render(strings.Join(text.Lines, "\n"), min(inner, prose), th), "\n")
	if text.Running && strings.TrimSpace(strings.Join(answer, "")) == "" {
		answer = nil
	}
	airy := most >= airyFrom
	rows := []string{p.heading(inner)}
	gap := func() {
		if airy {
			rows = append(rows, "")
		}
	}
	gap()
	rows = append(rows, th.Accent.Render(ansi.Truncate(text.Title, inner, "…")))
	gap()
	room := most - len(rows)
	if airy {
		room -= 3 // around the state
	} else if room > 1 {
		room--
	}
	over := len(answer) - room
	if over > 0 {
		answer = append(answer[:room-1:room-1], th.Dim.Render(fmt.Sprintf("… %d more lines · enter read all", over+1)))
	}
	rows = append(rows, answer...)
	if airy || len(rows) < most {
		gap()
		if p.earlier && over <= 0 && !text.Running {
			text.State += " · enter read all"
		}
		rows = append(rows, th.Dim.Render(text.State))
	}
	bar := th.Voice.Render("▌") + " "
	for i, row := range rows {
		rows[i] = common.Truncate(bar+row, width)
	}
	if airy {
		rows = append(rows, "")
	}
	return rows
}

// heading returns the first row, with the keys on its right.
func (p *Pane) heading(width int) string {
	th := p.Theme
	left := th.Voice.Bold(true).Render("Aside")
	for _, about := range []string{"  not part of the conversation", ""} {
		for _, names := range []bool{true, false} {
			var keys []string
			for _, a := range append(p.shown.Actions(), app.Action{Key: "esc", Help: "close"}) {
				help := a.Help
				if !names {
					help, _, _ = strings.Cut(help, " ")
				}
				if a.Key != "enter" {
					keys = append(keys, th.Strong.Render(a.Key)+" "+th.Dim.Render(help))
				}
			}
			right := strings.Join(keys, "   ")
			if free := width - ansi.StringWidth(left+about+right); free >= 2 || about == "" && !names {
				return left + th.Dim.Render(about) + strings.Repeat(" ", max(free, 1)) + right
			}
		}
	}
	return left
}
