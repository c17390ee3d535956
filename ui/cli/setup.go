package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/credentials"
	"parley/providers/llm"
	"parley/providers/media/formats"
	"parley/providers/schema/fit"
	"parley/providers/wire/recording"
	"parley/session"
	"parley/session/archive"
	"parley/session/attach"
	"parley/session/hooks/runner"
	"parley/session/memory"
	"parley/session/trust"
	"parley/session/until"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/atomicfile"
	"parley/tools/mcp/client"
	"parley/tools/undo/snapshot"
	"parley/tools/webpage"
	"parley/ui/acp"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmd/backup"
	"parley/ui/cli/cmd/completion"
	"parley/ui/cli/cmd/config"
	"parley/ui/cli/cmd/connect"
	"parley/ui/cli/cmd/doctor"
	"parley/ui/cli/cmd/embed"
	"parley/ui/cli/cmd/help"
	"parley/ui/cli/cmd/image"
	"parley/ui/cli/cmd/keys"
	"parley/ui/cli/cmd/man"
	"parley/ui/cli/cmd/mcp"
	"parley/ui/cli/cmd/models"
	"parley/ui/cli/cmd/prompts"
	"parley/ui/cli/cmd/sandbox"
	"parley/ui/cli/cmd/serve"
	"parley/ui/cli/cmd/sessions"
	"parley/ui/cli/cmd/skills"
	"parley/ui/cli/cmd/undo"
	"parley/ui/cli/cmd/version"
	"parley/ui/cli/cmd/video"
	"parley/ui/cli/cmdutil"
	"parley/ui/plain"
	"parley/ui/print"
)

func init() { formats.Register() } // images, videos and vectors

func init() { tools.RenderHTML = webpage.Render } // web pages as Markdown

func init() { schemas = fit.Repairer{} } // JSON schemas of answers and calls

func init() { tools.Schemas = schemas }

func init() { setMemory(memory.Open) } // lines that every conversation gets

func init() { newRunner = runner.New } // [[hooks]]

func init() { newCheck = until.New } // --until and /until

func init() { // keys of providers and logins to MCP servers
	openKeys = func(dir string, logins bool) ability.Keys { return credentials.Open(dir, os.Getenv, logins) }
}

// newProgram returns a program before any command.
func newProgram() *program {
	a := &program{print: printText}
	a.Out = new(standardOutput)
	a.local.program = a
	a.learned = sync.OnceValue(a.openMemory)
	a.print, a.printPage = print.Run, print.Page
	a.runPlain = plain.Run
	a.recording.record, a.recording.read = recording.Record, recording.OpenReplay
	a.serveClient = acp.Serve
	a.archive = archive.New()
	a.mcp.client = client.New()
	a.versions.open = snapshot.Open
	a.connect = connect.Options{Env: abilities(a), Keys: func() ability.Keys { return a.credentials }, Look: a.local.look, LocalService: a.local.service}
	a.images = image.Images{}
	a.prompts = prompts.Files{}
	a.skills = skills.Files{}
	a.doctor = doctor.New(doctor.Options{Streams: &a.Streams, Open: a.openCheckup, ConfigPath: &a.configPath, Config: &a.config.Config, Discovers: &a.config.UI.Discover, Sandbox: &a.config.Sandbox, MCP: &a.config.MCP, Models: a.config.configuredModels, Dir: &a.dir, Services: a.local.services, Discover: a.local.discover, OpenOptions: a.openOptions, Servers: a.mcp.running, AbbrevPath: abbrevPath})
	return a
}

