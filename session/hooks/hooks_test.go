package hooks_test

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"parley/session/hooks"
	"parley/tools/act"
)

// hook returns a table of the configuration.
func hook(event, matcher, command string) string {
	return "[[hooks]]\nevent = \"" + event + "\"\nmatcher = '" + matcher + "'\ncommand = '" + command + "'\n"
}

func TestValidate(t *testing.T) {
	tests := []struct {
		text    string
		project bool
		want    string
	}{
		{hook(act.HookStop, "", "true"), true, ""},
		{hook("Stopp", "", "true"), false, `hook 1: event = "Stopp"`},
		{hook(act.HookStop, "(", "true"), false, "hook 1: matcher"},
		{hook(act.HookStop, "", "true") + "[[hooks]]\nevent = \"Stop\"\n", false, "hook 2: command is missing"},
		{hook(act.HookStop, "", "true") + "sandbox = \"no\"\n", false, `sandbox = "no"`},
		{hook(act.HookStop, "", "true") + "sandbox = \"off\"\n", true, "run in the sandbox"},
	}
	for _, tt := range tests {
		var f hooks.File
		if _, err := toml.Decode(tt.text, &f); err != nil {
			t.Fatal(err)
		}
		err := hooks.Validate(f.Hooks)
		if tt.project {
			err = f.Validate()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.want)
		}
	}
}
