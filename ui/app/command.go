package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/ui/fuzzy"
)

// A Command is something a user can do. One table serves keys, palette, plain lines,
// help and manual.
type Command struct {
	Name        string // typed behind a slash
	Aliases     []string
	Keys        []string // that run it, such as "ctrl+x m"
	Group       Group
	Arg         string // what may stand behind it, in capitals; "" is nothing
	Help        string
	Unavailable func(*App) string // why it cannot run now, "" if it can; nil: it always can
	Args        func(*App) []Item // what its argument may be; nil: anything, or nothing
	Run         func(a *App, arg string) Effect
}

// Groups of commands, in the order of the help.
type Group string

const (
	Messages      Group = "Input & messages"
	Conversations Group = "Conversations"
	ModelsGroup   Group = "Models"
	View          Group = "View"
	Program       Group = "App"
)

// Groups lists all of them in order.
var Groups = []Group{Messages, Conversations, ModelsGroup, View, Program}

// Named reports whether name is one of the names of c, whole.
func (c *Command) Named(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

// Names returns the names of c, its own first.
func (c *Command) Names() []string { return append([]string{c.Name}, c.Aliases...) }

// Do runs c, or says why it cannot run.
func (c *Command) Do(a *App, arg string) Effect {
	if c.Unavailable != nil {
		if why := c.Unavailable(a); why != "" {
			return Say(why)
		}
	}
	return c.Run(a, arg)
}

// FindCommand finds the command that a typed name means, by the names of each: one of
// them whole, or the beginning of the names of one command alone. At is below 0 if there
// is none; among are then the commands that it begins a name of.
func FindCommand(name string, commands [][]string) (at int, among []int) {
	return fuzzy.Named(name, commands)
}

// ParseCommand splits "/name argument"; ok is false for text that is none.
func ParseCommand(text string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok || strings.Contains(rest, "\n") {
		return "", "", false
	}
	name, arg, _ = strings.Cut(rest, " ")
	return name, strings.TrimSpace(arg), true
}

// usesKey is where it is stored how often commands were asked for by name.
const usesKey = "command_uses"

// CountUse remembers that a command was asked for by name, here and in the next run.
func CountUse(a *App, name string) Effect {
	a.loadUses()
	a.uses[name]++
	lines := make([]string, 0, len(a.uses))
	for _, name := range slices.Sorted(maps.Keys(a.uses)) {
		lines = append(lines, name+" "+strconv.Itoa(a.uses[name]))
	}
	lib, all := a.Library, strings.Join(lines, "\n")
	return Effect{Async: func(context.Context) Effect {
		_ = lib.Set(usesKey, all) // only the order of a list hangs on it
		return Effect{}
	}}
}

// MostUsed returns the commands that were asked for by name more than once, the most used
// first.
func MostUsed(a *App) []string {
	a.loadUses()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(a.uses)), func(name string) bool { return a.uses[name] < 2 })
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(a.uses[y], a.uses[x]) })
	return names
}

func (a *App) loadUses() {
	if a.uses != nil {
		return
	}
	a.uses = map[string]int{}
	stored, _ := a.Library.Get(usesKey)
	for line := range strings.Lines(stored) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			a.uses[name] = n
		}
	}
}
