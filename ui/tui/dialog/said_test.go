package dialog_test

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"parley/tools/act"
	"parley/ui/tui/dialog"
)

// Calls of the root and of dialog owners, in a form that tests can compare. dialog.Choice and
// dialog.Left are used as well.
type (
	answered  struct{ act.Approval }
	confirmed struct{ Yes bool }
	typed     struct{ Msg tea.Msg }
	copied    struct{ Text, What string }
	acted     struct{ Key string }
	moved     struct{ Value string }
	pinned    struct {
		Value string
		On    bool
	}
	hidden struct {
		Value string
		On    bool
	}
	opened struct {
		ID  string
		Seq int
	}
	forked   struct{ ID string }
	renamed  struct{ ID, Title string }
	trashed  struct{ ID string }
	restored struct{ ID string }
	filtered struct{ Words string }
	preview  struct {
		ID  string
		Seq int
	}
)

// says returns a command that returns msg.
func says(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// actions returns the actions of a list of conversations in tests.
func actions(say func(tea.Msg) tea.Cmd) dialog.SessionActions {
	return dialog.SessionActions{
		Open:    func(id string, seq int) tea.Cmd { return say(opened{id, seq}) },
		Fork:    func(id string) tea.Cmd { return say(forked{id}) },
		Rename:  func(id, title string) tea.Cmd { return say(renamed{id, title}) },
		Pin:     func(id string, on bool) tea.Cmd { return say(pinned{id, on}) },
		Trash:   func(id string) tea.Cmd { return say(trashed{id}) },
		Restore: func(id string) tea.Cmd { return say(restored{id}) },
		Search:  func(words string) tea.Cmd { return say(filtered{words}) },
		Preview: func(id string, seq int) tea.Cmd { return says(preview{id, seq}) },
	}
}

// listen records all actions of a dialog from now on.
func listen(d dialog.Dialog) *[]tea.Msg {
	var all []tea.Msg
	say := func(msg tea.Msg) tea.Cmd { all = append(all, msg); return nil }
	d.Attach(dialog.Root{
		Left:  func(l dialog.Left) tea.Cmd { return say(l) },
		Typed: func(msg tea.Msg) tea.Cmd { return say(typed{msg}) },
		Copy:  func(text, what string) tea.Cmd { return say(copied{text, what}) },
	})
	switch d := d.(type) {
	case *spy:
		d.heard = listen(d.Dialog)
		return d.heard
	case *dialog.Picker:
		d.Chosen = func(c dialog.Choice) tea.Cmd { return say(c) }
		if d.Moved != nil {
			d.Moved = func(value string) { say(moved{value}) }
		}
		if d.Marks.Pin != nil {
			d.Marks.Pin = func(value string, on bool) tea.Cmd { return say(pinned{value, on}) }
			d.Marks.Hide = func(value string, on bool) tea.Cmd { return say(hidden{value, on}) }
		}
	case *dialog.Confirmation:
		d.Answered = func(answer int) tea.Cmd { return say(confirmed{answer == 0}) }
	case *dialog.ModelQuestion:
		d.Answered = func(chosen []int, text string) tea.Cmd { return say(fmt.Sprint(chosen, text)) }
	case *dialog.Approval:
		d.Answered, d.Reply = func() {}, func(a act.Approval) { say(answered{a}) }
	case *dialog.SessionList:
		d.Actions = actions(say)
	case *dialog.Secret:
		d.Submit = func(string) tea.Cmd { return nil }
	}
	return &all
}

// nothingPinned allows the rows of a picker to be pinned and hidden.
func nothingPinned(string, bool) tea.Cmd { return nil }
