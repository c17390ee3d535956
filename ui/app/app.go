// Package app is what a user can do with parley, without a screen: what every front
// end shares, as data and functions. It imports no front end and no terminal library.
//
//	ui/cli ──► Options ──► screen, plain lines
//	             ├── drafts, attachments, exports, typed commands
//	             ├── MCP servers: state, consent, choices
//	             ├── comparisons of models, exchanges with them to inspect
//	             ├── usage, hints, titles, ages
//	             └── Turn: events of a session folded into changes of blocks, live and replayed
package app

import (
	"context"
	"slices"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/mcp"
	"parley/ui/clip"
)

// App is one run of parley without a screen: the open conversation and all a user can
// do with it. One goroutine owns it, that of the front end.
type App struct {
	Options
	Session   *session.Session // open now
	Attached  []llm.Part       // goes with the next prompt
	Clipboard *clip.Board
	Recent    []string // models that were used, the latest first; the session's among them
	Compared  []string // models that the next prompt goes to; none: the session's alone

	// What a front end fills in.
	Failed   func() bool                 // the last turn can be tried again
	Terminal func() TerminalState        // what is known of it
	Busy     func() bool                 // a turn runs
	KeyOf    func(command string) string // the key that runs a command, or "/" and its name
	Leaving  func()                      // called before another conversation takes the place of the open one

	left           chan struct{}         // closed when the conversation that was left last is; nil: none was
	previousEffort llm.Effort            // before thinking was turned off
	told           map[string]mcp.Status // of servers, what the user was told
	tastes         map[string]Taste      // of models, by "favorites" and "hidden"
	uses           map[string]int        // how often commands were asked for by name; nil: not loaded
}

// New returns the application that o describes, with defaults for what it leaves out.
func New(o Options) *App {
	o = o.WithDefaults()
	a := &App{
		Options: o, Session: o.Session, Attached: o.Attached, Recent: slices.Clone(o.Recent), Compared: o.Start.Compare,
		Busy: func() bool { return false }, Failed: func() bool { return false }, Terminal: func() TerminalState { return TerminalState{} }, KeyOf: func(command string) string { return "/" + command }, Leaving: func() {},
		told: map[string]mcp.Status{},
	}
	a.rememberModel(a.Session.Model().Name)
	return a
}

// Note keeps a line of parley's own with the conversation, and shows it.
func (a *App) Note(text string) Effect { return a.annotate(llm.Notice{Text: text}) }

// annotate keeps an event of the front end with the conversation, and shows it.
func (a *App) annotate(e session.Event) Effect {
	a.Session.Annotate(0, e)
	return Effect{Event: e}
}

// Keep stores what a front end changed for the next start.
func (o Options) Keep(key, value string) Effect {
	lib := o.Library
	return Effect{Async: func(context.Context) Effect {
		if err := lib.Set(key, value); err != nil && lib.ReadOnly() == nil {
			return Effect{Err: err}
		}
		return Effect{}
	}}
}

// Unsandboxed reports whether commands of the model could run without a sandbox.
func Unsandboxed(a *App) bool {
	return a.Held != "" && a.Session.Policy().Mode() != tools.ModeReadOnly
}
