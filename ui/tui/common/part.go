package common

import tea "charm.land/bubbletea/v2"

// A Part of the screen takes messages that are its own.
type Part interface {
	// Update reports whether msg is one that the part knows.
	Update(msg tea.Msg) (tea.Cmd, bool)
}

// Messages of the screen to all of its parts.
type (
	StartMsg           struct{} // the screen opens
	ReadyMsg           struct{} // nothing is to be asked any more before the first prompt
	CommandsMsg        struct{} // the list of commands opens, whose arguments may take time to load
	SessionsChangedMsg struct{} // conversations may have gone, or have other names
	UpdatedMsg         struct{} // a message was handled
	ShutdownMsg        struct{} // the screen closes
)

// An OpenMsg asks the part with a panel to open it. Query is the text to search it for.
type OpenMsg struct{ Panel, Query string }

// A FirstFrameMsg reports that the first frame is on the terminal.
type FirstFrameMsg struct{}

// A ToastMsg asks the screen to show a toast.
type ToastMsg string
