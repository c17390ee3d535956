// Package hooks lets the user see the programs that run when something happens.
package hooks

import "parley/ui/app"

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a.Hooks}
	a.Commands = append(a.Commands,
		app.Command{Name: "hooks", Group: app.Program, Help: "Hooks: commands that run when something happens", Unavailable: f.unavailable, Run: f.list},
	)
}

// A flow lists hooks; all is nil if nothing is known of them.
type flow struct{ all func() []app.Item }

func (f flow) unavailable() string {
	if f.all == nil || len(f.all()) == 0 {
		return "No hooks. Add one under [[hooks]] in config.toml"
	}
	return ""
}

// list shows a row for each hook; one that is chosen is shown whole.
func (f flow) list(string) app.Effect {
	return &app.List{Title: "Hooks", Noun: "hook", Items: f.all(), Choose: func(i app.Item, _ string) app.Effect {
		return app.Toast(i.Title + " · " + i.Detail)
	}}
}
