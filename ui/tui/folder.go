package tui

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/dialog"
)

// folder goes to another directory: by its name, or one from the list.
func (m *Model) folder(arg string) tea.Cmd {
	if arg != "" {
		return m.enterFolder(arg)
	}
	o := m.app
	return func() tea.Msg {
		dirs, err := o.Directories()
		return foldersMsg{dirs, err}
	}
}

// foldersMsg are the directories to choose from.
type foldersMsg struct {
	dirs []string
	err  error
}

func (m *Model) pickFolder(msg foldersMsg) tea.Cmd {
	if len(msg.dirs) == 0 {
		if msg.err != nil {
			return m.say(msg.err.Error())
		}
		return m.say("No other folder is known yet: /cd PATH goes to one")
	}
	var items []dialog.Item
	for _, dir := range msg.dirs {
		items = append(items, dialog.Item{Title: m.app.Short(dir), Value: dir})
	}
	return m.open(dialog.Pick("folder", "Work in another folder · /cd PATH goes to any", items, m.theme))
}

// enterFolder ends this screen and has another begin in a directory.
func (m *Model) enterFolder(name string) tea.Cmd {
	dir, err := m.app.Directory(name)
	if err != nil {
		return m.say(err.Error())
	}
	m.app.Enter(dir)
	return m.quit()
}

func (m *Model) lacksFolders() string {
	if m.app.Enter == nil {
		return "The folder is fixed here"
	}
	return m.lacksRest()
}
