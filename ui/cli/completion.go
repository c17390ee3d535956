package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/tools"
	"parley/ui/cli/cmdutil"
)

// noTools is the list of no tools: it stands alone.
const noTools = "none"

// completeFlags has shells offer values for the flags of root.
func (a *program) completeFlags(root *cobra.Command) {
	prompts := promptFiles{a}
	model := cmdutil.Complete(a.modelNames)
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"model": model, "judge": model, "fallback": inList(model), "resume": a.conversations().Complete,
		"prompt": cmdutil.Complete(func() []string { return prompts.completed(false) }), "persona": cmdutil.Complete(func() []string { return prompts.completed(true) }),
		"tools": inList(fixed(append([]string{noTools}, tools.Names()...)...)), "allow": fixed(tools.Names()...), "web": fixed(on, off),
	} {
		root.RegisterFlagCompletionFunc(name, complete)
	}
}

// inList completes the last word of a list with commas.
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

// completeByName has shells offer folders for flags that take a FOLDER, and no files for those that
// take none, unless something else completes them.
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
