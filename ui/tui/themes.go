package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// themes are the looks there are.
func (m *Model) themes() []dialog.Item {
	var items []dialog.Item
	for _, name := range m.config.names() {
		item := dialog.Item{Title: name, Value: name, Current: name == m.config.Theme}
		switch th := m.config.theme(name); {
		case th == nil:
			item.Detail = "as the terminal's background wants it"
		case th.Plain:
			item.Detail = "no colours"
		case name == "terminal":
			item.Detail = "the terminal's own colours"
		case th.Dark:
			item.Detail = "for dark backgrounds"
		default:
			item.Detail = "for light backgrounds"
		}
		items = append(items, item)
	}
	return items
}

// pickTheme takes a theme, or lets one look through them: each is shown when it
// is selected, and the one there was comes back if none is taken.
func (m *Model) pickTheme(arg string) tea.Cmd {
	if arg == "" {
		list := dialog.Pick("", "Theme", m.themes(), m.theme)
		list.NotifyMoves = true
		m.before = m.theme
		return m.choose(list, func(p dialog.PickedMsg) tea.Cmd {
			m.before = nil
			return m.pickTheme(p.Value)
		})
	}
	if names := m.config.names(); !slices.Contains(names, arg) {
		return m.say(fmt.Sprintf("there is no theme %q: %s", arg, app.Join(names)))
	}
	m.config.Theme = arg
	ask := m.wear(arg)
	return tea.Batch(ask, m.perform(m.app.Keep("theme", arg)))
}

// wear shows the screen in a theme.
func (m *Model) wear(name string) tea.Cmd {
	if th := m.config.theme(name); th != nil {
		m.setTheme(th)
		return nil
	}
	return tea.RequestBackgroundColor // "auto" follows the answer
}

// look shows a theme that is looked at.
func (m *Model) look(name string) {
	if th := m.config.theme(name); th != nil {
		m.setTheme(th)
		return
	}
	m.setTheme(m.before)
}

// unlook brings back the theme there was before others were looked at.
func (m *Model) unlook() {
	if m.before != nil {
		m.setTheme(m.before)
		m.before = nil
	}
}
