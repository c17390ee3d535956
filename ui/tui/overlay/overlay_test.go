package overlay

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

func open(t *testing.T) *Overlay {
	t.Helper()
	o := New(common.New(common.DefaultConfig(), func(string) string { return "" }, time.Now), "~/work")
	o.Tick = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	return o
}

// OnLeave's function is called once when a dialog is left in any way, and never after a
// choice.
func TestOnLeave(t *testing.T) {
	for name, tt := range map[string]struct {
		how  func(o *Overlay)
		left int
	}{
		"esc":            {func(o *Overlay) { o.HandleInput(tea.KeyPressMsg{Code: tea.KeyEscape}) }, 1},
		"ctrl+c":         {func(o *Overlay) { o.Interrupt() }, 1},
		"another dialog": {func(o *Overlay) { o.Open(dialog.Help(nil, o.Theme)) }, 1},
		"a choice": {func(o *Overlay) {
			o.HandleInput(tea.KeyPressMsg{Code: tea.KeyEnter})
			o.Open(dialog.Help(nil, o.Theme))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o, left := open(t), 0
			o.Choose(dialog.Pick("list", []dialog.Item{{Title: "a", Value: "a"}}, o.Theme), nil)
			o.OnLeave(func(dialog.Left) tea.Cmd { left++; return nil })
			tt.how(o)
			o.Interrupt()
			if left != tt.left {
				t.Errorf("told %d times, want %d", left, tt.left)
			}
		})
	}
}

// A pane does not wait for an answer: a letter for it is held longer, so that slowly typed messages keep it.
func TestLetterOfAPane(t *testing.T) {
	o, text := open(t), ""
	var delay time.Duration
	o.Tick = func(d time.Duration, _ tea.Msg) tea.Cmd { delay = d; return nil }
	o.Typed = func(msg tea.Msg) tea.Cmd { text += msg.(tea.KeyPressMsg).Text; return nil }
	o.Hold(tea.KeyPressMsg{Code: 'y', Text: "y"}, func() tea.Cmd { t.Error("it answered"); return nil })
	if o.Settle(tea.KeyPressMsg{Code: 'e', Text: "e"}); delay < 400*time.Millisecond || text != "y" {
		t.Errorf("held for %s, text %q", delay, text)
	}
}

// A letter that answers does so after the delay, before another key, and never after text or in a
// dialog that replaced its own.
func TestHeldLetter(t *testing.T) {
	letter := func(r rune) tea.Msg { return tea.KeyPressMsg{Code: r, Text: string(r)} }
	for name, tt := range map[string]struct {
		then     func(o *Overlay, due tea.Msg) tea.Msg // messages after the letter
		answered bool
		text     string
	}{
		"its time is over": {func(_ *Overlay, due tea.Msg) tea.Msg { return due }, true, ""},
		"another key":      {func(*Overlay, tea.Msg) tea.Msg { return tea.KeyPressMsg{Code: tea.KeyEnter} }, true, ""},
		"a letter":         {func(*Overlay, tea.Msg) tea.Msg { return letter('e') }, false, "y"},
		"a paste":          {func(*Overlay, tea.Msg) tea.Msg { return tea.PasteMsg{Content: "es"} }, false, "y"},
		"the time of an earlier one": {func(o *Overlay, due tea.Msg) tea.Msg {
			o.HandleInput(letter('y'))
			return due
		}, false, ""},
		"another dialog": {func(o *Overlay, due tea.Msg) tea.Msg {
			o.Open(dialog.Help(nil, o.Theme))
			return due
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, yes, text := open(t), false, ""
			var due tea.Msg
			o.Tick = func(_ time.Duration, msg tea.Msg) tea.Cmd {
				if _, ok := msg.(LoneMsg); ok && due == nil {
					due = msg
				}
				return nil
			}
			now := time.Unix(1e9, 0)
			o.Now = func() time.Time { return now }
			o.Typed = func(msg tea.Msg) tea.Cmd { text += msg.(tea.KeyPressMsg).Text; return nil }
			d := dialog.Confirm("Sure?", "yes", "no", o.Theme)
			d.Unasked = true
			o.Ask(d, func(bool) tea.Cmd { yes = true; return nil })
			d.SetSize(40, 10)
			d.View()
			o.Update(DrawnMsg{})
			now = now.Add(time.Second)
			o.HandleInput(letter('y'))
			o.Settle(tt.then(o, due))
			if yes != tt.answered || text != tt.text {
				t.Errorf("answered %v, text %q; want %v, %q", yes, text, tt.answered, tt.text)
			}
		})
	}
}
