package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/tools"
	"parley/ui/cli/cmdutil"
)

// noTools is the value of --tools that turns all tools off; it cannot be combined with names.
const noTools = "none"

// completeFlags registers shell completion for the flags of root.
func (a *program) completeFlags(root *cobra.Command) {
	model := cmdutil.Complete(a.modelNames)
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"model": model, "judge": model, "fallback": inList(model), "resume": a.conversations().Complete,
		"tools": inList(fixed(append([]string{noTools}, tools.Names()...)...)), "allow": fixed(tools.Names()...), "web": fixed(on, off),
	} {
		root.RegisterFlagCompletionFunc(name, complete)
	}
	if a.prompts == nil {
		return
	}
	for name, personas := range map[string]bool{"prompt": false, "persona": true} {
		root.RegisterFlagCompletionFunc(name, cmdutil.Complete(func() []string { return a.prompts.Names(promptFiles{a}.places(), personas) }))
	}
}

// inList completes the last element of a comma-separated list.
func inList(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (list []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		values, directive := complete(cmd, args, strings.TrimPrefix(typed, before))
		for _, value := range values {
			if !slices.Contains(strings.Split(before, ","), value) && (before == "" || value != noTools) {
				list = append(list, before+value)
			}
		}
		return list, directive
	}
}

// completeByName completes directories for flags that take a FOLDER, and disables file completion for flags that take
// no file. Flags with a completion of their own keep it.
func completeByName(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
	for _, sub := range cmd.Commands() {
		completeByName(sub)
	}
}

func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok || f.NoOptDefVal != "" {
		return
	}
	switch name, _ := pflag.UnquoteUsage(f); name {
	case "FILE", "IMAGE", "PNG", "VIDEO", "SCHEMA":
	case "FOLDER":
		cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	default:
		cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
	}
}

// plainUsages removes backquotes from the usage texts of flags, because shells show them as they are.
func plainUsages(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		plainUsages(c)
	}
}
