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

// An answer that is on its way when another dialog opens is none to that one.
func TestAnswerToWhatWasLeft(t *testing.T) {
	o := open(t)
	var yes, picked []string
	ask := func(name string) *dialog.Confirmation {
		d := dialog.Confirm(name+"?", "yes", "no", o.Theme)
		d.Harmless = true
		o.Ask(d, func(bool) tea.Cmd { yes = append(yes, name); return nil })
		return d
	}
	pick := func(name string) *dialog.Picker {
		d := dialog.Pick(name, []dialog.Item{{Title: "a", Value: "a"}}, o.Theme)
		o.Choose(d, func(dialog.PickedMsg) tea.Cmd { picked = append(picked, name); return nil })
		return d
	}
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	said := func(d dialog.Dialog, key tea.KeyPressMsg) tea.Msg {
		d.Update(key)
		return d.TakeSaid()[0]
	}
	late := said(pick("first"), enter)
	pick("second")
	o.Update(late)
	lateYes := said(ask("third"), tea.KeyPressMsg{Code: 'y', Text: "y"})
	again := ask("fourth")
	o.Update(lateYes)
	if len(picked)+len(yes) > 0 {
		t.Errorf("taken for answers: %q, %q", picked, yes)
	}
	if o.Update(said(again, tea.KeyPressMsg{Code: 'y', Text: "y"})); len(yes) != 1 || o.Current() != nil {
		t.Errorf("the answer that was given: %q", yes)
	}
}

// OnLeave is called once when a dialog is left, however that happens, and never after a
// choice.
func TestOnLeave(t *testing.T) {
	for name, tt := range map[string]struct {
		how  func(o *Overlay)
		left int
	}{
		"esc":            {func(o *Overlay) { o.Update(dialog.ClosedMsg{}) }, 1},
		"ctrl+c":         {func(o *Overlay) { o.Interrupt() }, 1},
		"another dialog": {func(o *Overlay) { o.Open(dialog.Help(nil, o.Theme)) }, 1},
		"a choice": {func(o *Overlay) {
			o.HandleInput(tea.KeyPressMsg{Code: tea.KeyEnter})
			o.Update(o.TakeSaid()[0])
			o.Update(dialog.ClosedMsg{})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o, left := open(t), 0
			o.Choose(dialog.Pick("list", []dialog.Item{{Title: "a", Value: "a"}}, o.Theme), nil)
			o.OnLeave(func(dialog.ClosedMsg) tea.Cmd { left++; return nil })
			tt.how(o)
			o.Update(dialog.ClosedMsg{})
			if left != tt.left {
				t.Errorf("told %d times, want %d", left, tt.left)
			}
		})
	}
}

// A letter that answers does so once its time is over, before another key, and never after text or in
// a dialog that took its place.
func TestHeldLetter(t *testing.T) {
	letter := func(r rune) tea.Msg { return tea.KeyPressMsg{Code: r, Text: string(r)} }
	for name, tt := range map[string]struct {
		then     func(o *Overlay, due tea.Msg) tea.Msg // the messages after it
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
			d := dialog.Confirm("Sure?", "yes", "no", o.Theme)
			d.Unasked = true
			o.Ask(d, func(bool) tea.Cmd { yes = true; return nil })
			d.SetSize(40, 10)
			d.View()
			o.Update(DrawnMsg{})
			now = now.Add(time.Second)
			o.HandleInput(letter('y'))
			o.Settle(tt.then(o, due))
			for _, said := range o.TakeSaid() {
				if typed, ok := said.(dialog.UnhandledKeyMsg); ok {
					text += typed.Msg.(tea.KeyPressMsg).Text
				}
				o.Update(said)
			}
			if yes != tt.answered || text != tt.text {
				t.Errorf("answered %v, text %q; want %v, %q", yes, text, tt.answered, tt.text)
			}
		})
	}
}
