package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/session/instructions"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/report"
	"parley/ui/tui"
	"parley/ui/tui/panels"
)

// plainMode reports whether to use plain lines, for screen readers and dumb terminals.
func (a *program) plainMode() bool {
	return a.flags.screenReader || a.config.UI.ScreenReader || os.Getenv("TERM") == "dumb"
}

// runScreen opens the screen, or plain lines for screen readers and dumb terminals. If asked, it sends parts at once;
// otherwise they go with the first prompt.
func (a *program) runScreen(parts []llm.Part, asked bool) error {
	postponeCollection(screenPercent)
	if a.recording.tap == nil {
		a.recording.tap = &providers.Tap{}
	}
	for {
		if err := a.runScreenHere(parts, asked); err != nil || a.nextDir == "" {
			return err
		}
		if err := os.Chdir(a.nextDir); err != nil {
			return err
		}
		if err := errors.Join(os.Setenv("PWD", a.nextDir), a.resetForDir()); err != nil {
			return cmdutil.Config(err)
		}
		parts, asked = nil, false
	}
}

// resetForDir resets the state of a working directory after the user changed to another one.
func (a *program) resetForDir() error {
	closeTools(a)
	a.mcp.servers.Store(nil)
	a.mcp.onChange.Store(nil)
	a.local.unnamed = ""
	a.nextDir, a.toolSet, a.project = "", nil, project{}
	a.flags.continueLast, a.flags.resume, a.flags.fork, a.flags.listWords = false, a.next.conversation, false, nil
	return a.load() // the project may have changed the configuration
}

// runScreenHere is runScreen for one working directory.
func (a *program) runScreenHere(parts []llm.Part, asked bool) error {
	defer a.closeLibrary()
	s, notice, err := a.openSession(true)
	if err != nil {
		return cmdutil.Config(err)
	}
	if kept, err := a.library.Get("theme"); err == nil && kept != "" && a.config.UI.Theme == tui.Default().Theme {
		c := a.config.UI
		if c.Theme = kept; c.Validate() == nil { // the previous theme may no longer exist
			a.config.UI = c
		}
	}
	notice, noKey := strings.CutPrefix(notice, demoNotice) // the first screen shows this notice itself
	notice = joinNotices(a.next.notice, strings.TrimPrefix(notice, " · "))
	a.next = nextStart{}
	a.mcp.answers = true
	o := a.screenOptions(s, notice, parts)
	if o.FirstScreen.NoKey = noKey; !noKey {
		o.FirstScreen.Notice = joinNotices(o.FirstScreen.Notice, factsNotice(a, time.Now()))
	}
	if !a.project.found.Empty() {
		o.Trust.Decided = trustDecision(a)
	}
	if !a.project.offer.Empty() && !a.project.trusted {
		o.Trust.Question = a.project.offer.Review()
	} else {
		o.MCP.StartServers = a.startMCPServers
	}
	defer reportSandbox(a.toolSet)
	defer a.mcp.stop()
	defer func() { a.toolSet.Jobs().Close() }() // the screen asked before quitting
	if names := a.flags.compared(cmp.Or(a.flags.settings.model, s.Model().Name)); len(names) > 1 {
		models, _ := a.openCompared(s, names) // the front end reports models that cannot be opened
		o.Compared = app.Compared{Models: names, Judge: a.flags.judge}
		o.FirstScreen.Notice = joinNotices(o.FirstScreen.Notice, requestsNotice(models, a.flags.answers))
	}
	o.FirstScreen.Notice = joinNotices(o.FirstScreen.Notice, a.toolSet.TakeSandboxNotices()) // what commands of an earlier parley left
	if asked {
		o.Start.Prompt, o.Attached = parts, nil
	}
	o.Start.Find, o.Start.Fork = a.flags.listWords, a.flags.fork
	if a.plainMode() && a.runPlain != nil {
		err = cmdutil.Exit(a.runPlain(o))
	} else {
		err = cmdutil.Exit(tui.Run(tui.Options{App: o, Config: a.config.UI, Keys: a.config.Keys, Panels: panels.New}))
	}
	if err == nil && a.recording.replay != nil && a.recording.replay.Err() != nil {
		err = cmdutil.Exit(exit.Mismatch)
	}
	return err
}

