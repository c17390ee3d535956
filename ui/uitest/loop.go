package uitest

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// loop owns the model until Close or a quit.
func (d *Driver) loop(model tea.Model) {
	defer close(d.ended)
	d.publish(model.View())
	for {
		select {
		case <-d.done:
			return
		case p := <-d.posts:
			if change, ok := p.msg.(func()); ok {
				change()
				d.publish(model.View())
			} else if !d.intercept(p) {
				var cmd tea.Cmd
				model, cmd = model.Update(p.msg)
				d.publish(model.View())
				d.start(cmd, p.pending)
			}
			p.pending.Done()
			if p.shown != nil {
				close(p.shown)
			}
			if d.Quit() {
				return
			}
		}
	}
}

// post hands p to the loop; after the end it is dropped.
func (d *Driver) post(p post) {
	select {
	case d.posts <- p:
		return
	case <-d.done:
	case <-d.ended:
	}
	p.pending.Done()
}

// publish makes a view what the test sees.
func (d *Driver) publish(v tea.View) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.now = v
	if d.sized && d.fit.problem == "" {
		d.fit.problem = d.unsuitable(v.Content)
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// unsuitable returns how content leaves the window; "" if it does not.
func (d *Driver) unsuitable(content string) string {
	lines := strings.Split(content, "\n")
	if len(lines) > d.h && content != "" {
		return fmt.Sprintf("%d lines in a window of %d by %d:\n%s", len(lines), d.w, d.h, framed(ansi.Strip(content)))
	}
	for i, line := range lines {
		if i < len(d.fit.lines) && line == d.fit.lines[i] && d.w >= d.fit.width { // most lines stay
			continue
		}
		if ansi.StringWidth(line) > d.w {
			return fmt.Sprintf("line of %d cells in a window of %d by %d: %q", ansi.StringWidth(line), d.w, d.h, line)
		}
	}
	d.fit.lines, d.fit.width = lines, d.w
	return ""
}

// intercept deals with what Bubble Tea deals with itself, and reports whether
// the model is not to see it.
func (d *Driver) intercept(p post) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.by {
		d.msgs = append(d.msgs, p.msg)
	}
	switch msg := p.msg.(type) {
	case nil:
		return true
	case tea.QuitMsg, tea.InterruptMsg:
		d.quit = true
		return true
	case tea.WindowSizeMsg:
		d.w, d.h, d.sized = msg.Width, msg.Height, true
	}
	switch fmt.Sprintf("%T", p.msg) { // messages of Bubble Tea's that have no public name
	case "tea.setClipboardMsg":
		d.clip = append(d.clip, reflect.ValueOf(p.msg).String())
	case "tea.windowSizeMsg":
		size := tea.WindowSizeMsg{Width: d.w, Height: d.h}
		d.start(func() tea.Msg { return size }, p.pending)
	}
	return false
}

// start runs cmd on a goroutine and posts what it returns.
func (d *Driver) start(cmd tea.Cmd, pending *sync.WaitGroup) {
	if cmd == nil {
		return
	}
	pending.Add(1)
	d.cmds.Go(func() {
		defer pending.Done()
		d.run(cmd, pending)
	})
}

// run carries out a command: a batch side by side, a sequence one by one. It
// returns when all of it has been posted.
func (d *Driver) run(cmd tea.Cmd, pending *sync.WaitGroup) {
	if cmd == nil {
		return
	}
	msg := cmd()
	switch cmds, kind := compoundMsg(msg); kind {
	case "batch":
		var batch sync.WaitGroup
		for _, c := range cmds {
			batch.Go(func() { d.run(c, pending) })
		}
		batch.Wait()
	case "sequence":
		for _, c := range cmds {
			d.run(c, pending)
		}
	default:
		if msg != nil {
			pending.Add(1)
			d.post(post{msg: msg, by: true, pending: pending})
		}
	}
}

// compoundMsg recognizes the messages that stand for commands. That of tea.Sequence has
// no public type.
func compoundMsg(msg tea.Msg) (cmds []tea.Cmd, kind string) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		return batch, "batch"
	}
	v := reflect.ValueOf(msg)
	if t := reflect.TypeFor[[]tea.Cmd](); v.IsValid() && v.CanConvert(t) {
		return v.Convert(t).Interface().([]tea.Cmd), "sequence"
	}
	return nil, ""
}
