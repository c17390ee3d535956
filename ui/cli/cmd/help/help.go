// Package help implements parley help, which shows pages of the manual and the help of commands.
package help

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"parley/docs"
	"parley/providers/similar"
	"parley/ui/cli/cmdutil"
	"parley/ui/textwrap"
)

// Add makes the help command of root show pages of the manual, with page, and the help of commands. Other topics are an
// error; cobra would accept any words, because the root command takes a prompt.
func Add(root *cobra.Command, page func(text string) error) {
	root.InitDefaultHelpCmd()
	// A template would link text/template, and with it all exported methods of the program: 23 MB.
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), Usage(cmd, cmp.Or(cmdutil.OutputWidth(), 80)))
		return err
	})
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		if cmd == root {
			fmt.Fprintf(cmd.OutOrStdout(), "Use \"parley help TOPIC\" for a page of the manual:\n%s.\n", topicList())
		}
	})
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Use, c.Short, c.Long = "help [TOPIC or COMMAND]", "Show a page of the manual, or the help of a command", ""
		c.Args = cobra.ArbitraryArgs
		c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error { return show(root, page, args) }
		c.ValidArgs, c.ValidArgsFunction = nil, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return topics(root), cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// topicList returns the names of all pages, in lines.
func topicList() string {
	return "  " + strings.Join(textwrap.Lines(strings.Join(docs.Names(), ", "), 75), "\n  ")
}

// show prints the page or the command named by args.
func show(root *cobra.Command, print func(text string) error, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	if len(args) == 1 {
		if page, ok := docs.Open(args[0]); ok {
			return print(page.Text)
		}
	}
	found, rest, err := root.Find(args)
	if err == nil && found != root && (len(rest) == 0 || strings.HasPrefix(rest[0], "-")) {
		found.InitDefaultHelpFlag()
		return found.Help()
	}
	if err == nil && found != root {
		return cmdutil.Usage(cmdutil.UnknownSubcommand(found, rest[0]))
	}
	if near := similar.Name(args[0], topics(root)); near != "" {
		return cmdutil.Usagef("no help on %q: did you mean parley help %s?", args[0], near)
	}
	return cmdutil.Usagef("no help on %q: parley help lists topics and commands", args[0])
}

// topics returns the names of pages and commands.
func topics(root *cobra.Command) []string { return append(docs.Names(), cmdutil.Names(root)...) }
