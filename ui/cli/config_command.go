package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/ui/cli/cmdutil"
)

// configPath returns where the configuration is, or would be.
func configPath(a *program) (string, error) {
	dir := configDir()
	switch {
	case a.flags.configFile != "":
		return filepath.Abs(a.flags.configFile)
	case dir == "":
		return "", cmdutil.Config(errors.New("nowhere to keep a configuration: set HOME or XDG_CONFIG_HOME to an absolute path"))
	}
	return filepath.Join(dir, "config.toml"), nil
}

// checkNames returns the first setting that names a model which cannot be there.
func checkNames(a *program) error {
	check := func(setting string, names ...string) error {
		for _, name := range names {
			if name == "" || name == autoFallback && strings.HasPrefix(setting, "fallback") {
				continue
			}
			if err := a.config.CheckName(name, os.Getenv); err != nil {
				return fmt.Errorf("%s = %q: %w", setting, name, err)
			}
		}
		return nil
	}
	err := cmp.Or(check("model", a.config.Model), check("session.title", a.config.Session.TitleModel), check("session.summary_model", a.config.Session.SummaryModel), check("fallback", a.config.Fallback...))
	for _, of := range slices.Sorted(maps.Keys(a.config.Fallbacks)) {
		err = cmp.Or(err, check("fallbacks."+of, a.config.Fallbacks[of]...))
	}
	return err
}

// newConfigCommand returns the command about config.toml.
func newConfigCommand(a *program) *cobra.Command {
	show := func(*cobra.Command, []string) error {
		file, err := configPath(a)
		if err == nil {
			_, err = fmt.Fprintln(a.Out, file)
		}
		return err
	}
	check := func(*cobra.Command, []string) error {
		file, err := configPath(a)
		if err != nil {
			return err
		}
		if err := a.load(); err != nil {
			return err
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			a.Note("no " + abbrevPath(file) + ": the defaults apply")
			return nil
		}
		if err := checkNames(a); err != nil {
			return cmdutil.Config(fmt.Errorf("%s: %w", file, err))
		}
		a.Note(abbrevPath(file) + " has no errors")
		return nil
	}
	edit := func(*cobra.Command, []string) error {
		file, err := configPath(a)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := (&promptsCommand{program: a}).open(file); err != nil {
			return err
		}
		return a.load()
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
