// Package flows lists what a user can do: each flow is a package below this one, and a line here registers
// it.
package flows

import (
	"parley/ui/app"
	"parley/ui/app/flows/context"
	"parley/ui/app/flows/doctor"
	"parley/ui/app/flows/export"
	"parley/ui/app/flows/hooks"
	"parley/ui/app/flows/jobs"
	"parley/ui/app/flows/manual"
	"parley/ui/app/flows/permissions"
	"parley/ui/app/flows/servers"
	"parley/ui/app/flows/tools"
	"parley/ui/app/flows/undo"
	"parley/ui/app/flows/usage"
)

// Register adds all flows to what front ends have.
func Register(o *app.Options) {
	undo.Register(o)
	permissions.Register(o)
	tools.Register(o)
	servers.Register(o)
	hooks.Register(o)
	context.Register(o)
	jobs.Register(o)
	export.Register(o)
	usage.Register(o)
	manual.Register(o)
	doctor.Register(o)
	o.Commands = append(o.Commands, app.Commands()...)
}

// Commands returns the commands of all flows, in the order of the help.
func Commands() []app.Command {
	var o app.Options
	Register(&o)
	return o.Commands
}
