package cli

import (
	"os"
	"slices"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui/app"
)

// conversationDefaults returns the defaults for conversations without settings of their own.
func conversationDefaults(a *program) app.Defaults {
	return app.Defaults{
		Configured: func(model string) (list []app.ConfiguredSetting) {
			for _, s := range providers.ConfiguredSettings(a.local.services(), model, os.Getenv) {
				list = append(list, app.ConfiguredSetting{Name: s.Name, Value: s.Value, Source: s.Table})
			}
			return list
		},
		OwnSystem: func() (text, source string) {
			if a.config.System != "" {
				return a.config.System, "config.toml"
			}
			return session.Instructions, "parley's own"
		},
		WithheldTools: func() (names []string, why string) {
			names = slices.DeleteFunc(tools.Names(), func(name string) bool {
				return a.toolSet != nil && slices.ContainsFunc(a.toolSet.Tools(), func(t llm.Tool) bool { return t.Name == name })
			})
			return names, "--tools " + a.flags.toolNames
		},
	}
}
