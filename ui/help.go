package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/dialog"
)

// palette lists every action with its keys.
func (m *Model) palette(string) tea.Cmd {
	var items []dialog.Item
	for _, a := range m.actions {
		if a.name == "commands" || a.name == "keys" || a.name == "end" {
			continue // second routes to what is listed already
		}
		items = append(items, dialog.Item{Title: a.name, Detail: a.help, Key: strings.Join(a.keys, ", "), Value: a.name})
	}
	if servers := m.o.Servers(); servers != nil {
		for _, p := range servers.Prompts() {
			items = append(items, dialog.Item{Title: p.Server + ":" + p.Name, Detail: p.Description, Value: "prompt " + p.Server + ":" + p.Name})
		}
	}
	list := dialog.Pick("command", "Commands", items, m.theme)
	list.Words = true
	return m.open(list)
}

// slashed is the palette by way of a slash, which may turn out to begin a
// message.
func (m *Model) slashed(string) tea.Cmd {
	m.slash = true
	return m.palette("")
}

// help shows the real bindings.
func (m *Model) help(string) tea.Cmd {
	sections := []dialog.Section{
		{Title: "Writing", Rows: [][2]string{
			{"enter", "send; queue while the model is busy"},
			{"ctrl+j, alt+enter, \\ enter", "new line"},
			{"up, down", "history, at the edge"},
			{"ctrl+r", "search the history"},
			{"ctrl+_", "bring back what was cleared"},
			{"@", "bring a file along; tab or enter completes"},
			{"! at the beginning", "run a command of your own; its output goes along with the next prompt"},
			{"up, on an empty line", "queued messages: enter edits, delete drops"},
		}},
		{Title: "Allowing a tool", Rows: [][2]string{
			{"y", "once"}, {"a", "the same again in this session"}, {"p", "always, by a rule"}, {"e", "change the arguments first"}, {"w", "with network"},
			{"n, esc", "deny, n with a note to the model"}, {"ctrl+o", "details"},
		}},
		{Title: "Browsing", Rows: [][2]string{
			{"j k, u d, g G", "move: lines, half pages, ends"}, {"[ ], { }", "your messages, code blocks"},
			{"space, z", "fold or unfold one, all"}, {"enter", "all of it"}, {"/, n N", "search"}, {"v, y Y", "select, copy the source, the code"},
			{"r e f", "answer anew, edit, fork"}, {"esc, i", "back to writing"},
		}},
	}
	for _, rank := range []section{talking, kept, models, reading, workplace} {
		s := dialog.Section{Title: string(rank)}
		for _, a := range m.actions {
			if a.rank == rank && len(a.keys) > 0 {
				s.Rows = append(s.Rows, [2]string{strings.Join(a.keys, ", "), a.help})
			}
		}
		sections = append(sections, s)
	}
	return m.open(dialog.Help(sections, m.theme))
}
