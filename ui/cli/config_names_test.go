package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley/ui/app"
	"parley/ui/app/flows"
)

// An impossible model name in a configuration is an error; a name that only a server can check is not.
func TestConfigCheckNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	for text, want := range map[string]string{
		`model = "opnai/gpt-5"`:                            `model = "opnai/gpt-5": no provider "opnai"; did you mean openai?`,
		`model = "gtp-5"`:                                  `model = "gtp-5": no model "gtp-5"`,
		`fallback = ["openai/gpt-5", "anthropc/x"]`:        `fallback = "anthropc/x": no provider "anthropc"; did you mean anthropic?`,
		"[fallbacks]\nopenai = [\"auto\", \"gogle/x\"]":    `fallbacks.openai = "gogle/x": no provider "gogle"`,
		"[session]\nsummary_model = \"opnai/x\"":           `session.summary_model = "opnai/x": no provider "opnai"`,
		"[session]\ntitle = \"opnai/x\"":                   `session.title = "opnai/x": no provider "opnai"`,
		`model = "openai/one-of-next-year"`:                "",
		`model = "ollama-local-2/llama"`:                   "",
		`model = "claude-cli"`:                             "",
		`fallback = ["auto"]`:                              "",
		`background_after = 0`:                             "",
		"model = \"fast\"\n[aliases]\nfast = \"openai/x\"": "",
		"model = \"own/x\"\n[providers.own]\nbase_url = \"http://localhost:1\"\nmodels = [\"x\"]": "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		root := newProgram().rootCommand(nil)
		root.SetArgs([]string{"config", "check", "--config", file})
		err := root.Execute()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), file+": "+want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Each setting without a name of the user's is in the manual, and each of its possible values is valid.
func TestSettingWords(t *testing.T) {
	a := newProgram()
	file := filepath.Join(t.TempDir(), "config.toml")
	a.flags.configFile = file
	root := a.rootCommand(nil)
	settings := &app.App{Options: app.Options{ConfigFile: configFile(a), AbbrevPath: abbrevPath}}
	flows.Register(settings)
	for _, i := range settings.Command("settings").Do("").(*app.List).Items {
		if i.About == "" || i.Group == "" {
			t.Errorf("%s is not in the manual", i.Title)
		}
		for _, word := range settings.ConfigFile.Words(i.Title) {
			if strings.Contains(i.Title, "NAME") || i.Title == "search.kind" { // they need other settings as well
				continue
			}
			if f, failed := settings.Command("settings").Do(i.Title + " " + word).(app.Failure); failed {
				t.Errorf("%s %s: %v", i.Title, word, f.Err)
			}
		}
	}
	root.SetArgs([]string{"config", "set", "budget.day", "5", "--config", file})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(file); !strings.Contains(string(b), "[budget]\nday = 5\n") {
		t.Errorf("wrote %q", b)
	}
}

// The configuration is never read from a path relative to the working directory.
func TestConfigDirIsAbsolute(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have other variables")
	}
	for _, tt := range []struct{ xdg, home, want string }{
		{"/etc/xdg", "/home/me", "/etc/xdg/parley"}, {"", "/home/me", "/home/me/.config/parley"},
		{"config", "/home/me", "/home/me/.config/parley"}, {"", "home", ""}, {"config", ".", ""}, {"", "", ""},
	} {
		t.Setenv("XDG_CONFIG_HOME", tt.xdg)
		t.Setenv("HOME", tt.home)
		if got := configDir(); got != tt.want {
			t.Errorf("XDG_CONFIG_HOME=%s HOME=%s: got %q, want %q", tt.xdg, tt.home, got, tt.want)
		}
	}
}
