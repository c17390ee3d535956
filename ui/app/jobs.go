package app

import (
	"strings"

	"parley/ui/format"
)

// RunningJobs returns the names of the running background commands, as "1. make".
func (m *Machine) RunningJobs() []string {
	if m.Jobs == nil {
		return nil
	}
	return m.Jobs.Running()
}

// Quit ends the front end. If background commands are running, it asks first.
func Quit(a *App) Effect {
	return a.Machine.EndJobs(&Confirm{Text: "Quitting", Yes: "Quit", No: "Cancel", Harmless: true, Accept: func() Effect { return Exit{} }})
}

// EndJobs accepts c, which ends all background commands. If there are any, it asks first: its text is then the
// beginning of a sentence, such as "Quitting".
func (m *Machine) EndJobs(c *Confirm) Effect {
	jobs := m.EndingJobs()
	if jobs == "" {
		return c.Accept()
	}
	c.Text += " ends " + jobs
	return c
}

// EndingJobs names the background commands that would end with parley; "" for none.
func (m *Machine) EndingJobs() string {
	running := m.RunningJobs()
	if len(running) == 0 {
		return ""
	}
	return format.Plural(len(running), "command") + " in the background:\n  " + strings.Join(running, "\n  ")
}
