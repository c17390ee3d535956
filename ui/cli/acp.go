package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/session"
	"parley/session/trust"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/app/access"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/client"
	"parley/ui/format"
)

// An editor opens conversations for a client. Each has a program of its own for its directory; all share one library.
type editor struct{ *program }

// command returns the command that serves editors. Only the protocol writes to standard output.
func (a editor) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "acp", Short: "Serve an editor over the Agent Client Protocol",
		Long: `Serve an editor over the Agent Client Protocol, on standard input and output.

Zed, JetBrains IDEs, neovim and other clients start this themselves: name parley as
the command of an agent there, with the argument acp. Keys come from parley connect,
everything else from the configuration. The files of a folder (AGENTS.md, .parley) are
used once you have opened parley there and trusted the folder.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.load(); err != nil {
				return err
			}
			return a.serve(func(ctx context.Context) error {
				return a.serveClient(ctx, client.Options{
					In: os.Stdin, Out: a.Out, Version: cmdutil.Version(), Open: a.open,
					List: func(dir string) ([]session.Info, error) { return a.library.List(session.Query{Dir: dir, Limit: -1}) },
				})
			})
		},
	}
	cmd.Flags().StringVarP(&a.flags.settings.model, "model", "m", "", "`MODEL` of new conversations, as provider/model")
	a.flags.registerWait(cmd)
	cmd.RegisterFlagCompletionFunc("model", cmdutil.Complete(a.modelNames))
	return cmd
}

// serve opens the store of conversations and calls talk, which talks to the client until the client disconnects. Signals
// cancel its context.
func (a editor) serve(talk func(context.Context) error) error {
	postponeCollection(screenPercent) // an editor keeps parley running as long as a screen
	var trouble error
	if a.library, trouble = a.openLibrary(); trouble != nil {
		a.Note(trouble.Error())
	}
	defer a.closeLibrary()
	go a.library.IndexOwed(context.Background())
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	exit.CancelOnSignals(cancel)
	err := talk(ctx)
	if errors.Is(err, wording.ErrPipe) {
		return nil // the client closed both pipes
	}
	return err
}

// ask opens a new conversation for an MCP client, with the named tools and the schema of its answer, and the models to
// compare if there are several.
func (e editor) ask(_ context.Context, dir, toolNames string, schema []byte, models ...string) (o *client.Opened, compared []llm.Endpoint, err error) {
	f := e.flags
	f.toolNames, f.settings.model = toolNames, models[0]
	if schema != nil {
		if f.schema, err = schemas.Parse(schema); err != nil {
			return nil, nil, fmt.Errorf("schema: %w", err)
		}
	}
	if o, err = e.openWith(f, client.Request{Dir: dir}); err != nil || len(models) < 2 {
		return o, nil, err
	}
	for _, name := range models {
		model, err := e.openModel(name, true)
		if err != nil {
			o.Close()
			return nil, nil, err
		}
		compared = append(compared, model)
	}
	return o, compared, nil
}

// open opens a conversation.
func (e editor) open(_ context.Context, r client.Request) (*client.Opened, error) {
	return e.openWith(e.flags, r)
}

// openWith opens a conversation with other flags.
func (e editor) openWith(f flags, r client.Request) (*client.Opened, error) {
	a := editor{newProgram()}
	a.flags, a.library, a.dir = f, e.library, r.Dir
	a.debugLog, a.learned, a.asks = e.debugLog, e.learned, true
	if err := a.load(); err != nil {
		return nil, err
	}
	if info, err := os.Stat(a.dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, errors.New(a.dir + " is no folder")
	}
	process.AddWorkspace(a.dir)
	findSkills(a.program)
	doubt := a.loadProjectTrust(false)
	o := &client.Opened{}
	var failed []string // why servers of the editor cannot be started
	for _, s := range r.Servers {
		question, err := a.addServer(s)
		if err != nil {
			failed = append(failed, fmt.Sprintf("MCP server %s of the editor not started: %s", s.Name, format.ErrorText(err)))
		} else if question != nil {
			o.Questions = append(o.Questions, *question)
		}
	}
	log, flags, err := a.openLog(r.ID)
	if log == nil {
		return nil, err
	}
	doubt = errors.Join(err, doubt)
	s, notice, err := a.newSession(false, log, flags)
	if a.toolSet == nil || a.flags.toolNames != "" {
		o.Questions = nil // no server will be started
	}
	if err == nil && len(o.Questions) == 0 {
		err = a.startMCPServers()
	}
	if err != nil {
		a.close(s)
		return nil, err
	}
	if doubt != nil {
		notice = joinNotices(notice, doubt.Error())
	}
	o.Notice = joinNotices(notice, workspaceNotice(a.toolSet, s, false))
	o.App = a.screenOptions(s, "", nil)
	o.App.Models.Connecting = access.Connecting{} // keys are entered in a terminal only
	o.Ready = a.serversReady(failed)
	o.Tools, o.Close = a.toolSet, func() { a.close(s) }
	return o, nil
}

// serversReady returns a function that starts MCP servers, waits for them and reports each failure once, beginning with
// those in failed.
func (a editor) serversReady(failed []string) func(context.Context, func(string)) {
	told := map[string]bool{}
	return func(ctx context.Context, tell func(string)) {
		once := func(text string) {
			if !told[text] {
				told[text] = true
				tell(text)
			}
		}
		for _, text := range failed {
			once(text)
		}
		if err := a.startMCPServers(); err != nil {
			once(format.ErrorText(err))
		}
		a.mcp.wait(ctx, a.toolSet, once)
	}
}

// openLog opens the log of a conversation, or a new one for "", and returns the flags to open it with. An id that was
// given to an editor and never used makes a new conversation. If it returns a log with an error, the error describes
// the unreadable parts.
func (a editor) openLog(id string) (*session.Log, settingFlags, error) {
	if id != "" && !a.library.IsUnused(id) {
		log, err := a.library.Resume(id)
		return log, settingFlags{}, err // it has stored settings
	}
	if a.config.Model == "" && a.project.model == "" {
		a.config.Model = a.lastModel() // as on the screen
	}
	return a.library.Create(session.Info{ID: id, Dir: a.dir}), a.flags.settings, nil
}

// close ends a conversation and everything started for it; nil if none was opened.
func (a editor) close(s *session.Session) {
	a.mcp.stop()
	if s != nil {
		closeSession(s, a.Note)
	}
	closeTools(a.program)
	if a.toolSet != nil {
		reportSandbox(a.toolSet)
	}
}

// addServer adds an MCP server of the client, unless the user has configured one of that name. Before its first start
// in a directory, the user is asked the returned question. The sandbox confines the server, and its calls need
// approval.
func (a editor) addServer(s client.Server) (*client.ServerQuestion, error) {
	if _, own := a.config.MCP[s.Name]; own {
		return nil, nil
	}
	c := mcp.Config{Command: process.ShellLine(s.Command), Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers, Trusted: true}
	if err := mcp.Validate(map[string]mcp.Config{s.Name: c}); err != nil {
		return nil, err
	}
	definition, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	decision := trust.Server(a.dir, s.Name, string(definition))
	allow := func(always bool) error {
		if a.config.MCP == nil {
			a.config.MCP = map[string]mcp.Config{}
		}
		if a.mcp.editor == nil {
			a.mcp.editor = map[string]bool{}
		}
		a.config.MCP[s.Name], a.mcp.editor[s.Name] = c, true
		if always {
			return trust.SaveDecision(a.library, decision, true)
		}
		return nil
	}
	if yes, known := trust.Decision(a.library, decision); yes && known {
		return nil, allow(false)
	}
	given := slices.Concat(slices.Sorted(maps.Keys(s.Env)), slices.Sorted(maps.Keys(s.Headers)))
	return &client.ServerQuestion{Name: s.Name, Location: c.Location(), Given: given, Allow: allow}, nil
}
