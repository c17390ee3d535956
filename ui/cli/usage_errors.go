package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/cli/cmdutil"
)

// otherFlags maps flags of other programs, in lower case and with - for _, to parley's equivalent: a flag, if the
// command has it, or a command. Flags that are only similar are not included.
var otherFlags = map[string]string{
	// claude
	"allowed-tools": "--allow", "allowedtools": "--allow", "dangerously-skip-permissions": "--yolo", "fallback-model": "--fallback",
	"fork-session": "--fork", "json-schema": "--schema", "max-budget-usd": "--max-cost", "no-session-persistence": "--ephemeral",
	"output-format": "--output", "system-prompt": "--system",
	// codex
	"dangerously-bypass-approvals-and-sandbox": "--yolo", "image": "--file", "last": "--continue", "output-schema": "--schema", "search": "--web",
	// gemini
	"include-directories": "--add-dir", "list-sessions": "parley sessions list", "prompt-interactive": "--interactive", "y": "--yolo",
	// llm, mods, aichat
	"attachment": "--file", "cid": "--resume", "conversation": "--resume", "extract": "--code", "list-models": "parley models",
	"no-log": "--ephemeral", "role": "--persona", "temp": "--option temperature=VALUE",
	// aider, opencode, pi, ollama
	"no-tools": "--tools none", "session": "--resume", "think": "--effort", "yes": "--yolo", "yes-always": "--yolo",
	// many
	"budget": "--max-cost", "json": "--output json", "jsonl": "--output jsonl", "plain": "--screen-reader",
	"reasoning-effort": "--effort", "silent": "--quiet", "V": "--version",
}

// meantFlag returns a suggestion for an unknown flag of cmd: the equivalent of another program's flag, a setting, or a
// similar flag; "" for none.
func meantFlag(cmd *cobra.Command, name string) string {
	typed := strings.ReplaceAll(name, "_", "-")
	if len(name) > 1 { // -V is not -v
		typed = strings.ToLower(typed)
	}
	if other := otherFlags[typed]; other != "" {
		flag, isFlag := strings.CutPrefix(other, "--")
		flag, _, _ = strings.Cut(flag, " ")
		if isFlag && cmd.Flags().Lookup(flag) != nil || !isFlag && !cmd.HasParent() {
			return other
		}
	}
	field := strings.ReplaceAll(typed, "-", "_")
	if setting, ok := llm.FindSetting(cmp.Or(llm.SettingFor(field), field)); ok && cmd.Flags().Lookup("option") != nil {
		return "--option " + setting.Name + "=VALUE"
	}
	if len(name) == 1 {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		// Nearest matches any part of a name, such as --all in --allow. Here the part must be a word of the name, or
		// most of its beginning.
		part := strings.Contains(f.Name, typed) && !slices.Contains(strings.Split(f.Name, "-"), typed)
		if !f.Hidden && (!part || len(typed) > 3 && strings.HasPrefix(f.Name, typed) || len(typed) == len(f.Name)-1) {
			names = append(names, f.Name)
		}
	})
	if near := similar.Name(typed, names); near != "" {
		return "--" + near
	}
	return ""
}

// unknownFlag returns an error with a suggestion for an unknown flag of cmd.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	typed := "--" + name
	if unknown.GetSpecifiedShortnames() != "" {
		typed = "-" + name
	}
	if meant := meantFlag(cmd, name); meant != "" {
		return fmt.Errorf("unknown flag %s: did you mean %s?", typed, meant)
	}
	return fmt.Errorf("unknown flag %s: %s --help lists them", typed, cmd.CommandPath())
}

// explainArguments makes argument errors of cmd and its subcommands show the usage line, or the subcommand that was
// probably meant.
func explainArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		explainArguments(c)
	}
	check := cmd.Args
	if cmd.HasSubCommands() && !cmd.Runnable() {
		check = cobra.NoArgs // cobra checks no arguments of a command that cannot run
		cmd.Use, cmd.DisableFlagsInUseLine = cmd.Use+cmdutil.NeedsCommand, true
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		switch {
		case err == nil:
			return nil
		case len(args) > 0 && cmd.HasAvailableSubCommands():
			return cmdutil.UnknownSubcommand(cmd, args[0])
		}
		return wrongArguments(cmd, args, err)
	}
}

// wrongArguments names the missing or superfluous argument of cmd, and shows the usage on a second line. It returns
// errors from other sources unchanged.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	var takes []string
	most := len(strings.Fields(cmd.Use)) - 1
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if !strings.HasPrefix(word, "[") {
			takes = append(takes, strings.TrimSuffix(word, "…"))
		}
	}
	said, use := err.Error(), strings.TrimSuffix(cmd.UseLine(), " [flags]")
	example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	example, _, _ = strings.Cut(example, "  #") // cut the comment
	if example = strings.TrimSpace(example); example != "" && example != use {
		use += ", such as " + example
	}
	switch own := !strings.Contains(said, "arg(s)") && !strings.HasPrefix(said, "unknown command"); {
	case own:
		return fmt.Errorf("%w\nusage: %s", err, use)
	case len(args) < len(takes):
		return fmt.Errorf("%s is missing\nusage: %s", takes[len(args)], use)
	}
	return fmt.Errorf("%q is one argument too many\nusage: %s", args[min(most, len(args)-1)], use)
}

// mistypedCommand returns an error if words is a single word that differs from a subcommand by one letter, or names a
// command of the chat; nil for any other prompt.
func mistypedCommand(root *cobra.Command, words []string) error {
	if len(words) != 1 {
		return nil
	}
	if name := similar.Mistyped(words[0], append(cmdutil.Names(root), "help")); name != "" {
		return fmt.Errorf("unknown command %q: did you mean parley %s? As a prompt: parley -p %s", words[0], name, words[0])
	}
	commands := append(flows.Commands(), app.Command{Name: "theme"}) // the screen's own
	for _, name := range []string{words[0], strings.TrimSuffix(words[0], "s")} {
		if slices.ContainsFunc(commands, func(c app.Command) bool { return c.Named(name) }) {
			return fmt.Errorf("unknown command %q: it is /%s in the chat. As a prompt: parley -p %s", words[0], name, words[0])
		}
	}
	return nil
}
