package cli

import (
	"errors"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/session"
	"parley/ui/cli/cmd/sessions"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/print"
)

// sessionCommands returns what the commands about stored conversations work with.
func (a *program) sessionCommands() sessions.Options {
	styled := styled(a.Out)
	return sessions.Options{
		Open: func() (*session.Store, error) {
			lib, err := session.OpenStore(os.Getenv)
			if err != nil {
				return nil, err
			}
			return lib, nil
		},
		Out: a.Out, Note: a.Note, Render: term.IsTerminal(os.Stdout.Fd()), Width: cmdutil.OutputWidth(), Now: time.Now,
		Mask: a.maskKeys, AbbrevPath: abbrevPath, Forget: forgetFiles, Styled: styled, Markdown: markdownTheme(styled),
		ImportAll: importCommand{a.Out, a.Note}.run, ImportSource: importSource(),
	}
}

// maskKeys takes the keys that are configured out of text.
func (a *program) maskKeys() func(string) string {
	err := a.load()
	mask, missed := maskSecrets(a)
	if err = errors.Join(err, missed); err != nil {
		a.Note("Not all configured keys are masked: " + format.ErrorText(err))
	}
	return mask
}

// addExitStatus gives the errors of a command and of those below it the status of their kind.
func addExitStatus(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if errors.As(err, new(*cmdutil.ExitError)) {
				return err
			}
			return cmdutil.Fail(print.ErrorStatus(err), err)
		}
	}
	for _, sub := range cmd.Commands() {
		addExitStatus(sub)
	}
}
