package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// conversations gives commands access to the stored conversations.
func (a *program) conversations() cmdutil.Conversations {
	return cmdutil.Conversations{Mask: a.maskKeys}
}

// maskKeys returns a function that masks the configured keys in text.
func (a *program) maskKeys() func(string) string {
	err := a.load()
	mask, missed := maskSecrets(a)
	if err = errors.Join(err, missed); err != nil {
		a.Note("Not all configured keys are masked: " + format.ErrorText(err))
	}
	return mask
}

// addExitStatus wraps the errors of a command and its subcommands with their exit status.
func addExitStatus(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if errors.As(err, new(*cmdutil.ExitError)) {
				return err
			}
			return cmdutil.Fail(exit.Of(err), err)
		}
	}
	for _, sub := range cmd.Commands() {
		addExitStatus(sub)
	}
}
