package app

import (
	"slices"

	"parley/providers/llm"
	"parley/session"
)

// App is one run of parley without a screen: the open conversation and all a user can
// do with it. One goroutine owns it, that of the front end.
type App struct {
	Options
	Session  *session.Session // open now
	Attached []llm.Part       // goes with the next prompt
	Recent   []string         // models that were used, the latest first; the session's among them
}

// New returns the application that o describes, with defaults for what it leaves out.
func New(o Options) *App {
	o = o.WithDefaults()
	a := &App{Options: o, Session: o.Session, Attached: o.Attached, Recent: slices.Clone(o.Recent)}
	a.RememberModel(a.Session.Model().Name)
	return a
}

// RememberModel puts a model in front of those that were used.
func (a *App) RememberModel(name string) {
	a.Recent = append([]string{name}, slices.DeleteFunc(a.Recent, func(n string) bool { return n == name })...)
}
