// Package config implements parley config, which shows the path of the configuration, checks it, changes settings, and
// opens it in an editor.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/ui/app"
	"parley/ui/cli/cmdutil"
)

// Options configure the command.
type Options struct {
	*cmdutil.Streams
	Path       func() (string, error) // returns the path of config.toml, which may not exist
	Load       func() error           // reads the configuration
	Check      func() error           // returns an error for the first impossible model name in it
	AbbrevPath func(string) string
	Settings   func() *app.Command // returns the command of the chat that lists and changes settings
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
		Use: "config", Short: "List, change and check settings",
		Long: `List, change and check settings.

The manual has every setting: parley help configuration.`,
		Args: cobra.NoArgs, RunE: show,
	}
	root.AddCommand(o.list(), o.set(),
		&cobra.Command{Use: "path", Short: "Print where config.toml is, or would be", Args: cobra.NoArgs, RunE: show},
		&cobra.Command{Use: "check", Short: "Check config.toml: print the first error with its line, and exit with 3", Args: cobra.NoArgs, RunE: check},
		&cobra.Command{Use: "edit", Short: "Open config.toml in your editor, and check it", Args: cobra.NoArgs, RunE: edit})
	return root
}

// list returns the command that lists the settings.
func (o Options) list() *cobra.Command {
	return &cobra.Command{
		Use: "list [WORD]", Short: "List every setting, or those with a word in them", Args: cobra.MaximumNArgs(1),
		Long: `List every setting, or those that contain a word.

For each it prints the value, the possible values, and where the value comes from if
not from the file.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return o.show(o.Settings().Do(""), strings.ToLower(strings.Join(args, "")))
		},
	}
}

// set returns the command that changes a setting.
func (o Options) set() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME VALUE", Short: "Change a setting in config.toml; comments and order stay", Args: cobra.MinimumNArgs(2),
		Long: `Change a setting in config.toml; comments and order stay.

The value "default" removes the setting from the file. parley config list shows the
names.`,
		ValidArgsFunction: cmdutil.Complete(func() (names []string) {
			for _, i := range o.Settings().Args() {
				names = append(names, i.Value)
			}
			return names
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.show(o.Settings().Do(strings.Join(args, " ")), "")
		},
	}
}

// show prints an effect of the command of the chat; of a list, the rows with a word.
func (o Options) show(e app.Effect, word string) error {
	list, ok := e.(*app.List)
	if !ok {
		return o.Perform(e)
	}
	return cmdutil.WriteTable(o.Out, cmdutil.OutputWidth(), func(yield func([]string) bool) {
		for _, i := range list.Items {
			if strings.Contains(strings.ToLower(i.Title+" "+i.About), word) && !yield(append([]string{i.Title}, i.Cells...)) {
				return
			}
		}
	})
}
