package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/session"
)

// A Command is something a user can do. One table of them serves keys, palette, plain lines, help and manual.
type Command struct {
	Name         string // typed after a slash
	Aliases      []string
	Keys         []string // keys that run it, such as "ctrl+x m"
	Group        Group
	Arg          string // name of its argument, in capitals; "" if it takes none
	Help         string
	Unavailable  func() string // returns why it cannot run now, "" if it can; nil: it always can
	Args         func() []Item // lists the possible arguments; nil if there is no such list
	Path         Path          // kind of path that its argument may be or end with; "" for none
	MultilineArg string        // first word of an argument that may have several lines; "" for none; "*" for any
	Editors      bool          // offered to editors over the Agent Client Protocol
	Run          func(arg string) Effect
}

// A Path is a kind of path in a command's argument; front ends complete it.
type Path string

const (
	PathFile             Path = "file"
	PathDirectory        Path = "folder"
	PathSiblingDirectory Path = "beside" // a directory; without a parent in the typed text, a sibling of the working directory
)

// A Group is a group of commands. The groups are in the order of the help.
type Group string

const (
	Messages      Group = "Input & messages"
	Conversations Group = "Conversations"
	ModelsGroup   Group = "Models"
	View          Group = "View"
	Program       Group = "App"
)

// Groups lists all groups in order.
var Groups = []Group{Messages, Conversations, ModelsGroup, View, Program}

// Named reports whether name is the name or an alias of c.
func (c *Command) Named(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

// Names returns the name and the aliases of c.
func (c *Command) Names() []string { return append([]string{c.Name}, c.Aliases...) }

// Command returns the command with this name; if there is none, a command that does nothing.
func (a *App) Command(name string) *Command {
	for i := range a.Commands {
		if a.Commands[i].Name == name {
			return &a.Commands[i]
		}
	}
	return &Command{Run: func(string) Effect { return nil }}
}

// usesKey is the store key for the counts of CommandUses.
const usesKey = "command_uses"

// CommandUses counts how often each command was run by name, over all runs.
type CommandUses struct {
	store  *session.Store
	counts map[string]int // nil until loaded
}

// Count counts one use of a command.
func (u *CommandUses) Count(name string) Effect {
	u.load()
	u.counts[name]++
	lines := make([]string, 0, len(u.counts))
	for _, name := range slices.Sorted(maps.Keys(u.counts)) {
		lines = append(lines, name+" "+strconv.Itoa(u.counts[name]))
	}
	store, all := u.store, strings.Join(lines, "\n")
	return Async(func(context.Context) Effect {
		_ = store.Set(usesKey, all) // the counts only affect the order of a list
		return nil
	})
}

// Frequent returns the commands run by name more than once, most used first.
func (u *CommandUses) Frequent() []string {
	u.load()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(u.counts)), func(name string) bool { return u.counts[name] < 2 })
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(u.counts[y], u.counts[x]) })
	return names
}

func (u *CommandUses) load() {
	if u.counts != nil {
		return
	}
	u.counts = map[string]int{}
	stored, _ := u.store.Get(usesKey)
	for line := range strings.Lines(stored) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			u.counts[name] = n
		}
	}
}

// These functions return why a command cannot run now; "" if it can.

// BusyText returns a text if a turn is running; "" otherwise.
func (a *App) BusyText() string {
	if a.FrontEnd.Busy() {
		return "Stop the running turn first"
	}
	return ""
}

// EmptyText returns a text if the conversation is empty; "" otherwise.
func (a *App) EmptyText() string {
	if a.Session.Empty() {
		return "The conversation is empty"
	}
	return ""
}

// NoBranchesText explains how to create branches if there are none; "" otherwise.
func (a *App) NoBranchesText() string {
	if !a.Session.HasBranches() {
		return "No branches yet. " + a.FrontEnd.KeyOf("rewind") + " edits a message"
	}
	return ""
}
