// Package doctor lets the user check everything that parley works with.
package doctor

import (
	"context"

	"parley/ui/app"
)

// Register adds the flow to what front ends have.
func Register(o *app.Options) {
	o.Commands = append(o.Commands,
		app.Command{Name: "doctor", Group: app.Program, Help: "Check keys, servers, terminal, sandbox and store", Unavailable: unavailable, Run: check},
	)
}

func unavailable(a *app.App) string {
	if a.Checkup == nil {
		return "Not available here"
	}
	return ""
}

func check(a *app.App, _ string) app.Effect {
	checkup, terminal := a.Checkup, a.Terminal()
	return app.Then{app.Toast("Checking…"), app.Async(func(ctx context.Context) app.Effect {
		return app.Page{Title: "Doctor", Parts: app.CheckReport(checkup(ctx, terminal))}
	})}
}
