// Package completion implements parley completion, which prints completion scripts for shells.
package completion

import (
	"bytes"
	_ "embed" // for bashFallbacks
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// bashFallbacks is appended to Cobra's script for bash. Its functions replace those of the package bash-completion.
//
//go:embed completion.bash
var bashFallbacks string

// Add adds the command that prints completion scripts. Unlike Cobra's, the script for bash needs nothing outside bash.
func Add(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return
	}
	cmd.Long = `Generate the autocompletion script for the bash shell.

To load completions in the current shell session, and in each new one as a line of ~/.bashrc:

	source <(parley completion bash)

If you have the package bash-completion, you can write it to a file instead:

	mkdir -p ~/.local/share/bash-completion/completions
	parley completion bash > ~/.local/share/bash-completion/completions/parley
`
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var script bytes.Buffer
		plain, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		if err := root.GenBashCompletionV2(&script, !plain); err != nil {
			return err
		}
		_, err = io.WriteString(cmd.OutOrStdout(), strings.ReplaceAll(script.String(), "_filedir", "__parley_filedir")+bashFallbacks)
		return err
	}
}