// screenOptions returns the options of the screen.
func (a *program) screenOptions(s *session.Session, notice string, attached []llm.Part) app.Options {
	models, _ := a.library.Get("models")
	known := new(estimates)
	o := app.Options{
		Session: s, ConfigFile: configFile(a), FirstScreen: app.FirstScreen{Version: cmdutil.Version(), Notice: notice}, Workspace: abbrevPath(a.dir), Directory: a.dir, AbbrevPath: abbrevPath, Attached: attached,
		Trust: app.Trust{Decide: func(yes bool) (string, error) {
			err := trust.SaveDecision(a.library, a.project.offer, yes)
			if yes {
				err = errors.Join(err, a.applyProjectConfig())
				if a.flags.toolNames == "" { // --tools lists all tools to use
					err = errors.Join(err, offerProjectTools(a, a.toolSet))
				}
			}
			err = errors.Join(err, offerSkills(a, s.Model()))
			return wholeSystem(a, s.Personas.Current().System), errors.Join(err, a.startMCPServers())
		}},
		MCP:       a.mcp.options(),
		Wire:      a.recording.inspector(),
		Ephemeral: a.flags.ephemeral,
		OnExit:    a.printResumeHint, Machine: app.Machine{Shell: func(ctx context.Context, owner, command string, progress func(string)) act.Outcome {
			return tools.RunUserCommand(act.WithJobOwner(ctx, owner), a.dir, a.toolSet.Jobs(), command, progress)
		}, Jobs: a.toolSet.Jobs(), ToolSet: a.setFor, Sandbox: a.sandboxFaults(), Alive: process.Alive, Hooks: func() []app.Item { return a.project.hookItems(a.ownHooks()) }, FetchFile: tools.FetchFile, OpenURL: func(ctx context.Context, address string) error { return openURL(ctx, a.dir, address) },
			Until: a.until(), Filter: func(ctx context.Context, command string, input []byte) (string, error) {
				return tools.Filter(ctx, a.dir, command, input)
			}},
		PromptFiles: promptFiles{a}.places(), Skills: app.Skills{List: a.project.skills.rows}, Memory: a.project.memories, System: func(own string) string { return wholeSystem(a, own) },

		Export:  exporter(a.archive.Formats, a.library, a.dir, func() (func(string) string, error) { return maskSecrets(a) }),
		Restart: func(dir, conversation, notice string) { a.nextDir, a.next = dir, nextStart{conversation, notice} },
		Context: func() []app.ContextItem {
			return requestFacts(cmp.Or(a.config.System, session.Instructions), &a.project, a.toolSet, known)
		},
		Flows: flows.Register, Library: a.library, Estimate: catalog.Estimate, Models: app.Models{
			Defaults: conversationDefaults(a), Consult: &a.config.Consult,
			Local:   a.local.options(),
			Resolve: a.config.Resolve, Recent: strings.Fields(models),
			Open: func(name string) (llm.Endpoint, error) { return a.openModel(name, false) },
			Choices: func() []app.ModelChoice {
				return modelChoices(providers.Choices(a.local.services(), os.Getenv), time.Now())
			},
			Live: func() []app.ModelChoice {
				a.local.discover(context.Background())
				found, err := providers.LiveChoices(context.Background(), a.local.services(), a.openOptions(), false)
				return append(modelChoices(found, time.Now()), unreachableProviders(err)...)
			}},
		Opening: app.Opening{New: func() (*session.Session, error) {
			s, _, err := a.newSession(true, a.library.Create(session.Info{Dir: a.dir}), a.flags.settings)
			return s, err
		},
			Resume: func(id string) (*session.Session, string, error) { return a.resumeSession(a.library.Resume(id)) },
			Fork: func(id string, head int) (*session.Session, string, error) {
				return a.resumeSession(forkSession(a, id, head))
			}},
	}
	return a.addParts(o)
}

