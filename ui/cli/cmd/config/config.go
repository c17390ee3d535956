// Package config implements parley config, which shows the path of the configuration, checks it, and opens it in an
// editor.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/ui/cli/cmdutil"
)

// Options configure the command.
type Options struct {
	*cmdutil.Streams
	Path       func() (string, error) // returns the path of config.toml, which may not exist
	Load       func() error           // reads the configuration
	Check      func() error           // returns an error for the first impossible model name in it
	AbbrevPath func(string) string
}

// New returns the command parley config.
func New(o Options) *cobra.Command {
	show := func(*cobra.Command, []string) error {
		file, err := o.Path()
		if err == nil {
			_, err = fmt.Fprintln(o.Out, file)
		}
		return err
	}
	check := func(*cobra.Command, []string) error {
		file, err := o.Path()
		if err != nil {
			return err
		}
		if err := o.Load(); err != nil {
			return err
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			o.Note("no " + o.AbbrevPath(file) + ": the defaults apply")
			return nil
		}
		if err := o.Check(); err != nil {
			return cmdutil.Config(fmt.Errorf("%s: %w", file, err))
		}
		o.Note(o.AbbrevPath(file) + " has no errors")
		return nil
	}
	edit := func(*cobra.Command, []string) error {
		file, err := o.Path()
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if _, err := cmdutil.Edit(o.Out, file); err != nil {
			return err
		}
		return o.Load()
	}
	root := &cobra.Command{
		Use: "config", Short: "Configuration: where it is, whether it is right, edit it",
		Long: `Configuration: where it is, whether it is right, edit it.

The manual has every setting: parley help configuration.`,
		Args: cobra.NoArgs, RunE: show,
	}
	root.AddCommand(
		&cobra.Command{Use: "path", Short: "Print where config.toml is, or would be", Args: cobra.NoArgs, RunE: show},
		&cobra.Command{Use: "check", Short: "Check config.toml: the first error with its line, exit status 3", Args: cobra.NoArgs, RunE: check},
		&cobra.Command{Use: "edit", Short: "Open config.toml in your editor, and check it", Args: cobra.NoArgs, RunE: edit})
	return root
}
