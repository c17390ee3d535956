// Package features holds the views beside the conversation, each with its own messages: stored
// conversations, models, themes, jobs, and the use of the context window.
package features

import (
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// New returns the views of this package.
func New(d *panel.Deps) []common.Part {
	models := &Models{Deps: d}
	return []common.Part{
		&Sessions{Deps: d}, models, &Themes{Deps: d}, &Connect{Deps: d, models: models}, &Welcome{Deps: d},
		&Branch{Deps: d}, &Local{Deps: d}, &StatusCommand{Deps: d}, &Output{Deps: d},
	}
}