// sandboxFaults returns the faults of the sandbox of commands.
func (a *program) sandboxFaults() app.Sandbox {
	backend := a.toolSet.Sandbox()
	return app.Sandbox{Missing: backend.Reason, Weak: backend.Weak}
}

// addParts returns o with image models, checkups and new keys, if this build has them.
func (a *program) addParts(o app.Options) app.Options {
	if a.images != nil {
		o.Models.Images = a.images.Models(abilities(a), a.dir, a.config.ImageModel)
	}
	if a.connect != nil {
		o.Models.Connecting = a.connect.Connecting()
	}
	if a.doctor != nil {
		o.Machine.Checkup = a.doctor.Checkup
	}
	return o
}

// printResumeHint prints the command that resumes a conversation.
func (a *program) printResumeHint(id string) {
	if a.flags.ephemeral || a.library.ReadOnly() != nil || a.next.conversation != "" {
		return
	}
	const least = 8 // so that it does not look like search text
	if short, err := a.library.ShortIDs(least, id); err == nil && short[id] != "" {
		a.Note("resume with: parley -r " + short[id])
	}
}

// requestFacts lists the parts of every request beside the conversation: the system prompt, the project's additions,
// and the tools.
func requestFacts(system string, p *project, set *tools.Set, known *estimates) []app.ContextItem {
	facts := []app.ContextItem{{Name: "system prompt", Tokens: tokens(known, system)}}
	if p.own != "" {
		facts = append(facts, app.ContextItem{Name: instructions.Names[0], Tokens: catalog.Estimate(p.own), Note: "yours, for all folders"})
	}
	if lines := p.remembered(); lines != "" {
		facts = append(facts, app.ContextItem{Name: "memory", Tokens: catalog.Estimate(lines), Note: "/memory lists the lines"})
	}
	if s := &p.skills; s.list != "" {
		note := ""
		if s.omitted > 0 {
			note = fmt.Sprintf("%d not listed: no room", s.omitted)
		}
		facts = append(facts, app.ContextItem{Name: "list of skills", Tokens: catalog.Estimate(s.list), Note: note})
	}
	if p.trusted {
		for _, f := range p.offer.Sent() {
			facts = append(facts, app.ContextItem{Name: f.Name, Tokens: tokens(known, f.Text), Note: f.Note})
		}
	}
	for _, dir := range set.Directories() {
		facts = append(facts, app.ContextItem{Name: "folder " + abbrevPath(dir), Tokens: catalog.Estimate(dir), Note: "added: tools reach it"})
	}
	if set != nil {
		for _, t := range set.Tools() {
			facts = append(facts, app.ContextItem{Name: "tool " + t.Name, Tokens: tokens(known, t.Description) + tokens(known, t.Schema)})
		}
	}
	return facts
}

// abbrevPath returns dir with ~ in place of the home directory.
func abbrevPath(dir string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if rest, ok := strings.CutPrefix(dir, home+string(filepath.Separator)); ok {
			return filepath.Join("~", rest)
		}
	}
	return dir
}

// modelChoices returns the rows of the model picker.
func modelChoices(found []providers.Choice, now time.Time) []app.ModelChoice {
	var out []app.ModelChoice
	for _, c := range found {
		r := report.ModelOf(c, now)
		in, price := r.Prices()
		out = append(out, app.ModelChoice{
			Name: c.Name, Alias: c.Alias, Title: c.Title, Abilities: r.Abilities(), Window: r.Window(), Input: in, Output: price,
			Ready: c.Ready, Why: c.Unavailable, LacksKey: c.LacksKey, Retired: r.Deprecated, Retires: r.Retires, Facts: c.Facts,
		})
	}
	return out
}

// unreachableProviders returns a row for each server in err that did not list its models.
func unreachableProviders(err error) []app.ModelChoice {
	var rows []app.ModelChoice
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			rows = append(rows, unreachableProviders(err)...)
		}
		return rows
	}
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Provider != "" {
		why := map[llm.Fault]string{llm.Network: "server does not answer", llm.Authentication: "key refused"}[e.Fault]
		rows = append(rows, app.ModelChoice{Name: e.Provider + "/", Why: cmp.Or(why, e.Error())})
	}
	return rows
}
