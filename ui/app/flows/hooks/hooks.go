// Package hooks lets the user see the programs that run on events.
package hooks

import "parley/ui/app"

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a.Machine.Hooks}
	a.Commands = append(a.Commands,
		app.Command{Name: "hooks", Group: app.Program, Help: "Hooks: commands that run when something happens", Unavailable: f.unavailable, Run: f.list},
	)
}

// A flow lists hooks; all is nil if they are unknown.
type flow struct{ all func() []app.Item }

func (f flow) unavailable() string {
	if f.all == nil || len(f.all()) == 0 {
		return "No hooks. Add one under [[hooks]] in config.toml"
	}
	return ""
}

// list lists the hooks and shows the chosen one completely.
func (f flow) list(string) app.Effect {
	return app.Choose("Hooks", "hook", f.all(), func(whole string) app.Effect { return app.Toast(whole) })
}
