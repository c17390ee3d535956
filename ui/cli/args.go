package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"parley/providers/catalog"
	"parley/ui/print"
)

// withOptionalValues gives -r without a value one that is empty: nothing, a flag or -- stands
// behind it.
func withOptionalValues(args []string) []string {
	var out []string
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		alone := i == len(args)-1 || strings.HasPrefix(args[i+1], "-")
		if (arg == "-r" || arg == "--resume") && alone {
			arg = "--resume="
		}
		out = append(out, arg)
	}
	return out
}

// misspelled returns an error if words look like a subcommand that does not
// exist: one word that is like one, or a name with a slip in front of a subcommand of its own. A sentence in quotes is one argument
// with spaces in it, and a prompt.
func misspelled(root *cobra.Command, words []string) error {
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

// formatOf returns the format of the output that args ask for; they may not have been read to their
// end, where a flag in front of -o is none.
func (f *outputFlags) formatOf(args []string) string {
	format := cmp.Or(f.format, "text")
	for i, arg := range args {
		value, isOutput := strings.CutPrefix(arg, "--output")
		if !isOutput {
			value, isOutput = strings.CutPrefix(arg, "-o")
		}
		switch {
		case arg == "--":
			return format
		case !isOutput:
			continue
		case value == "" && i+1 < len(args):
			value = args[i+1]
		}
		if value = strings.TrimPrefix(value, "="); slices.Contains(print.Formats, value) {
			format = value
		}
	}
	return format
}