// addCommands adds the commands that have packages of their own.
func addCommands(root *cobra.Command, a *program) {
	command := func(name string) *app.Command { // of the chat, without a conversation
		file := &app.App{Options: app.Options{ConfigFile: configFile(a), AbbrevPath: abbrevPath, MCP: a.mcp.options()}}
		flows.Register(file)
		return file.Command(name)
	}
	stored, env := a.conversations(), abilities(a)
	conversations := &cobra.Command{Use: "sessions", Short: "List, show, search, export, import and remove conversations"}
	sessions.Options{Stored: stored, Archive: a.archive, Out: a.Out, Note: a.Note, Now: time.Now, AbbrevPath: abbrevPath, Forget: a.versions.forget}.ForTerminal().Add(root, conversations)
	undo.Options{Streams: &a.Streams, Stored: stored, Files: a.versions.get}.Add(conversations)
	backup.Options{Streams: &a.Streams, Stored: stored, Files: a.versions.get}.Add(conversations)
	root.AddCommand(conversations)
	root.AddCommand(embed.New(env), embed.NewSimilar(env))
	if a.images != nil {
		root.AddCommand(a.images.Command(env))
	}
	root.AddCommand(video.New(env))
	root.AddCommand(models.New(env))
	root.AddCommand(man.New(man.Options{Out: a.Out, Version: cmdutil.Version(), Date: cmdutil.BuildDate()}))
	root.AddCommand(config.New(config.Options{Streams: &a.Streams, Path: func() (string, error) { return configPath(a.flags.configFile) }, Load: a.load, Check: a.config.checkNames, AbbrevPath: abbrevPath, Settings: func() *app.Command { return command("settings") }}))
	root.AddCommand(keys.New(a.Out, a.load, &a.config.Keys))
	root.AddCommand(mcp.New(mcp.Options{Streams: &a.Streams, Client: a.mcp.client, Load: a.loadMCP, OpenURL: func(ctx context.Context, address string) error { return openURL(ctx, a.dir, address) }, Command: func() *app.Command { return command("mcp") }}))
	serve.Options{Env: env, In: os.Stdin, Stored: stored, Archive: a.archive, Version: cmdutil.Version(), Run: editor{a}.serve, Open: editor{a}.ask, Print: a.print}.Add(root)
	if a.prompts != nil {
		root.AddCommand(a.prompts.Command(&a.Streams, a.withProject, promptFiles{a}.places(), abbrevPath))
	}
	root.AddCommand(sandbox.New(a.load, &a.config.Sandbox))
	if a.skills != nil {
		root.AddCommand(a.skills.Command(&a.Streams, a.withSkills, configDir(), abbrevPath))
	}
	root.AddCommand(version.New(a.Out))
	completion.Add(root)
	help.Add(root, a.printManual)
}

// abilities returns the environment of the commands for images, videos and vectors.
func abilities(a *program) *ability.Env {
	env := &ability.Env{Streams: &a.Streams, Services: a.local.services, OpenOptions: a.openOptions, Find: a.local.find, Discover: a.local.discover, AbbrevPath: abbrevPath}
	env.Load = func() error {
		err := a.load()
		env.ImageModel, env.EmbedModel, env.Limits = a.config.ImageModel, a.config.EmbedModel, a.config.limits(a.flags.maxCost)
		env.ConfirmAbove, env.Plain, env.Images = a.config.Budget.Confirm, a.plainMode(), a.config.UI.Images
		return err
	}
	return env
}

