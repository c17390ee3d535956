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

// Whoever waits for a dialog to be left is told once, however it goes, and never after a
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
