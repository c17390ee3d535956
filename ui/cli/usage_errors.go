package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers/catalog"
)

// explainArguments has errors about the arguments of cmd, and of all below it, say how it is
// called, or which subcommand was meant.
func explainArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		explainArguments(c)
	}
	check := cmd.Args
	if check == nil && cmd.HasSubCommands() && !cmd.Runnable() {
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
		return fmt.Errorf("%w: usage: %s", err, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	}
}

// unknownSubcommand returns an error that names the subcommand of cmd that is like name.
func unknownSubcommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := catalog.Nearest(name, names, 1); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s %s?", name, cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q: %s --help lists them", name, cmd.CommandPath())
}
