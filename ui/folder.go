package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/session"
	"parley/ui/dialog"
)

// Directory finds the directory that the user means by name: ~ is the home
// directory, and what is relative begins in Folder.
func (o Options) Directory(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		name = home + rest
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.Folder, name)
	}
	name = filepath.Clean(name)
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a folder", name)
	}
	return name, nil
}

// Directories are those of stored conversations that are still there, the latest
// first, without Folder.
func (o Options) Directories() (all []string, err error) {
	rows, err := o.Library.List(session.Query{})
	for _, s := range rows {
		if s.Folder == o.Folder || slices.Contains(all, s.Folder) {
			continue
		}
		if dir, err := o.Directory(s.Folder); err == nil && filepath.IsAbs(s.Folder) {
			all = append(all, dir)
		}
	}
	return all, err
}

// folder goes to another directory: by its name, or one from the list.
func (m *Model) folder(arg string) tea.Cmd {
	if arg != "" {
		return m.enterFolder(arg)
	}
	o := m.o
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
		items = append(items, dialog.Item{Title: m.o.Short(dir), Value: dir})
	}
	return m.open(dialog.Pick("folder", "Work in another folder · /cd PATH goes to any", items, m.theme))
}

// enterFolder ends this screen and has another begin in a directory.
func (m *Model) enterFolder(name string) tea.Cmd {
	dir, err := m.o.Directory(name)
	if err != nil {
		return m.say(err.Error())
	}
	m.o.Enter(dir)
	return m.quit()
}

func (m *Model) lacksFolders() string {
	if m.o.Enter == nil {
		return "The folder is fixed here"
	}
	return m.lacksRest()
}
