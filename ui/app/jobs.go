package app

import (
	"strings"

	"parley/ui/format"
)

// Jobs are the commands in the background, which end with parley; the flow of jobs knows their type.
type Jobs interface{ Running() (names []string) }

// RunningJobs returns the names of the commands in the background, as "1. make".
func (a *App) RunningJobs() []string {
	if a.Jobs == nil {
		return nil
	}
	return a.Jobs.Running()
}

// EndingJobs says which commands in the background end with parley; "" for none.
func (a *App) EndingJobs() string {
	running := a.RunningJobs()
	if len(running) == 0 {
		return ""
	}
	return format.Plural(len(running), "command") + " in the background:\n  " + strings.Join(running, "\n  ")
}
