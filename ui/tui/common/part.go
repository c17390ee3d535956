package common

import tea "charm.land/bubbletea/v2"

// A Part is a part of the screen that handles its own messages.
type Part interface {
	// Update handles msg, and reports whether the part knows it.
	Update(msg tea.Msg) (tea.Cmd, bool)
}

// Messages of the screen to all of its parts.
type (
	StartMsg           struct{} // the screen opens
	ReadyMsg           struct{} // no question remains before the first prompt
	CommandsMsg        struct{} // the list of commands opens; loading their arguments may take time
	SessionsChangedMsg struct{} // conversations may have been deleted or renamed
	UpdatedMsg         struct{} // a message was handled
	ShutdownMsg        struct{} // the screen closes
)

// An OpenMsg asks the part with a panel to open it. Query is the text to search for.
type OpenMsg struct{ Panel, Query string }

// A FirstFrameMsg reports that the first frame is on the terminal.
type FirstFrameMsg struct{}

// A ToastMsg asks the screen to show a toast.
type ToastMsg string
