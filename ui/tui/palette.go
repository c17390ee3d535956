package tui

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/app/classify"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/input"
	"parley/ui/tui/transcript"
)

// suggested is the heading of commands that the user is likely to look for.
const suggested = "Suggested"

// manySuggested is the maximum number of commands suggested because of their use.
const manySuggested = 5

// firstCommands lists the commands that come first in lists for new users.
var firstCommands = []string{"model", "new", "sessions", "connect", "help"}

// suggestions returns the suggested commands: those for beginners, then frequently used ones.
func suggestions(uses *app.CommandUses) []string {
	used := slices.DeleteFunc(uses.Frequent(), func(name string) bool { return slices.Contains(firstCommands, name) })
	return slices.Concat(firstCommands, used[:min(len(used), manySuggested)])
}

// palette lists every action with its keys, or the reason why it cannot run now:
// suggested actions first, then all others by group.
func (m *Model) palette() tea.Cmd {
	var rows []dialog.Item
	m.input.Paths() // starts searching, in case a command takes a path
	first := suggestions(&m.App.Uses)
	for _, rank := range append([]app.Group{suggested}, app.Groups...) {
		from := len(rows)
		for _, a := range m.keymap.actions {
			front := slices.Contains(first, a.Name)
			if a.second || front != (rank == suggested) || !front && a.Group != rank {
				continue
			}
			item := dialog.Item{Title: a.Name, Detail: a.Help, Keywords: strings.Join(a.Aliases, " "), Key: strings.Join(a.Keys, ", "), Value: a.Name, Group: string(rank)}
			item.Unavailable = a.why(m)
			item.Disabled = item.Unavailable != ""
			rows = append(rows, item)
		}
		group := rows[from:]
		sort.SliceStable(group, func(i, j int) bool {
			if rank == suggested {
				return slices.Index(first, group[i].Title) < slices.Index(first, group[j].Title)
			}
			return !group[i].Disabled && group[j].Disabled // unavailable actions come last
		})
	}
	for _, p := range items(m.App.Prompts.Items()) {
		p.Value, p.Group = "prompt "+p.Value, "Prompts"
		rows = append(rows, p)
	}
	m.Go(m.App.Prompts.Read) // for the next time: another program may have written a prompt
	list := dialog.Commands("Commands", rows, func(command string) dialog.Args { return argsOf(m, command) }, m.Theme)
	return tea.Batch(m.overlay.Choose(list, func(p dialog.Choice) tea.Cmd {
		line := strings.TrimSpace("/" + cmp.Or(p.Alias, p.Value) + " " + p.Arg)
		if p.Arg != "" { // up recalls it for correction
			m.input.Composer.Recall.CommitHistory(line)
		}
		return m.command(line)
	}), m.parts.broadcast(common.CommandsMsg{}))
}

// slash opens the palette after a slash at the beginning of a line. The text typed to
// find a command is kept, because it may be a message.
func (m *Model) slash() tea.Cmd {
	cmd := m.palette()
	if p, ok := m.overlay.Dialog.(*dialog.Picker); ok {
		p.IsMessage, p.Elsewhere = true, classify.Elsewhere
	}
	m.overlay.OnLeave(func(how dialog.Left) tea.Cmd {
		typed := "/" + how.Typed
		switch {
		case how.Typed == "":
			return nil
		case how.Accepted:
			if how.Again {
				m.pending.refused = typed
			}
			m.input.Composer.SetValue(typed)
			m.input.Composer.Send()
			return nil
		case slices.ContainsFunc(m.keymap.actions, func(a action) bool { return a.Named(strings.TrimSpace(how.Typed)) }):
			return nil
		}
		m.input.Composer.SetValue(typed)
		return nil
	})
	return cmd
}

// argsOf returns the possible arguments of a command.
func argsOf(m *Model, command string) (args dialog.Args) {
	i := slices.IndexFunc(m.keymap.actions, func(a action) bool { return a.Name == command })
	if i < 0 {
		if name, ok := strings.CutPrefix(command, "prompt "); ok {
			args.Items = items(m.App.Prompts.Choices(name))
		}
		return args
	}
	switch a := m.keymap.actions[i]; {
	case a.args != nil:
		args.Items = a.args(m)
	case a.Args != nil:
		args.Items = items(a.Args())
	}
	for _, p := range m.parts {
		if p, ok := p.(arguer); ok && args.Items == nil {
			args.Items = p.Args(command)
		}
	}
	if a := m.keymap.actions[i]; a.Path != "" {
		kind := a.Path
		if a.args != nil && kind == app.PathFile { // args lists the files of the workspace
			kind = input.PathOutside
		}
		folder, words := m.App.Directory, args.Items
		args.Paths = func(typed string) []dialog.Item { return pathItems(kind, folder, typed, words) }
	}
	return args
}

// pathItems completes a typed path of this kind, with or without one of words before it.
// It may be called from any goroutine.
func pathItems(kind app.Path, folder, typed string, words []dialog.Item) (found []dialog.Item) {
	before := ""
	for _, word := range words {
		if strings.HasPrefix(typed, word.Value+" ") {
			before = word.Value + " "
		}
	}
	for _, f := range input.CompletePath(kind, folder, strings.TrimLeft(typed[len(before):], " ")) {
		name := before + f.Path
		if f.IsDirectory {
			name += "/"
		}
		found = append(found, dialog.Item{Title: name, Value: name, Exact: true})
	}
	return found
}

// typed lists typed characters and keys that have an effect in the composer.
var typed = [][2]string{
	{"@", "Attach a file or a resource"},
	{"!", "At the beginning: run a shell command; its output is sent along"},
	{"up", "Queued messages (on an empty line): enter edits, delete drops"},
}

// bindings returns all key bindings: parley's first, readline's last.
func (k *keymap) bindings() []dialog.Section {
	basic, editing := composer.Bindings()
	var out []dialog.Section
	for _, rank := range app.Groups {
		s := dialog.Section{Title: string(rank)}
		if rank == app.Messages {
			s.Rows = slices.Concat(basic, typed)
		}
		for _, a := range k.actions {
			if a.Group == rank && len(a.Keys) > 0 {
				s.Rows = append(s.Rows, [2]string{strings.Join(a.Keys, ", "), a.Help})
			}
		}
		out = append(out, s)
	}
	out = append(out, dialog.Section{Title: "Browsing", Rows: transcript.Bindings()})
	out = append(out, dialog.HelpSections()...)
	return append(out, dialog.Section{Title: "Editing", Rows: editing})
}

// help shows the current key bindings.
func (m *Model) help() tea.Cmd { return m.overlay.Open(dialog.Help(m.keymap.bindings(), m.Theme)) }
