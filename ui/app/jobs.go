package app

import (
	"strings"

	"parley/ui/format"
)

// Jobs are the background commands, which end with parley; the jobs flow knows the concrete type.
type Jobs interface{ Running() (names []string) }

// RunningJobs returns the names of the running background commands, as "1. make".
func (a *App) RunningJobs() []string {
	if a.Jobs == nil {
		return nil
	}
	return a.Jobs.Running()
}

// EndingJobs names the background commands that would end with parley; "" for none.
func (a *App) EndingJobs() string {
	running := a.RunningJobs()
	if len(running) == 0 {
		return ""
	}
	return format.Plural(len(running), "command") + " in the background:\n  " + strings.Join(running, "\n  ")
}
