package features

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// Local starts the MCP servers after the first frame is drawn. Once any question about the directory is answered as
// well, it searches this machine for models that can answer.
type Local struct {
	*panel.Deps
	begun, drawn, ready bool
}

// Update starts the search once both conditions hold, and reports whether msg is its own.
func (f *Local) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg.(type) {
	case tea.WindowSizeMsg:
		if f.begun {
			return nil, false
		}
		f.begun = true
		return f.Tick(0, common.FirstFrameMsg{}), false
	case common.ReadyMsg:
		f.ready = true
		return f.look(), false
	case common.FirstFrameMsg:
		f.drawn = true
		return tea.Batch(f.Perform(f.App.Started()), f.look()), true
	}
	return nil, false
}

func (f *Local) look() tea.Cmd {
	if !f.drawn || !f.ready {
		return nil
	}
	f.drawn = false
	return f.Perform(f.App.Models.Discover())
}
