package dialog

import tea "charm.land/bubbletea/v2"

// A Host shows one dialog at a time.
type Host interface {
	Open(Dialog) tea.Cmd                                      // replaces the open dialog
	Choose(d *Picker, picked func(PickedMsg) tea.Cmd) tea.Cmd // opens d and calls picked with the chosen row; nil if rows are only for reading
	OnLeave(left func(ClosedMsg) tea.Cmd)                     // sets the function to call if the open dialog is left without a choice
	Close()                                                   // closes the open dialog
	Current() Dialog                                          // returns the open dialog; nil if there is none
}
