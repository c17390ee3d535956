package terminal

import (
	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
)

// Title returns the window title for a conversation, after a state such as "waiting for you"; both may be "".
func Title(conversation, state string) string {
	title := "parley"
	for _, part := range []string{conversation, state} {
		if part != "" {
			title = part + " – " + title
		}
	}
	return sanitize.Line(title)
}

// Progress returns the progress that the terminal shows with the window title.
func Progress(running, waiting bool) *tea.ProgressBar {
	switch {
	case !running:
		return nil
	case waiting:
		return tea.NewProgressBar(tea.ProgressBarWarning, 100)
	}
	return tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
}
