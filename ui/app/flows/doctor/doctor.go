// Package doctor lets the user check everything that parley depends on.
package doctor

import (
	"context"

	"parley/ui/app"
)

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "doctor", Group: app.Program, Help: "Check keys, servers, terminal, sandbox and store", Unavailable: func() string {
			if a.Machine.Checkup == nil {
				return "Not available here"
			}
			return ""
		}, Run: func(string) app.Effect {
			terminal := a.FrontEnd.Terminal()
			return app.Then{app.Toast("Checking…"), app.Async(func(ctx context.Context) app.Effect {
				return app.Page{Title: "Doctor", Parts: a.Machine.Checkup(ctx, terminal)}
			})}
		}},
	)
}
