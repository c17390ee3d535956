package dialog

import tea "charm.land/bubbletea/v2"

// A Host shows one dialog at a time.
type Host interface {
	Open(Dialog) tea.Cmd                                      // leaves the one that is open
	Choose(d *Picker, picked func(PickedMsg) tea.Cmd) tea.Cmd // opens d; picked takes the chosen row, nil: rows are for reading
	OnLeave(left func(ClosedMsg) tea.Cmd)                     // is told that the open dialog was left without a choice
	Close()                                                   // after a choice
	Current() Dialog                                          // nil: none
}
