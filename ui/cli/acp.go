package cli

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/acp"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/print"
)

// An editor opens conversations for a client: each has a program of its own, for its directory,
// and all have one library.
type editor struct{ *program }

// command returns the command that serves editors. Standard output is the protocol's alone.
func (a editor) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "acp", Short: "Serve an editor over the Agent Client Protocol",
		Long: `Serve an editor over the Agent Client Protocol, on standard input and output.

Zed, JetBrains IDEs, neovim and other clients start this themselves: name parley as
the command of an agent there, with the argument acp. Keys come from parley connect,
everything else from the configuration. The files of a folder (AGENTS.md, .parley)
count once parley was opened there and the folder was trusted.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			return a.serve()
		},
	}
	cmd.Flags().StringVarP(&a.model, "model", "m", "", "`MODEL` of new conversations, as provider/model")
	cmd.RegisterFlagCompletionFunc("model", a.completeModel)
	return cmd
}

// serve speaks with the client until that leaves.
func (a editor) serve() error {
	collectForScreen() // an editor leaves it open for as long
	returnMemoryAtRest(restTime, func() { releaseMemory(nil) })
	var trouble error
	if a.library, trouble = a.openLibrary(); trouble != nil {
		a.note(trouble.Error())
	}
	defer a.closeLibrary()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	print.CancelOnSignals(cancel)
	err := acp.Serve(ctx, acp.Options{
		In: os.Stdin, Out: a.out, Version: version(), Open: a.open,
		List: func(dir string) ([]session.Info, error) { return a.library.List(session.Query{Dir: dir, Limit: -1}) },
	})
	if err != nil {
		if a.status = print.ErrorStatus(err); errors.Is(err, app.ErrPipe) {
			a.status = print.OK // the client closed both sides
			return nil
		}
		return err
	}
	return nil
}

// open opens a conversation.
func (e editor) open(_ context.Context, r acp.Request) (*acp.Opened, error) {
	a := editor{newProgram()}
	a.flags, a.library, a.dir = e.flags, e.library, r.Dir
	a.debugLog, a.learned = e.debugLog, e.learned
	if err := a.load(); err != nil {
		return nil, err
	}
	if info, err := os.Stat(a.dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, errors.New(a.dir + " is no folder")
	}
	process.AddWorkspace(a.dir)
	a.project.skills.find()
	doubt := a.loadProjectTrust(false)
	for _, s := range r.Servers {
		a.addServer(s)
	}
	log, flags := a.library.Create(session.Info{Dir: a.dir}), a.settingFlags
	if r.ID != "" {
		flags = settingFlags{} // it has its own
		var err error
		if log, err = a.library.Resume(r.ID); log == nil {
			return nil, err
		}
		doubt = errors.Join(err, doubt)
	} else if a.config.Model == "" && a.project.model == "" {
		a.config.Model = a.lastModel() // as on the screen
	}
	s, notice, err := a.newSession(false, log, flags)
	if err == nil {
		err = a.startMCPServers()
	}
	if err != nil {
		a.close(s)
		return nil, err
	}
	if doubt != nil {
		notice = joinNotices(notice, doubt.Error())
	}
	notice = joinNotices(notice, workspaceNotice(a.toolSet, s, false))
	go pruneUndo(openUndo(a.program))
	o := a.screenOptions(s, "", nil)
	o.Connecting = app.Connecting{}                                                       // keys are asked for in a terminal
	tell := sync.OnceFunc(func() { a.mcp.wait(context.Background(), a.toolSet, a.note) }) // which no longer waits
	ready := func(ctx context.Context) {
		if servers := a.mcp.servers.Load(); servers != nil {
			servers.Wait(ctx)
		}
		if ctx.Err() == nil {
			tell()
		}
	}
	return &acp.Opened{App: o, Notice: notice, Ready: ready, Tools: a.toolSet, Close: func() { a.close(s) }}, nil
}

// close ends a conversation, and what was started for it; nil: none was opened.
func (a editor) close(s *session.Session) {
	a.mcp.stop()
	if s != nil {
		closeSession(s, a.note)
	}
	if a.toolSet != nil {
		a.toolSet.Close()
		reportSandbox(a.program)
	}
}

// addServer adds an MCP server that the client names; the user's own of the same name comes
// first. Whoever configured the client trusts it, and nobody can be shown its tools here. It is
// held by the sandbox all the same, and its calls ask.
func (a editor) addServer(s acp.Server) {
	if _, own := a.config.MCP[s.Name]; own {
		return
	}
	c := mcp.Config{Command: process.ShellLine(s.Command), Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers, Trusted: true}
	if err := mcp.Validate(map[string]mcp.Config{s.Name: c}); err != nil {
		a.note("MCP server of the editor not started: " + format.ErrorText(err))
		return
	}
	if a.config.MCP == nil {
		a.config.MCP = map[string]mcp.Config{}
	}
	a.config.MCP[s.Name] = c
}
