package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/providers/catalog"
)

// otherFlags says which flag is meant by a name that other programs have for it.
var otherFlags = map[string]string{"plain": "screen-reader"}

// unknownFlag returns an error that names the flags of cmd that are like the one it does not have.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("unknown flag -%s: %s --help lists them", name, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := catalog.Nearest(name, names, 1)
	if other := otherFlags[name]; other != "" {
		near = []string{other}
	}
	if len(near) == 0 {
		return fmt.Errorf("unknown flag --%s: %s --help lists them", name, cmd.CommandPath())
	}
	return fmt.Errorf("unknown flag --%s: did you mean --%s?", name, near[0])
}

// explainArguments has errors about the arguments of cmd, and of all below it, say how it is
// called, or which subcommand was meant.
func explainArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		explainArguments(c)
	}
	check := cmd.Args
	if cmd.HasSubCommands() && !cmd.Runnable() {
		check = cobra.NoArgs // of a command that does nothing itself cobra checks no arguments
		cmd.Use, cmd.DisableFlagsInUseLine = cmd.Use+" COMMAND", true
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
			return unknownSubcommand(cmd, args[0])
		}
		return wrongArguments(cmd, args, err)
	}
}

// wrongArguments says which argument of cmd is missing, or is one too many, and how it is called.
// An error that cobra did not make is said as it is.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	var takes []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if !strings.HasPrefix(word, "[") {
			takes = append(takes, strings.TrimSuffix(word, "…"))
		}
	}
	said, use := err.Error(), strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); example != "" {
		use += ", such as " + strings.TrimSpace(example)
	}
	switch own := !strings.Contains(said, "arg(s)") && !strings.HasPrefix(said, "unknown command"); {
	case own:
		return fmt.Errorf("%w: usage: %s", err, use)
	case len(args) < len(takes):
		return fmt.Errorf("%s is missing: usage: %s", takes[len(args)], use)
	}
	return fmt.Errorf("%q is one argument too many: usage: %s", args[min(len(takes), len(args)-1)], use)
}

// mistypedCommand returns an error for words that are one word, which is a subcommand but for a
// letter; nil for any other prompt.
func mistypedCommand(root *cobra.Command, words []string) error {
	if len(words) != 1 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	if name := catalog.Mistyped(words[0], names); name != "" {
		return fmt.Errorf("unknown command %q: did you mean parley %s? As a prompt: parley -p %s", words[0], name, words[0])
	}
	return nil
}

// unknownSubcommand returns an error that names the subcommand of cmd that is like name.
func unknownSubcommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	near := catalog.Nearest(name, names, 1)
	switch few := len(names) <= 5; {
	case few && len(near) > 0:
		return fmt.Errorf("unknown command %q: did you mean %s? %s takes %s", name, near[0], cmd.CommandPath(), strings.Join(names, ", "))
	case few:
		return fmt.Errorf("unknown command %q: %s takes %s", name, cmd.CommandPath(), strings.Join(names, ", "))
	case len(near) > 0:
		return fmt.Errorf("unknown command %q: did you mean %s %s?", name, cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q: %s --help lists them", name, cmd.CommandPath())
}
