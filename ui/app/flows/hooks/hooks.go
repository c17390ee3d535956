// Package hooks lets the user see the programs that run when something happens.
package hooks

import "parley/ui/app"

// Register adds the flow to what front ends have.
func Register(o *app.Options) {
	o.Commands = append(o.Commands,
		app.Command{Name: "hooks", Group: app.Program, Help: "Hooks: commands that run when something happens", Unavailable: unavailable, Run: list},
	)
}

func unavailable(a *app.App) string {
	if a.Hooks == nil || len(a.Hooks()) == 0 {
		return "No hooks. Add one under [[hooks]] in config.toml"
	}
	return ""
}

// list shows a row for each hook; one that is chosen is shown whole.
func list(a *app.App, _ string) app.Effect {
	return &app.List{Title: "Hooks", Noun: "hook", Items: a.Hooks(), Choose: func(i app.Item, _ string) app.Effect {
		return app.Toast(i.Title + " · " + i.Detail)
	}}
}