// newSession creates a session from models, tools and policy around a conversation, which stores the flags. Notice
// describes unexpected changes, such as another model.
func (a *program) newSession(screen bool, log *session.Log, flags settingFlags) (s *session.Session, notice string, err error) {
	kept := log.Session()
	model, notice, err := firstModel(a, screen, kept.Model, cmp.Or(flags.model, a.flags.prompt.model))
	if err != nil {
		return nil, "", errors.Join(err, log.Close())
	}
	if err = useTools(a); err == nil {
		err = offerSkills(a, model)
	}
	if err == nil {
		err = offerMemory(a, screen || a.asks, func() *session.Session { return s }, kept.ImportedFrom())
	}
	if err != nil {
		return nil, "", err
	}
	policy, err := a.newPolicy()
	if err := cmp.Or(err, openHooks(a)); err != nil {
		return nil, "", err
	}
	var offered act.Set // nil without tools
	if a.toolSet != nil {
		a.toolSet.SetPolicy(policy)
		offered = a.toolSet
	}
	var running act.Hooks // nil without hooks
	if a.project.runner != nil {
		running = a.project.runner
	}
	var files func(conversation, root string) act.Files // nil if file versions are not stored
	versions := openUndo(a)
	if versions != nil {
		files = versions.Files
	}
	s = session.New(session.Options{
		Hooks: running, Files: files, Model: model, Effort: firstEffort(cmp.Or(flags.effort, a.flags.prompt.effort), kept, a.config.Effort), System: wholeSystem(a, ""),
		Settings: llm.Settings{Web: a.config.Web || a.flags.prompt.searches(&flags)}, Tools: offered, Policy: policy, Attended: screen, MaxWait: a.flags.wait, MaxSteps: cmp.Or(a.flags.maxTurns, a.config.MaxTurns), Limits: a.config.limits(a.flags.maxCost), ConfirmCost: a.config.Budget.Confirm,
		Fallback: fallbacks(a), Alternatives: largerModels(a), Cooldowns: &a.local.cooldowns, AnswerSchema: a.flags.schema, Schemas: schemas,
		OpenModel: func(name string) (llm.Endpoint, error) { return a.openModel(name, !screen) },
		AfterTurn: func() {
			if !a.flags.ephemeral {
				a.finishing.Go(func() { finishOwed(a.library, versions) })
			}
		},
		Log: log, EstimateTokens: catalog.Estimate, PrepareMedia: attach.PrepareMedia, Config: a.config.Session,
	})
	left, err := flags.apply(a, s)
	if err != nil {
		return nil, "", errors.Join(cmdutil.Usage(err), s.Close())
	}
	a.flags.prompt.lend(a, s, kept, &flags)
	if system := a.flags.prompt.system(&flags); system != "" {
		s.Next.SetSystem(wholeSystem(a, system))
	}
	return s, joinNotices(notice, left, recoverFiles(versions, a.toolSet), unfinishedCall(s)), nil
}

// firstEffort returns the effort a conversation starts with: the requested one, else the stored one, else the
// configured one.
func firstEffort(asked string, kept session.Info, configured llm.Effort) llm.Effort {
	return cmp.Or(llm.Effort(asked), kept.Effort, configured)
}

// firstModel opens the model a conversation starts with: the requested one, else the stored one, else the default.
// Notice says why another one is used.
func firstModel(a *program, screen bool, kept, asked string) (model llm.Endpoint, notice string, err error) {
	recorded := ""
	if a.recording.replay != nil {
		recorded = a.recording.replay.Model()
	}
	name := cmp.Or(asked, recorded, kept, a.config.Model, a.project.model)
	if name == "" && screen {
		name = a.lastModel()
	}
	if name == "" {
		if name, notice, err = a.local.unnamedModel(screen); err != nil {
			return model, "", err
		}
	}
	err = a.local.find(context.Background(), name, func(c providers.Config, name string) (err error) {
		model, err = a.openModelOf(c, name, !screen)
		return err
	})
	if err != nil && asked == "" && kept != "" { // an old conversation must stay readable
		other := cmp.Or(a.config.Model, providers.DefaultModel(a.config.Config, os.Getenv))
		notice = fmt.Sprintf("%s is not available: %v. Using %s instead", kept, err, other)
		model, err = a.openModel(other, !screen)
	}
	return model, notice, err
}

// lastModel returns the model last chosen on the screen, if it is available.
func (a *program) lastModel() string {
	models, err := a.library.Get("models")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(models, "\n")
	if name == "" {
		return "" // searching all names for it would read the whole catalog
	}
	if _, err := a.openModel(name, false); err != nil {
		return ""
	}
	return name
}

