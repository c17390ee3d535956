package cli

import (
	"strings"
	"testing"
)

// Arguments that are missing or mistyped are answered with what to write.
func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"help promts":      `no help on "promts": did you mean parley help prompts?`,
		"help prompts nwe": `unknown command "nwe": did you mean new? parley prompts takes edit, import, list, new, show`,
		"help xyzzy":       `no help on "xyzzy": parley help lists topics and commands`,
		"prompts new":      "NAME is missing: usage: parley prompts new NAME",
		"mcp logn":         `unknown command "logn": did you mean login? parley mcp takes login, logout`,
		"mcp xyzzy":        `unknown command "xyzzy": parley mcp takes login, logout`,
		"prompts sho":      `unknown command "sho": did you mean show? parley prompts takes edit, import, list, new, show`,
		"sessions diff":    "SESSION is missing: usage: parley sessions diff SESSION",
		"sessions restore": "FILE is missing: usage: parley sessions restore FILE, such as parley sessions restore parley-2026-11-23.tar.gz",
		"version now":      `"now" is one argument too many: usage: parley version`,
		"completion nosh":  `unknown command "nosh": did you mean bash? parley completion takes bash, fish, powershell, zsh`,
		"--modle x":        "unknown flag --modle: did you mean --model?",
		"models --plain":   "unknown flag --plain: did you mean --screen-reader?",
		"--xyzzy":          "unknown flag --xyzzy: parley --help lists them",
		"-Z":               "unknown flag -Z: parley --help lists them",
	} {
		root := newProgram().rootCommand()
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("parley %s: %v, want %s", args, err, want)
		}
	}
}

// TestMistypedCommand: one word that is nearly a command is told, anything else is a prompt.
func TestMistypedCommand(t *testing.T) {
	root := newProgram().rootCommand()
	for words, want := range map[string]string{
		"hlep": "help", "modles": "models", "sesions": "sessions", "doctro": "doctor", "prompt": "prompts", "Hlep": "help",
		"hello": "", "hi": "", "mn": "", "why": "", "help me": "", "explain": "", "hlep please": "", "": "",
	} {
		err := mistypedCommand(root, strings.Fields(words))
		if want == "" && err != nil {
			t.Errorf("%q: %v", words, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), "did you mean parley "+want+"? As a prompt: parley -p "+words)) {
			t.Errorf("%q: %v", words, err)
		}
	}
}

// TestHelpNamesValuesOnce: what a flag stands for alone is not behind its name.
func TestHelpNamesValuesOnce(t *testing.T) {
	root := newProgram().rootCommand()
	for range 2 {
		if text := root.UsageString(); strings.Contains(text, `[=`) || !strings.Contains(text, "--web on|off ") {
			t.Errorf("got %s", text)
		}
	}
	if f := root.Flags().Lookup("web"); f.NoOptDefVal != on {
		t.Errorf("--web alone is %q", f.NoOptDefVal)
	}
}
