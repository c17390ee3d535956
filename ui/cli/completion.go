package cli

import (
	"bytes"
	_ "embed" // for bashFallbacks
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/tools"
	"parley/ui/cli/cmdutil"
	"parley/ui/report"
)

// noTools is the list of no tools: it stands alone.
const noTools = "none"

// bashFallbacks is appended to Cobra's script for bash: its functions take the place of those of
// the package bash-completion.
//
//go:embed completion.bash
var bashFallbacks string

// addCompletion adds the command that prints scripts for shells. That for bash needs nothing that
// is not bash's own, unlike Cobra's.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return
	}
	cmd.Long = `Generate the autocompletion script for the bash shell.

To load completions in the current shell session, and in each new one as a line of ~/.bashrc:

	source <(parley completion bash)

With the package bash-completion a file does it too, which is read once it is needed:

	mkdir -p ~/.local/share/bash-completion/completions
	parley completion bash > ~/.local/share/bash-completion/completions/parley
`
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var script bytes.Buffer
		plain, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		if err := root.GenBashCompletionV2(&script, !plain); err != nil {
			return err
		}
		_, err = io.WriteString(cmd.OutOrStdout(), strings.ReplaceAll(script.String(), "_filedir", "__parley_filedir")+bashFallbacks)
		return err
	}
}

// completeFlags has shells offer values for the flags of root.
func (a *program) completeFlags(root *cobra.Command, sessions report.SessionCommands) {
	prompts := promptFiles{a}
	model := cmdutil.Complete(a.modelNames)
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"model": model, "judge": model, "fallback": inList(model), "resume": sessions.Complete,
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
