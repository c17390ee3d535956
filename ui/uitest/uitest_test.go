// The golden in testdata is of the test of goldens: go test ./ui/uitest -update writes it anew.

package uitest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"parley/ui/uitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo shows what it got, one line each, and answers some keys with commands.
type echo struct {
	size  tea.WindowSizeMsg
	lines []string
}

type said string

func say(s string) tea.Cmd { return func() tea.Msg { return said(s) } }

var answers = map[string]tea.Cmd{
	"s": tea.Sequence(say("one"), tea.Sequence(say("two"), say("three")), tea.Batch(say("four"), nil), say("five")),
	"t": func() tea.Msg {
		return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return said("tick") })()
	},
	"c": tea.SetClipboard("copied"),
	"q": tea.Quit,
	"w": tea.RequestWindowSize,
}

func (e *echo) Init() tea.Cmd { return say("init") }

func (e *echo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		e.size = msg
		e.lines = append(e.lines, fmt.Sprintf("%d×%d", msg.Width, msg.Height))
	case tea.KeyPressMsg:
		e.lines = append(e.lines, "key "+msg.String())
		return e, answers[msg.String()]
	case tea.PasteMsg:
		e.lines = append(e.lines, "paste "+msg.Content)
	case said:
		e.lines = append(e.lines, string(msg))
	}
	return e, nil
}

func (e *echo) View() tea.View {
	return tea.NewView("\x1b[1m" + strings.Join(e.lines, "  \n") + "\x1b[m\n\n")
}

func TestDriver(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(d *uitest.Driver)
		want string
	}{
		"starts":              {func(d *uitest.Driver) {}, ""},
		"types":               {func(d *uitest.Driver) { d.Type("aÉ \n👩‍👩‍👧") }, "key a\nkey É\nkey space\nkey enter\nkey 👩‍👩‍👧"},
		"presses":             {func(d *uitest.Driver) { d.Press("ctrl+x", "alt+shift+up", "+", "G") }, "key ctrl+x\nkey alt+shift+up\nkey +\nkey G"},
		"pastes":              {func(d *uitest.Driver) { d.Paste("x") }, "paste x"},
		"resizes":             {func(d *uitest.Driver) { d.Resize(30, 18) }, "30×18"},
		"sends":               {func(d *uitest.Driver) { d.Send(said("hello")) }, "hello"},
		"runs in order":       {func(d *uitest.Driver) { d.Press("s") }, "key s\none\ntwo\nthree\nfour\nfive"},
		"waits for slow ones": {func(d *uitest.Driver) { d.Press("t").WaitForText("tick") }, "key t\ntick"},
		"knows its size":      {func(d *uitest.Driver) { d.Press("w") }, "key w\n40×20"},
		"is deaf after quit":  {func(d *uitest.Driver) { d.Press("q", "a") }, "key q"},
	} {
		t.Run(name, func(t *testing.T) {
			d := uitest.New(t, &echo{}, 40, 20)
			c.do(d)
			want := strings.TrimSpace("init\n40×20\n" + c.want)
			d.WaitForScreen(func(screen string) bool { return strings.Count(screen, "\n") >= strings.Count(want, "\n") })
			if got := d.Screen(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDriverKeepsWhatLeavesTheModel(t *testing.T) {
	d := uitest.New(t, &echo{}, 40, 20).Press("c")
	d.WaitFor(func() bool { return len(d.Clipboard()) == 1 })
	if got := d.Clipboard()[0]; got != "copied" {
		t.Errorf("clipboard holds %q", got)
	}
	if d.Quit() {
		t.Error("has quit before it was told to")
	}
	d.Press("q")
	if !d.Quit() {
		t.Error("has not quit")
	}
	if got := fmt.Sprint(d.Messages()[0]); got != "init" {
		t.Errorf("first message is %v", got)
	}
}

func TestKeyNamesComeBack(t *testing.T) {
	for _, name := range []string{
		"a", "A", "?", "+", "é", "enter", "space", "ctrl+a", "ctrl+_", "ctrl++", "alt+.", "alt+enter", "shift+tab", "shift+enter",
		"ctrl+alt+shift+f12", "ctrl+left", "pgup", "pgdown", "home", "delete",
	} {
		k, err := uitest.Key(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := k.String(); got != name {
			t.Errorf("Key(%q).String() = %q", name, got)
		}
	}
	for _, name := range []string{"", "ctl+x", "ctrl+entre", "ab"} {
		if k, err := uitest.Key(name); err == nil {
			t.Errorf("Key(%q) = %v, want an error", name, k)
		}
	}
}

// witness holds a test that takes note of its failures.
type witness struct {
	testing.TB
	failures []string
}

func (w *witness) Helper() {}
func (w *witness) Errorf(f string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(f, args...))
}

func (w *witness) Fatalf(f string, args ...any) {
	w.Errorf(f, args...)
	runtime.Goexit()
}

func TestViewsThatDoNotFitFail(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		rows int
		want string
	}{
		"fits":     {"0123456789", 1, ""},
		"too wide": {"0123456789x", 1, "line of 11 cells"},
		"too high": {"x", 9, "lines in a window of 10 by 8"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{TB: t}
			d := uitest.New(w, &echo{}, 10, 8)
			for range c.rows {
				d.Send(said(c.line))
			}
			d.Close()
			got := strings.Join(w.failures, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGolden(t *testing.T) {
	uitest.New(t, &echo{}, 40, 20).Press("t").Golden("echo")
}

// A wait for what was there before the last key waits for nothing, and fails the test.
func TestWaitsForWhatWasThereFail(t *testing.T) {
	for name, c := range map[string]struct {
		wait func(d *uitest.Driver)
		want string
	}{
		"new":                      {func(d *uitest.Driver) { d.Press("a").WaitForText("key a") }, ""},
		"there before":             {func(d *uitest.Driver) { d.Press("a").Press("b").WaitForText("key a") }, "before the last key"},
		"there before, a function": {func(d *uitest.Driver) { d.Press("a").WaitForScreen(func(s string) bool { return s != "" }) }, "before the last key"},
		"two of one key":           {func(d *uitest.Driver) { d.Type("ab").WaitForText("key a").WaitForText("key b") }, ""},
		"by the program itself":    {func(d *uitest.Driver) { d.Press("a").Deliver(said("late")).WaitForText("key a") }, ""},
		"stays":                    {func(d *uitest.Driver) { d.Press("a").Press("b").Shows("key a", "key b") }, ""},
		"is not there":             {func(d *uitest.Driver) { d.Press("a").Lacks("key b") }, ""},
		"is there":                 {func(d *uitest.Driver) { d.Press("a").Lacks("key a") }, "is on the screen"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{TB: t}
			d := uitest.New(w, &echo{}, 40, 20)
			var over sync.WaitGroup
			over.Go(func() { c.wait(d) }) // a fatal failure ends it
			over.Wait()
			got := strings.Join(w.failures, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
