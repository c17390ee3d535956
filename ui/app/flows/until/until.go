// Package until lets the user have the model continue until a command passes.
package until

import (
	"strconv"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/app"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands, app.Command{
		Name: "until", Group: app.Messages, Arg: "ROUNDS COMMAND", Help: "Continue until a command passes: its output is the next prompt; off ends it",
		Editors: true, Unavailable: f.unavailable, Run: f.run,
	})
}

// A flow repeats turns until a command passes.
type flow struct{ app *app.App }

func (f flow) unavailable() string {
	if f.app.Machine.Until == nil {
		return "No commands can run here"
	}
	return ""
}

// run runs the command now, or when the running turn is done.
func (f flow) run(arg string) app.Effect {
	a, rounds := f.app, app.UntilRounds
	if _, err := strconv.Atoi(arg); err == nil {
		return app.Refuse("/until %s needs a command, such as /until %[1]s go test ./...", arg)
	}
	if first, rest, ok := strings.Cut(arg, " "); ok {
		if n, err := strconv.Atoi(first); err == nil {
			if arg, rounds = strings.TrimSpace(rest), n; n < 1 {
				return app.Refuse("/until %d: use 1 round or more", n)
			}
		}
	}
	switch arg {
	case "":
		return app.Refuse("/until needs a command, such as /until go test ./...")
	case "off":
		a.Session.Check.Set(nil)
		return app.Toast("No command runs after the answer")
	}
	own := a.Session
	check := a.Machine.Until(own, arg, rounds)
	switch {
	case !a.FrontEnd.Busy():
		own.Check.Set(check)
	case own.Check.SetRunning(check):
		return app.Toast("Runs when the model is done: " + sanitize.Line(arg))
	default:
		return app.Refuse("This turn runs no command: use /until again when it has ended")
	}
	return app.Play(own.TurnFromCheck)
}
