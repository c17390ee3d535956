package cmdutil

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"parley/providers/catalog"
)

// Misspelled returns an error if words look like a subcommand that does not
// exist: one word that is like one, or a name with a slip in front of a subcommand of its own. A sentence in quotes is one argument
// with spaces in it, and a prompt.
func Misspelled(root *cobra.Command, words []string) error {
	const shortest = 3 // letters
	if len(words) == 0 || len(words[0]) < shortest || strings.ContainsFunc(words[0], unicode.IsSpace) {
		return nil
	}
	name, commands := words[0], map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		if c.Name() != "help" { // hello looks like it
			commands[c.Name()] = c
		}
	}
	near := catalog.Nearest(name, slices.Sorted(maps.Keys(commands)), 1)
	if len(near) > 0 && len(words) > 1 && !slices.ContainsFunc(commands[near[0]].Commands(), func(c *cobra.Command) bool { return c.Name() == words[1] }) {
		near = nil // several words, of which the first happens to look like a command
	}
	if len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s %s? To send it as a prompt, write %s -- %s", name, root.CommandPath(), near[0], root.CommandPath(), strings.Join(words, " "))
	}
	return nil
}

// UnknownSubcommand returns an error that names the subcommand of cmd that is like name.
func UnknownSubcommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	near := catalog.Nearest(name, names, 1)
	switch few := len(names) <= 5; {
	case len(names) == 0:
		return fmt.Errorf("unknown command %q: %s has none", name, cmd.CommandPath())
	case few && len(near) > 0:
		return fmt.Errorf("unknown command %q: did you mean %s? %s takes %s", name, near[0], cmd.CommandPath(), strings.Join(names, ", "))
	case few:
		return fmt.Errorf("unknown command %q: %s takes %s", name, cmd.CommandPath(), strings.Join(names, ", "))
	case len(near) > 0:
		return fmt.Errorf("unknown command %q: did you mean %s %s?", name, cmd.CommandPath(), near[0])
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
