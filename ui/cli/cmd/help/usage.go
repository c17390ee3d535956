package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/ui/cli/cmdutil"
	"parley/ui/textwrap"
)

// Usage returns cobra's usage text of a command, wrapped at width cells, as cobra does not wrap. Only text to be
// copied, usage lines and examples, may be longer.
func Usage(cmd *cobra.Command, width int) string {
	inherited := cmd.InheritedFlags() // called first: it registers the flags for the code below
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() && !strings.HasSuffix(cmd.Use, cmdutil.NeedsCommand) {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				b.WriteString(commandLine(c, width))
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\nFlags:\n" + flagUsages(cmd.LocalFlags(), width))
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nGlobal Flags:\n" + flagUsages(inherited, width))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + strings.Join(textwrap.Lines(fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath()), width), "\n") + "\n")
	}
	return b.String()
}

// flagUsages describes flags. The value implied by a flag alone is in its description; pflag would add it to the name,
// as in on|off[="on"].
func flagUsages(set *pflag.FlagSet, width int) string {
	alone := map[string]string{}
	set.VisitAll(func(f *pflag.Flag) { alone[f.Name], f.NoOptDefVal = f.NoOptDefVal, shownAlone(f) })
	defer set.VisitAll(func(f *pflag.Flag) { f.NoOptDefVal = alone[f.Name] })
	return set.FlagUsagesWrapped(width)
}

// shownAlone returns the implied value of f, or "" if pflag would show it.
func shownAlone(f *pflag.Flag) string {
	if f.Value.Type() == "string" {
		return ""
	}
	return f.NoOptDefVal
}

// commandLine returns the name of a command and its description, wrapped next to the name.
func commandLine(cmd *cobra.Command, width int) string {
	name := fmt.Sprintf("  %-*s ", cmd.NamePadding(), cmd.Name())
	lines := textwrap.Lines(cmd.Short, max(width-len(name), 20))
	return name + strings.Join(lines, "\n"+strings.Repeat(" ", len(name))) + "\n"
}
