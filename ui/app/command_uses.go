package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
)

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
