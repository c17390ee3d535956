// Package uitest drives a root tea.Model without a terminal: type, press,
// paste, resize, and expect a screen.
//
//	d := uitest.New(t, model, 80, 24)
//	d.Type("hello").Press("enter")
//	d.WaitFor(func(screen string) bool { return strings.Contains(screen, "hi") })
//	d.Golden("greeting")
//
// It runs the model as Bubble Tea does: one loop owns it, every Update is
// followed by a View, commands run on goroutines of their own and what they
// return is fed back in order. Two differences make tests steady. A call that
// sends something returns only after the model has dealt with it and with what
// its quick commands returned; and a view that does not fit the window fails
// the test.
package uitest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	// graceTicks sets how many ticks sending waits for commands: long enough for all that
	// only compute, short enough for those that wait on something. They are counted one by
	// one: on a busy machine, which leaves the commands no time, the ticks come later as well.
	graceTicks = 50
	graceTick  = time.Millisecond
	// patience sets how long a condition or a golden may take to come true, and
	// Close waits for commands.
	patience = 2 * time.Minute
)

// A Driver is a running model. Its methods may be called from one goroutine.
type Driver struct {
	t     testing.TB
	posts chan post     // what the loop is to deal with
	done  chan struct{} // closed by Close
	ended chan struct{} // closed when the loop has returned
	cmds  sync.WaitGroup

	mu      sync.Mutex // guards what the loop publishes
	changed chan struct{}
	view    views
	w, h    int
	sized   bool // the model knows w and h
	msgs    []tea.Msg
	clip    []string
	quit    bool
	over    bool // Close waits for what runs
	fit     fit
}

// A fit is whether views fit into the window.
type fit struct {
	problem string   // of the first view that did not, and why
	lines   []string // of the last view
	width   int      // of the window that they fitted
}

// views are what is shown now, and what was before the last thing that the test did.
type views struct{ now, earlier tea.View }

// A post is a message on its way to the model. A test that waits for it holds
// pending, which counts the message and every command that follows from it.
type post struct {
	msg     tea.Msg
	by      bool // a command returned it
	pending *sync.WaitGroup
	shown   chan struct{} // closed when the view is that of the model that got it; nil if nobody waits
}

// New runs the model in a window of w by h cells: Init, then the size. The
// model is let go at the end of the test.
func New(t testing.TB, model tea.Model, w, h int) *Driver {
	t.Helper()
	d := &Driver{
		t: t, w: w, h: h,
		posts:   make(chan post),
		done:    make(chan struct{}),
		ended:   make(chan struct{}),
		changed: make(chan struct{}),
	}
	var pending sync.WaitGroup
	init := model.Init()
	go d.loop(model)
	d.start(init, &pending)
	d.await(&pending)
	t.Cleanup(d.Close)
	return d.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// Type presses a key for each character of s, and enter for each line end.
func (d *Driver) Type(s string) *Driver {
	d.t.Helper()
	d.mark()
	for s != "" {
		char, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(char):]
		k := typed(char)
		checkKey(d.t, k)
		d.Deliver(k)
	}
	return d
}

// Press presses keys by the names that Bubble Tea gives them, such as "a", "?",
// "enter", "ctrl+x", "alt+shift+up".
func (d *Driver) Press(keys ...string) *Driver {
	d.t.Helper()
	d.mark()
	for _, name := range keys {
		k, err := Key(name)
		if err != nil {
			d.t.Fatal(err)
		}
		checkKey(d.t, k)
		d.Deliver(k)
	}
	return d
}

// Paste pastes s, as a terminal with bracketed paste does.
func (d *Driver) Paste(s string) *Driver {
	d.t.Helper()
	checkPaste(d.t, s)
	return d.Send(tea.PasteMsg{Content: s})
}

// Resize changes the size of the window.
func (d *Driver) Resize(w, h int) *Driver {
	d.t.Helper()
	return d.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// Send gives the model a message, and returns when the screen shows what it made
// of it. Messages after a quit are dropped.
func (d *Driver) Send(msg tea.Msg) *Driver {
	d.mark()
	return d.Deliver(msg)
}

// Do calls change, which may reach into the model, while nothing else does.
func (d *Driver) Do(change func()) *Driver { return d.Send(change) }

// mark takes note of what is shown before the test does something.
func (d *Driver) mark() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.earlier = d.view.now
}

// Deliver gives the model a message as Send does, for what the program sends to itself:
// waits do not count it as something that the test did. Any goroutine may call it.
func (d *Driver) Deliver(msg tea.Msg) *Driver {
	var pending sync.WaitGroup
	pending.Add(1)
	shown := make(chan struct{})
	d.post(post{msg: msg, pending: &pending, shown: shown})
	select {
	case <-shown:
	case <-d.ended:
	}
	d.await(&pending)
	return d
}