// demoNotice is shown if the demo answers because nothing else is set up.
const demoNotice = "No API key found – the built-in offline demo answers. parley connect adds a key"

// openModel opens a model. Unattended, for print mode, removes the demo's pauses and shortens the wait for a silent
// model.
func (a *program) openModel(name string, unattended bool) (llm.Endpoint, error) {
	return a.openModelOf(a.local.services(), name, unattended)
}

func (a *program) openModelOf(c providers.Config, name string, unattended bool) (llm.Endpoint, error) {
	o := a.openOptions()
	o.Instant, o.Attended = unattended, !unattended
	return providers.Open(c, name, o)
}

// openMemory opens the memory of fields that servers refused before. Recordings and replays start with an empty one,
// because a recording must contain every refusal.
func (a *program) openMemory() *providers.Memory {
	path := providers.LearnedPath(os.Getenv)
	if a.flags.wire.recordFile != "" || a.flags.wire.replayFile != "" {
		path = ""
	}
	if a.flags.ephemeral {
		return providers.OpenMemory(path, nil)
	}
	return providers.OpenMemory(path, atomicfile.ReplaceUnsynced)
}

// openOptions returns the options for opening any model.
func (a *program) openOptions() providers.OpenOptions {
	return providers.OpenOptions{Memory: a.learned(), Debug: a.debugLog, Tap: a.recording.tap, Replay: a.recording.replay, Unsent: a.flags.wire.dryRun, ExactNames: a.flags.exact}
}

// useTools opens the tools for all conversations in this directory, once.
func useTools(a *program) (err error) {
	if a.toolSet != nil {
		return nil
	}
	if a.toolSet, err = openTools(a); err != nil || a.toolSet == nil {
		return err
	}
	if file, err := filepath.Abs(a.configPath); err == nil && a.configPath != "" {
		a.toolSet.ProtectFiles(file)
	}
	a.toolSet.EnableSandbox(a.config.Sandbox)
	a.toolSet.SetBackground(time.Duration(a.config.Background) * time.Second)
	return nil
}

// openTools opens the tools named by --tools: parley's, the user's and a trusted project's; nil for none.
func openTools(a *program) (*tools.Set, error) {
	if a.flags.toolNames == "none" {
		return nil, nil
	}
	set, err := tools.Open(a.dir)
	if err != nil {
		return nil, err
	}
	if err := offerOwnTools(a, set); err != nil || a.flags.toolNames == "" {
		return set, err
	}
	listed := slices.DeleteFunc(strings.Split(a.flags.toolNames, ","), func(name string) bool {
		return slices.Contains([]string{act.SkillName, act.AskTool, act.ConsultTool, act.ExploreTool}, strings.TrimSpace(name)) // added later, where they can be used
	})
	only, err := set.Only(listed...)
	if err != nil {
		return nil, cmdutil.Usagef("--tools: %w", err)
	}
	return only.(*tools.Set), nil
}

// offerOwnTools offers the tools of the configuration and of a trusted project.
func offerOwnTools(a *program, set *tools.Set) error {
	if len(a.config.Tools) > 0 {
		if err := set.AddCustomTools(a.config.Tools, filepath.Dir(a.configPath), ""); err != nil {
			return fmt.Errorf("%s: %w", a.configPath, err)
		}
	}
	if err := set.AddSearch(a.config.Search, os.Getenv); err != nil {
		return err
	}
	return offerProjectTools(a, set)
}

// offerProjectTools adds the tools of a trusted project; user's tools of the same name take precedence.
func offerProjectTools(a *program, set *tools.Set) error {
	if len(a.project.tools) == 0 || set == nil {
		return nil
	}
	others := maps.Clone(a.project.tools)
	maps.DeleteFunc(others, func(name string, _ tools.CustomTool) bool {
		_, own := a.config.Tools[name]
		return own
	})
	return set.AddCustomTools(others, "", trust.ConfigName)
}
