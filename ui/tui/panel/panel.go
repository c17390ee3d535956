// Package panel is what the screen gives to views with a life of their own, such as the list of models.
package panel

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// A Deps holds what every view works with.
type Deps struct {
	*common.Screen
	dialog.Host
	App     *app.App
	Perform func(app.Effect) tea.Cmd     // shows what came of something the user did
	Run     func(command string) tea.Cmd // runs a command by its name
	Show    func(seq int)                // goes to a message of the open conversation
	Themed  []Themeable                  // is drawn in the colors of the theme
}

// A Themeable draws itself in the colors of a theme.
type Themeable interface{ SetTheme(*theme.Theme) }
