package cmdutil

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/providers/similar"

	"github.com/spf13/cobra"
)

// NeedsCommand is appended to the usage line of commands that require a subcommand.
const NeedsCommand = " COMMAND"

// Misspelled returns an error if words look like a misspelled subcommand: a single word that is similar to one, or a
// similar name followed by one of its subcommands. A quoted sentence is one argument with spaces, and a prompt.
func Misspelled(root *cobra.Command, words []string) error {
	const shortest = 3 // letters
	if len(words) == 0 || len(words[0]) < shortest || strings.ContainsFunc(words[0], unicode.IsSpace) {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.Name() != "help" { // hello is similar to it
			names = append(names, c.Name())
		}
	}
	near := similar.Name(words[0], names)
	if near == "" {
		return nil
	}
	meant, _, _ := root.Find([]string{near})
	if len(words) > 1 && !slices.ContainsFunc(meant.Commands(), func(c *cobra.Command) bool { return c.Name() == words[1] }) {
		return nil // several words; the first is similar by chance
	}
	return fmt.Errorf("unknown command %q: did you mean %s? To send it as a prompt, write %s -- %s", words[0], meant.CommandPath(), root.CommandPath(), strings.Join(words, " "))
}

// Names returns the names of the subcommands of cmd that help lists.
func Names(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// UnknownSubcommand returns an error for an unknown subcommand, with the name of a similar one.
func UnknownSubcommand(cmd *cobra.Command, name string) error {
	names := Names(cmd)
	near := similar.Name(name, names)
	switch few := len(names) <= 6; {
	case len(names) == 0:
		return fmt.Errorf("unknown command %q: %s has none", name, cmd.CommandPath())
	case few && near != "":
		return fmt.Errorf("unknown command %q: did you mean %s? %s takes %s", name, near, cmd.CommandPath(), strings.Join(names, ", "))
	case few:
		return fmt.Errorf("unknown command %q: %s takes %s", name, cmd.CommandPath(), strings.Join(names, ", "))
	case near != "":
		return fmt.Errorf("unknown command %q: did you mean %s %s?", name, cmd.CommandPath(), near)
	}
	return fmt.Errorf("unknown command %q: %s --help lists them", name, cmd.CommandPath())
}

// Words returns values as strings.
func Words[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
