package features

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// Local looks for what on this machine can answer: once, when the first frame is drawn and
// the question about the directory, if there is one, was answered.
type Local struct {
	*panel.Deps
	begun, drawn, ready bool
}

// Update starts looking once both is so, and reports whether msg is its own.
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
		return f.look(), true
	}
	return nil, false
}

func (f *Local) look() tea.Cmd {
	if !f.drawn || !f.ready {
		return nil
	}
	f.drawn = false
	return f.Perform(f.App.DiscoverModels())
}