// Screen returns what the window shows: the text without styles, without spaces at
// the end of lines and without empty lines at the end.
func (d *Driver) Screen() string { return plainText(d.Styled()) }

func plainText(styled string) string {
	lines := strings.Split(ansi.Strip(styled), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Styled returns what the model painted, with its escape sequences.
func (d *Driver) Styled() string { return d.View().Content }

// View returns the latest view, for its cursor, title and modes.
func (d *Driver) View() tea.View {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.view.now
}

// Messages lists what commands have returned so far, in the order in which the
// model got it.
func (d *Driver) Messages() []tea.Msg {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]tea.Msg(nil), d.msgs...)
}

// Clipboard lists what the model has put on the clipboard with tea.SetClipboard.
func (d *Driver) Clipboard() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.clip...)
}

// Quit reports whether the model has quit.
func (d *Driver) Quit() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.quit
}

// WaitFor waits until cond is true, which may be about something else than the screen. It
// fails the test, showing the screen, if that takes too long.
func (d *Driver) WaitFor(cond func() bool) *Driver {
	d.t.Helper()
	if !d.waitUntil(cond, time.Tick(5*time.Millisecond)) {
		d.t.Fatalf("waited %v in vain; the screen is\n%s", patience, framed(d.Screen()))
	}
	return d
}

// WaitForScreen waits until cond is true of the screen. It fails the test if that takes too
// long, and also if it was true before the last thing that the test did: such a wait
// would wait for nothing.
func (d *Driver) WaitForScreen(cond func(screen string) bool) *Driver {
	d.t.Helper()
	return d.waitForScreen("what is expected", cond)
}

// Shows waits until all texts are on the screen, which may have been there before: for what
// stays or comes back. It proves nothing of the last thing that the test did.
func (d *Driver) Shows(texts ...string) *Driver {
	d.t.Helper()
	for _, text := range texts {
		d.WaitFor(func() bool { return strings.Contains(d.Screen(), text) })
	}
	return d
}

// Lacks fails the test if one of texts is on the screen now.
func (d *Driver) Lacks(texts ...string) *Driver {
	d.t.Helper()
	for _, text := range texts {
		if screen := d.Screen(); strings.Contains(screen, text) {
			d.t.Errorf("%q is on the screen:\n%s", text, framed(screen))
		}
	}
	return d
}

// WaitForText waits until text is on the screen, where it must not have been before the
// last thing that the test did.
func (d *Driver) WaitForText(text string) *Driver {
	d.t.Helper()
	return d.waitForScreen(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

func (d *Driver) waitForScreen(what string, cond func(screen string) bool) *Driver {
	d.t.Helper()
	d.mu.Lock()
	earlier := plainText(d.view.earlier.Content)
	d.mu.Unlock()
	if cond(earlier) {
		d.t.Fatalf("%s was on the screen before the last key or message, so waiting for it proves nothing. The screen was\n%s", what, framed(earlier))
	}
	if !d.waitUntil(func() bool { return cond(d.Screen()) }, nil) {
		d.t.Fatalf("waited %v in vain for %s; the screen is\n%s", patience, what, framed(d.Screen()))
	}
	return d
}

// waitUntil waits until cond is true, looking again whenever the view changed, and at each
// tick, if there are any. A model that has quit changes no more.
func (d *Driver) waitUntil(cond func() bool, ticks <-chan time.Time) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		if cond() {
			return true
		}
		select {
		case <-changed:
		case <-ticks:
		case <-d.ended:
			return cond()
		case <-deadline.C:
			return false
		}
	}
}

// Close ends the loop and waits for running commands. A command that outlives
// its program for long is logged. Closing again does nothing.
func (d *Driver) Close() {
	select {
	case <-d.done:
		return
	default:
	}
	close(d.done)
	<-d.ended
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	over := make(chan struct{})
	go func() {
		d.cmds.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(patience):
		d.t.Logf("uitest: commands still run %v after the end", patience)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fit.problem != "" {
		d.t.Errorf("the view did not fit: %s", d.fit.problem)
	}
}

// await waits for all that followed from a message, or for the grace to pass.
func (d *Driver) await(pending *sync.WaitGroup) {
	settled := make(chan struct{})
	d.mu.Lock()
	over := d.over // a timer of the model's may still send
	if !over {
		d.cmds.Add(1)
	}
	d.mu.Unlock()
	if over {
		return
	}
	go func() {
		defer d.cmds.Done()
		pending.Wait()
		close(settled)
	}()
	tick := time.NewTimer(graceTick)
	defer tick.Stop()
	for range graceTicks {
		select {
		case <-settled:
			return
		case <-tick.C:
			tick.Reset(graceTick)
		}
	}
}

// framed draws a screen so that its edges can be seen in a test's log.
func framed(screen string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(screen, "\n") {
		fmt.Fprintf(&b, "│%s\n", line)
	}
	return b.String()
}
