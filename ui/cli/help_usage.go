package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/ui/textwrap"
)

// plainUsages takes the quotes of names off what flags are said to do: shells show it as it is.
func plainUsages(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		plainUsages(c)
	}
}

// usage returns what cobra says of how a command is used, in lines of width cells: cobra breaks
// none. Only what is to be copied, usage lines and examples, may be longer.
func usage(cmd *cobra.Command, width int) string {
	inherited := cmd.InheritedFlags() // asked first: it makes them known to what follows
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() && !strings.HasSuffix(cmd.Use, needsCommand) {
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

// flagUsages describes flags. The value that a flag alone means is in its description, not after its name
// as pflag has it (on|off[="on"]).
func flagUsages(set *pflag.FlagSet, width int) string {
	alone := map[string]string{}
	set.VisitAll(func(f *pflag.Flag) { alone[f.Name], f.NoOptDefVal = f.NoOptDefVal, shownAlone(f) })
	defer set.VisitAll(func(f *pflag.Flag) { f.NoOptDefVal = alone[f.Name] })
	return set.FlagUsagesWrapped(width)
}

// shownAlone is the value of a flag without one, where pflag shows none.
func shownAlone(f *pflag.Flag) string {
	if f.Value.Type() == "string" {
		return ""
	}
	return f.NoOptDefVal
}

// commandLine returns the name of a command and what it does, which is broken beside the name.
func commandLine(cmd *cobra.Command, width int) string {
	name := fmt.Sprintf("  %-*s ", cmd.NamePadding(), cmd.Name())
	lines := textwrap.Lines(cmd.Short, max(width-len(name), 20))
	return name + strings.Join(lines, "\n"+strings.Repeat(" ", len(name))) + "\n"
}
