// Package flows registers all flows. Each flow is a package below this one and implements some commands.
package flows

import (
	"parley/ui/app"
	"parley/ui/app/flows/aside"
	"parley/ui/app/flows/askuser"
	"parley/ui/app/flows/budget"
	"parley/ui/app/flows/compare"
	"parley/ui/app/flows/config"
	"parley/ui/app/flows/consult"
	"parley/ui/app/flows/context"
	"parley/ui/app/flows/conversation"
	"parley/ui/app/flows/doctor"
	"parley/ui/app/flows/explore"
	"parley/ui/app/flows/export"
	"parley/ui/app/flows/folders"
	"parley/ui/app/flows/hooks"
	"parley/ui/app/flows/images"
	"parley/ui/app/flows/jobs"
	"parley/ui/app/flows/manual"
	"parley/ui/app/flows/memory"
	"parley/ui/app/flows/models"
	"parley/ui/app/flows/permissions"
	"parley/ui/app/flows/prompts"
	"parley/ui/app/flows/servers"
	"parley/ui/app/flows/settings"
	"parley/ui/app/flows/skills"
	"parley/ui/app/flows/sources"
	"parley/ui/app/flows/tools"
	"parley/ui/app/flows/undo"
	"parley/ui/app/flows/until"
	"parley/ui/app/flows/usage"
)

// Register adds all flows to a.
func Register(a *app.App) {
	conversation.Register(a)
	compare.Register(a)
	images.Register(a)
	prompts.Register(a)
	sources.Register(a)
	aside.Register(a)
	models.Register(a)
	settings.Register(a)
	undo.Register(a)
	until.Register(a)
	permissions.Register(a)
	tools.Register(a)
	servers.Register(a)
	skills.Register(a)
	hooks.Register(a)
	context.Register(a)
	memory.Register(a)
	jobs.Register(a)
	export.Register(a)
	usage.Register(a)
	budget.Register(a)
	folders.Register(a)
	config.Register(a)
	manual.Register(a)
	doctor.Register(a)
	askuser.Register(a)
	consult.Register(a)
	explore.Register(a)
}

// Commands returns the commands of all flows, in the order of the help.
func Commands() []app.Command {
	a := new(app.App)
	Register(a)
	return a.Commands
}
