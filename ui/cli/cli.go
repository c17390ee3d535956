// Package cli is parley's command line. It reads flags and configuration and hands each part to its owner, wires
// models, tools and a session together (setup.go), chooses the front end (the screen or plain lines for a user at a
// terminal, ui/print for pipes), and turns results into exit statuses (cmdutil.ExitError). Only main imports it.
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
	"sync"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/session"
	"parley/session/transfer"
	"parley/tools"
	"parley/ui/app"
	"parley/ui/app/access"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/client"
	"parley/ui/format"
)

// program is one run of parley.
type program struct {
	cmdutil.Streams
	flags      flags
	config     Config
	configPath string // path of the file it was read from; "" if there is none

	credentials ability.Keys // stored keys; nil in a build that stores none

	dir         string // working directory
	nextDir     string // directory to continue in after the screen has ended; "" for none
	next        nextStart
	lastSetting app.ConfigChange // for undo
	project     project
	toolSet     *tools.Set // nil without tools
	mcp         mcpServers
	recording   exchanges
	learned     func() *providers.Memory                                                                           // server refusals learned in all runs
	debugLog    *slog.Logger                                                                                       // of --debug; nil for none
	archive     transfer.Archive                                                                                   // reads and writes files with conversations
	serveClient func(context.Context, client.Options) error                                                        // speaks the Agent Client Protocol; nil if not available
	print       func(*session.Session, iter.Seq[session.Event], context.CancelCauseFunc, cmdutil.PrintOptions) int // prints a turn or a comparison and returns the exit status
	printPage   func(text string, o cmdutil.PrintOptions) error                                                    // prints a page of the manual; nil writes its text as it is
	runPlain    func(app.Options) int                                                                              // runs plain lines until the user leaves and returns the exit status; nil: the screen is used instead
	local       local
	library     *session.Store // conversations; nil until needed
	original    *session.Store // has the conversation that a copy in memory continues; nil if there is none
	doctor      interface {    // checks what parley depends on; nil if not available
		Command() *cobra.Command
		Checkup(context.Context, app.TerminalState) []format.Part
	}
	connect interface { // gives providers keys; nil if not available
		Command() *cobra.Command
		Connecting() access.Connecting
	}
	images interface { // image models for conversations, and a command; nil if there are none
		Command(*ability.Env) *cobra.Command
		Models(env *ability.Env, dir, configured string) app.ImageModels
	}
	prompts   promptSource   // nil if there are none
	skills    skillSource    // nil if there are none
	asks      bool           // an editor asks the user
	versions  versions       // of files, before tools changed them
	finishing sync.WaitGroup // work after turns
}

// nextStart is what a front end that starts again opens.
type nextStart struct{ conversation, notice string } // the ID of a conversation, "" for a new one

// Main runs the program with args, without the program's name, and returns the exit status.
func Main(args []string) int {
	postponeCollection(startPercent)
	defer returnFiles()()
	log.SetOutput(io.Discard) // net/http logs unsolicited responses of servers
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
	case !isOurs: // errors of cobra: flags, arguments
		ended = &cmdutil.ExitError{Status: exit.Usage, Err: err}
		a.Format = formatOf(args, a.Format)
	case ended.Err == nil, ended.Status == exit.Unread: // silent, as if SIGPIPE had ended the program
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
	if slices.Equal(args, []string{"--version"}) { // --version needs no subcommands
		return root
	}
	if a.connect != nil {
		root.AddCommand(a.connect.Command())
	}
	if a.doctor != nil {
		root.AddCommand(a.doctor.Command())
	}
	if a.serveClient != nil {
		root.AddCommand(editor{a}.command())
	}
	addCommands(root, a)
	explainArguments(root)
	a.completeFlags(root)
	completeByName(root)
	addExitStatus(root)
	return root
}
