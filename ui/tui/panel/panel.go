// Package panel holds the dependencies of separate views, such as the list of models.
package panel

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// A Deps holds the dependencies of every view.
type Deps struct {
	*common.Screen
	dialog.Host
	App     *app.App
	Perform func(app.Effect) tea.Cmd     // shows the effect of an action of the user
	Run     func(command string) tea.Cmd // runs a command by name
	Prompt  func(text string) tea.Cmd    // sends a prompt
	Show    func(seq int)                // scrolls to a message of the open conversation
	Themed  []Themeable                  // views to redraw when the theme changes
}

// A Themeable has a theme that can be changed.
type Themeable interface{ SetTheme(*theme.Theme) }
