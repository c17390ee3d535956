// Package features is what the screen can show beside the conversation, each with its
// own messages: stored conversations, models, themes, what was spent, and rules about tools.
package features

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// A Deps holds what every feature works with.
type Deps struct {
	*common.Screen
	dialog.Host
	App     *app.App
	Perform func(app.Effect) tea.Cmd // shows what came of something the user did
}
