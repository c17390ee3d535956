// Package cli is parley's command line: it reads flags and configuration, hands
// each part of them to its owner, wires models, tools and a session together
// (setup.go), chooses between the front ends (the screen or plain lines for a user
// at a terminal, ui/print for pipes), and turns whatever happens into an exit
// status (cmdutil.ExitError). Only main imports it.
//
//	arguments ──► flags ─┬─► subcommand (one file each)
//	config.toml ► Config ┼─► runScreen ──► ui, ui/plain
//	              newSession └► printAnswer ► ui/print
package cli

import (
	"context"
	"errors"
	"io"
	"iter"
	"log"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/credentials"
	"parley/session"
	"parley/session/transfer"
	"parley/tools"
	"parley/tools/undo"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/client"
)

// program is one run of parley.
type program struct {
	cmdutil.Streams
	flags      flags
	config     Config
	configPath string // the file it was read from; "": none

	credentials *credentials.Store // keys given to parley

	dir         string // the working directory
	nextDir     string // the one to continue in once the screen has ended; "": none
	project     project
	toolSet     *tools.Set // nil: no tools
	mcp         mcpServers
	recording   recording
	learned     func() *providers.Memory                                                                           // what servers refused, in this run and in those before it
	debugLog    *slog.Logger                                                                                       // of --debug; nil: none
	archive     transfer.Archive                                                                                   // of files with conversations
	serveClient func(context.Context, client.Options) error                                                        // speaks the Agent Client Protocol; nil: nothing does
	print       func(*session.Session, iter.Seq[session.Event], context.CancelCauseFunc, cmdutil.PrintOptions) int // prints a turn, or a comparison, and returns the exit status
	printPage   func(text string, o cmdutil.PrintOptions) error                                                    // prints a page of the manual; nil: its text is written as it is
	runPlain    func(app.Options) int                                                                              // talks in plain lines until the user leaves, and returns the exit status; nil: the screen takes their place
	local       local
	library     *session.Store              // conversations; nil until it is needed
	openFiles   func(dir string) undo.Store // keeps files before tools change them; nil: nothing does
	undo        undo.Store                  // files before tools changed them; nil until it is needed
}

// Main runs the program with args, which do not include its name, and returns the
// status to exit with.
func Main(args []string) int {
	postponeCollection()
	defer returnFiles()()
	log.SetOutput(io.Discard) // net/http logs what servers send out of turn
	a := newProgram()
	root := a.rootCommand(args)
	root.SetArgs(withOptionalValues(args))
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		plainUsages(root)
	}
	err := result(a.Out.(*standardOutput), excludedFlags(root.Execute()))
	var ended *cmdutil.ExitError
	switch isOurs := errors.As(err, &ended); {
	case err == nil:
		return exit.OK
	case !isOurs: // cobra's: flags, arguments
		ended = &cmdutil.ExitError{Status: exit.Usage, Err: err}
		a.Format = formatOf(args, a.Format)
	case ended.Err == nil, ended.Status == exit.Unread: // as SIGPIPE would have ended it, without a word
		return ended.Status
	}
	cmdutil.Failure(os.Stdout, os.Stderr, a.Format, err, ended.Status)
	return ended.Status
}

// rootCommand returns the command for args with all its subcommands.
func (a *program) rootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley [PROMPT]",
		Short: "Chat with language models in the terminal",
		Long: `Chat with language models in the terminal.

Without a prompt parley opens its screen. With -p, a pipe on standard input, or
standard output that is not a terminal, it prints the answer and exits.`,
		Example: `  parley
  parley "explain this repository"
  git diff | parley -p "write a commit message"
  parley -m openai/gpt-6.1-sol -o jsonl "hello" | jq .`,
		Args:          cobra.ArbitraryArgs,
		Version:       cmdutil.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, words []string) error { return a.runRoot(cmd, words) },
	}
	root.SetOut(unfailing{a.Out})
	root.SetFlagErrorFunc(flagError)
	a.flags.register(root, &a.Streams)
	if slices.Equal(args, []string{"--version"}) { // which needs none of them
		return root
	}
	root.AddCommand(newConnectCommand(a), a.doctorCommand())
	if a.serveClient != nil {
		root.AddCommand(editor{a}.command())
	}
	addCommands(root, a)
	explainArguments(root)
	addHelp(a, root)
	a.completeFlags(root)
	completeByName(root)
	addExitStatus(root)
	return root
}

// list returns values as a user reads them, with commas.
func list[T ~string](values []T) string { return strings.Join(cmdutil.Words(values), ", ") }
