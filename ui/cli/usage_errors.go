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
	"parley/ui/cli/cmdutil"
)

// otherFlags says what to write for a flag of other programs, in lower case and with - for _: the
// flag that does the same here, where a command has it, or the command that does. A flag that only
// does something similar is not in the table.
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

// meantFlag returns what to write for a flag that cmd does not have: what other programs call so,
// a setting, or a flag that looks like it; "" for nothing.
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
		// Nearest takes any part of a name, as --all is one of --allow: here it is a word of the
		// name, or most of its beginning.
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

// unknownFlag returns an error that says what to write for a flag that cmd does not have.
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

// needsCommand ends the usage line of a command that does nothing without one of its subcommands.
const needsCommand = " COMMAND"

// explainArguments has errors about the arguments of cmd, and of all below it, say how it is
// called, or which subcommand was meant.
func explainArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		explainArguments(c)
	}
	check := cmd.Args
	if cmd.HasSubCommands() && !cmd.Runnable() {
		check = cobra.NoArgs // of a command that does nothing itself cobra checks no arguments
		cmd.Use, cmd.DisableFlagsInUseLine = cmd.Use+needsCommand, true
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

// wrongArguments says which argument of cmd is missing, or is one too many, and on a second line how
// it is called. An error that cobra did not make is said as it is.
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
	example, _, _ = strings.Cut(example, "  #") // its comment
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

// mistypedCommand returns an error for words that are one word, which is a subcommand but for a
// letter; nil for any other prompt.
func mistypedCommand(root *cobra.Command, words []string) error {
	if len(words) != 1 {
		return nil
	}
	if name := similar.Mistyped(words[0], append(cmdutil.Names(root), "help")); name != "" {
		return fmt.Errorf("unknown command %q: did you mean parley %s? As a prompt: parley -p %s", words[0], name, words[0])
	}
	return nil
}
