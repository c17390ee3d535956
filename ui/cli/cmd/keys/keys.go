// Package keys implements parley keys, which shows the bytes that the terminal sends for each key.
package keys

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"parley/ui/app/flows"
	"parley/ui/cli/cmdutil"
	"parley/ui/tui"
)

// New returns the command. Load reads the configuration into keys.
func New(out io.Writer, load func() error, keys *tui.Keys) *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use: "keys", Short: "Show what the terminal sends for each key, and what the key does", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := load(); err != nil {
				return err
			}
			if !list {
				if err := tui.ShowKeys(os.Stdin, os.Stdout, *keys, flows.Commands(), os.Getenv); err != nil {
					return cmdutil.Usage(err)
				}
				return nil
			}
			rows, err := tui.ListBindings(*keys, flows.Commands())
			if err != nil {
				return cmdutil.Config(err)
			}
			for _, r := range rows {
				fmt.Fprintf(out, "%-18s %s\n", r[0], r[1])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list actions and their keys, for [keys] in config.toml")
	return cmd
}
