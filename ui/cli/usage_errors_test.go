package cli

import (
	"errors"
	"strings"
	"testing"

	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// Errors about missing or mistyped arguments say what to write.
func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"help promts":              `no help on "promts": did you mean parley help prompts?`,
		"help prompts nwe":         `unknown command "nwe": did you mean new? parley prompts takes edit, import, list, new, show`,
		"help xyzzy":               `no help on "xyzzy": parley help lists topics and commands`,
		"prompts new":              "NAME is missing\nusage: parley prompts new NAME",
		"mcp logn":                 `unknown command "logn": did you mean login? parley mcp takes add, list, login, logout, remove, serve`,
		"mcp xyzzy":                `unknown command "xyzzy": parley mcp takes add, list, login, logout, remove, serve`,
		"prompts sho":              `unknown command "sho": did you mean show? parley prompts takes edit, import, list, new, show`,
		"sessions diff":            "SESSION is missing\nusage: parley sessions diff SESSION",
		"sessions restore":         "FILE is missing\nusage: parley sessions restore FILE, such as parley sessions restore parley-2026-11-23.tar.gz",
		"version now":              "\"now\" is one argument too many\nusage: parley version",
		"connect far b":            "\"b\" is one argument too many\nusage: parley connect [PROVIDER], such as parley connect",
		"help models foo":          `unknown command "foo": parley models has none`,
		"usage frob":               "\"frob\" is one argument too many\nusage: parley usage",
		"sessions show":            "which conversation? Give its ID, the beginning of it, or words of its title: parley sessions list shows them\nusage: parley sessions show SESSION",
		"completion nosh":          `unknown command "nosh": parley completion takes bash, fish, powershell, zsh`,
		"--aside x --until y what": "--aside and --until: give one of them",
		"-m":                       "-m needs a value: -m MODEL",
		"-qm":                      "-m needs a value: -m MODEL",
		"--model":                  "--model needs a value: --model MODEL",
		"completion bsh":           `unknown command "bsh": did you mean bash? parley completion takes bash, fish, powershell, zsh`,
	} {
		root := newProgram().rootCommand(nil)
		root.SetArgs(strings.Fields(args))
		if err := excludedFlags(root.Execute()); err == nil || err.Error() != want {
			t.Errorf("parley %s: %v, want %s", args, err, want)
		}
	}
}

// TestUnknownFlags: a flag is suggested if its name is similar, or if other programs use the unknown name for it.
func TestUnknownFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--modle x":         "--model",
		"--contniue":        "--continue",
		"--resum":           "--resume",
		"--max_cost 1":      "--max-cost",
		"--turns 3":         "--max-turns",
		"--allowed-tools x": "--allow", "--allowedTools x": "--allow", "--dangerously-skip-permissions": "--yolo",
		"--yes": "--yolo", "-y": "--yolo", "-V": "--version", "--json": "--output json", "--output-format json": "--output",
		"--search": "--web", "--list-models": "parley models", "--max-tokens 9": "--option max_tokens=VALUE", "--top-p 1": "--option top_p=VALUE",
		"usage --jsonl": "--output jsonl",

		"--nope": "", "--all": "", "--list": "", "--read x": "", "--verbose": "", "--xyzzy": "", "-Z": "", "--permission-mode plan": "",
		"models --yes": "", "models --plain": "", "models --list-models": "", "models --temperature 1": "", // there is no such flag
	} {
		root := newProgram().rootCommand(nil)
		root.SetArgs(strings.Fields(args))
		command, flag := "parley", strings.Fields(args)[0]
		if !strings.HasPrefix(flag, "-") {
			command, flag = "parley "+flag, strings.Fields(args)[1]
		}
		says := "unknown flag " + flag + ": " + command + " --help lists them"
		if want != "" {
			says = "unknown flag " + flag + ": did you mean " + want + "?"
		}
		if err := root.Execute(); err == nil || err.Error() != says {
			t.Errorf("parley %s: %v, want %s", args, err, says)
		}
	}
}

// TestOtherFlagsAreMeant: the replacements for other programs' flags are valid.
func TestOtherFlagsAreMeant(t *testing.T) {
	for other, is := range otherFlags {
		root := newProgram().rootCommand(nil)
		root.InitDefaultVersionFlag()
		if root.Flags().Lookup(other) != nil || len(other) == 1 && root.Flags().ShorthandLookup(other) != nil {
			t.Errorf("parley has --%s itself", other)
		}
		words := strings.Fields(is)
		if name, isFlag := strings.CutPrefix(words[0], "--"); isFlag && root.Flags().Lookup(name) == nil {
			t.Errorf("--%s: parley has no %s", other, is)
		}
		if words[0] == "parley" {
			if found, _, err := root.Find(words[1:]); err != nil || found == root {
				t.Errorf("--%s: there is no %s", other, is)
			}
		}
	}
}

// TestMistypedCommand: a single word similar to a command is an error; anything else is a prompt.
func TestMistypedCommand(t *testing.T) {
	root := newProgram().rootCommand(nil)
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

// A command of the chat, typed in a terminal, is not sent to a model.
func TestCommandOfChat(t *testing.T) {
	root := newProgram().rootCommand(nil)
	for word, want := range map[string]string{"themes": "theme", "hooks": "hooks", "tools": "tools", "clear": "clear", "jobs": "jobs"} {
		if err := mistypedCommand(root, []string{word}); err == nil || !strings.Contains(err.Error(), "it is /"+want+" in the chat. As a prompt: parley -p "+word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestHelpNamesValuesOnce: the implied value of a flag is not repeated after its name.
func TestHelpNamesValuesOnce(t *testing.T) {
	root := newProgram().rootCommand(nil)
	for range 2 {
		if text := root.UsageString(); strings.Contains(text, `[=`) || !strings.Contains(text, "--web on|off ") {
			t.Errorf("got %s", text)
		}
	}
	if f := root.Flags().Lookup("web"); f.NoOptDefVal != on {
		t.Errorf("--web alone is %q", f.NoOptDefVal)
	}
}

// TestFormatOfUsageErrors: a program that reads JSON gets JSON wherever the format flag is placed, and errors in the
// command line have their status.
func TestFormatOfUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--nosuch -o json hi":              "json",
		"--max-turns x -p -o jsonl hi":     "jsonl",
		"-p --max-turns x -ojson":          "json",
		"--nosuch --output=jsonl":          "jsonl",
		"--nosuch --output json":           "json",
		"--nosuch -- -o json":              "text",
		"--nosuch hi":                      "text",
		"-o json --nosuch -o jsonl":        "jsonl",
		"usage --nosuch -o json":           "json",
		"--nosuch -m -o":                   "text",
		"sessions export --nosuch -o a.md": "text",
	} {
		a := newProgram()
		root := a.rootCommand(nil)
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil {
			t.Errorf("parley %s: no error", args)
		}
		if got := formatOf(strings.Fields(args), a.Format); got != want {
			t.Errorf("parley %s: %s, want %s", args, got, want)
		}
	}
}

// TestStatusOfUnknownSkill: an unknown name is an error in the command line.
func TestStatusOfUnknownSkill(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a := newProgram()
	root := a.rootCommand(nil)
	root.SetArgs([]string{"skills", "show", "xyzzy"})
	var ended *cmdutil.ExitError
	if err := root.Execute(); !errors.As(err, &ended) || ended.Status != exit.Usage {
		t.Errorf("%#v, want status %d", err, exit.Usage)
	}
}
