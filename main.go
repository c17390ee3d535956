// Parley is a chat client for language models that lives in the terminal.
//
// This file is the root: it reads flags and configuration, hands each part of
// them to its owner, wires models, tools and a session together, chooses
// between the two front ends (ui for a person at a terminal, ui/print for
// pipes), and turns whatever happens into an exit status. Nothing imports it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/session/settings"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/rules"
	"parley/tools/sandbox"
	"parley/ui"
	"parley/ui/plain"
	"parley/ui/print"
	"parley/ui/safe"
	"parley/ui/theme"
)

func main() {
	print.CheckAddressSpace()
	sandbox.Child() // what holds a command is this program too
	tools.HideEnvironment()
	os.Exit(run())
}

// run is main with an exit status.
func run() int {
	log.SetOutput(io.Discard) // net/http logs what servers send out of turn
	a := &app{}
	err := a.command().Execute()
	if err == nil {
		return a.status
	}
	if a.status == print.OK {
		a.status = print.Usage // cobra's own: flags, arguments
	}
	print.Failure(os.Stdout, os.Stderr, a.output, err, a.status)
	return a.status
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// usage marks an error as one of what was typed.
func usage(err error) error { return print.Mistake{Err: err} }

// Config is config.toml. Each field belongs to the package that acts on it.
type Config struct {
	Model       string                `toml:"model"`
	Fallback    []string              `toml:"fallback"`
	Effort      llm.Effort            `toml:"effort"`
	System      string                `toml:"system"`
	Mode        tools.Mode            `toml:"mode"`
	MaxTurns    int                   `toml:"max_turns"`
	MaxCost     float64               `toml:"max_cost"`
	UI          ui.Config             `toml:"ui"`
	Session     session.Config        `toml:"session"`
	Keys        ui.Keys               `toml:"keys"`
	Permissions tools.Permissions     `toml:"permissions"`
	Sandbox     tools.SandboxConfig   `toml:"sandbox"`
	MCP         map[string]mcp.Config `toml:"mcp"`
	providers.Config
}

// Project is .parley/config.toml in a folder that is trusted: what a stranger may
// say once the person agreed. Where requests go, with which keys, and what may
// run unasked is not among it.
type Project struct {
	Model   string     `toml:"model"`
	Effort  llm.Effort `toml:"effort"`
	System  string     `toml:"system"` // behind parley's own or the person's
	Session struct {
		History string  `toml:"history"`
		Compact float64 `toml:"compact"`
	} `toml:"session"`
}

// Validate names the first value that cannot be meant.
func (p *Project) Validate() error {
	c := Config{Effort: p.Effort, UI: ui.Default(), Config: providers.Default()}
	c.Session.History, c.Session.Compact = p.Session.History, p.Session.Compact
	return c.Validate()
}

// Validate names the first value that cannot be meant.
func (c *Config) Validate() error {
	if c.Effort != "" && !slices.Contains(llm.Efforts, c.Effort) {
		return fmt.Errorf("effort = %q: there are %s", c.Effort, list(llm.Efforts))
	}
	if modes := append(slices.Clone(tools.Modes), tools.ModeYolo); c.Mode != "" && !slices.Contains(modes, c.Mode) {
		return fmt.Errorf("mode = %q: there are %s", c.Mode, list(modes))
	}
	if c.MaxTurns < 0 || !(c.MaxCost >= 0) || math.IsInf(c.MaxCost, 0) {
		return errors.New("max_turns and max_cost cannot be negative; 0 is no limit of one's own")
	}
	if err := cmp.Or(c.UI.Validate(), c.Session.Validate(), c.Keys.Validate(), c.Permissions.Validate(), c.Sandbox.Validate(), mcp.Validate(c.MCP)); err != nil {
		return err
	}
	return c.Config.Validate()
}

// app holds the flags of one run.
type app struct {
	config, model, effort, system, output, tools, schema, debug string
	fallback, files, allow                                      []string
	print, interactive, reader, quiet, yolo, code, raw, exact   bool
	render, dryRun, ephemeral, again, fork                      bool
	resume, record, replay                                      string
	find                                                        *string  // words that conversations are listed for; nil: none are
	models                                                      []string // of -m; model is the first
	maxTurns, answers                                           int
	maxCost                                                     float64
	timeout                                                     time.Duration

	status                    int
	cfg                       Config
	want                      *llm.Schema       // what --schema holds
	memory                    *providers.Memory // see remembered
	remember                  sync.Once
	file, folder              string      // the configuration's path, the working folder
	next                      string      // the folder to go on in once the screen has ended; "": none
	offer                     trust.Offer // what it would add
	folderModel, folderSystem string      // what its settings say
	agreed                    bool        // the person trusts it
	set                       *tools.Set
	held                      sandbox.Backend              // what holds commands
	servers                   atomic.Pointer[mcp.Servers]  // nil: none is configured, or none may run yet
	watch                     atomic.Pointer[func(string)] // who hears of changes of servers
	tap                       *providers.Tap               // what goes over the wire; nil: nobody looks
	played                    *providers.Replay            // of --replay; nil: none
	hears                     atomic.Pointer[func(string)] // the screen's; nil: there is none
	log                       *slog.Logger                 // of --debug; nil: none
	lib                       *session.Library             // nil until it is needed
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley [PROMPT]",
		Short: "Chat with language models in the terminal",
		Long: `Chat with language models in the terminal.

Without a prompt parley opens its screen. With -p, a pipe on standard input, or
standard output that is no terminal, it prints the answer and exits.`,
		Example: `  parley
  parley "explain this repository"
  git diff | parley -p "write a commit message"
  parley -m openai/gpt-6.1-sol -o jsonl "hello" | jq .`,
		Args:          cobra.ArbitraryArgs,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, words []string) error { return a.chat(cmd, words) },
	}
	f := root.Flags()
	f.StringArrayVarP(&a.models, "model", "m", nil, "model to ask, as provider/model; several are compared")
	f.BoolVar(&a.exact, "exact", false, "ask for models exactly as they are named: map no retired name, and no name of a family, to a current one")
	f.IntVarP(&a.answers, "answers", "n", 1, "how many answers to ask for; they are compared, and kept as branches")
	f.StringSliceVar(&a.fallback, "fallback", nil, "models to go on with when one is out of order")
	f.StringVar(&a.effort, "effort", "", "how much to think: off, minimal, low, medium, high, max")
	f.StringVarP(&a.system, "system", "s", "", "system prompt in place of parley's own")
	f.StringArrayVarP(&a.files, "file", "f", nil, "attach a file")
	f.BoolVarP(&a.print, "print", "p", false, "print the answer and exit")
	f.BoolVarP(&a.interactive, "interactive", "i", false, "open the screen although standard input is a pipe")
	f.BoolVar(&a.reader, "screen-reader", false, "talk in plain lines in order, for a screen reader, in place of the screen")
	f.StringVarP(&a.output, "output", "o", "text", "what to print: text, json, jsonl")
	f.StringVar(&a.schema, "schema", "", "JSON Schema the answer has to fit, or a file that holds one; prints the JSON alone")
	f.BoolVarP(&a.code, "code", "x", false, "print the first code block of the answer only")
	f.BoolVar(&a.raw, "raw", false, "print the answer as it came, control characters included")
	f.BoolVar(&a.render, "render", false, "render Markdown although standard output is no terminal")
	f.StringVar(&a.tools, "tools", "", "tools to offer: none, or a list such as read,grep")
	f.StringArrayVar(&a.allow, "allow", nil, `let a tool run without asking: "edit", "shell:go test ./..."`)
	f.BoolVar(&a.yolo, "yolo", false, "let every tool run without asking")
	f.IntVar(&a.maxTurns, "max-turns", 0, "requests the model may make for one prompt")
	f.Float64Var(&a.maxCost, "max-cost", 0, "US dollars to spend at most")
	f.DurationVar(&a.timeout, "timeout", 0, "time for the whole answer, such as 90s; prints it")
	f.StringVar(&a.record, "record", "", "append each request and its answer to this file, keys masked")
	f.StringVar(&a.replay, "replay", "", "answer from a recording instead of the network, without a key")
	f.BoolVar(&a.dryRun, "dry-run", false, "print the request that would be sent, and send nothing")
	f.BoolVarP(&a.again, "continue", "c", false, "go on with the last conversation of this folder")
	f.StringVarP(&a.resume, "resume", "r", "", "continue a conversation: its ID, the beginning of it, or words of its title; alone, lists them")
	f.BoolVar(&a.fork, "fork", false, "with -c or -r, go on in a copy")
	f.BoolVar(&a.ephemeral, "ephemeral", false, "keep nothing of this conversation")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "nothing but errors on standard error")
	root.PersistentFlags().StringVar(&a.debug, "debug", "", "write a line about each request to this file, without keys and texts")
	root.PersistentFlags().StringVar(&a.config, "config", "", "configuration file in place of the usual one")
	shelf := a.shelf()
	root.AddCommand(a.modelsCommand(), a.doctorCommand(), a.kept(shelf.Sessions()), a.kept(shelf.Usage()), a.keysCommand(), a.sandboxCommand(), manCommand(), versionCommand())
	root.MarkFlagFilename("schema", "json")
	root.RegisterFlagCompletionFunc("model", a.completeModel)
	root.RegisterFlagCompletionFunc("resume", shelf.Complete)
	root.SetArgs(optional(os.Args[1:]))
	root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(print.Formats, cobra.ShellCompDirectiveNoFileComp))
	root.RegisterFlagCompletionFunc("effort", cobra.FixedCompletions(words(llm.Efforts), cobra.ShellCompDirectiveNoFileComp))
	return root
}

// optional gives -r without a value one that is empty: nothing, a flag or -- stands
// behind it.
func optional(args []string) []string {
	var out []string
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		alone := i == len(args)-1 || strings.HasPrefix(args[i+1], "-")
		if (arg == "-r" || arg == "--resume") && alone {
			arg = "--resume="
		}
		out = append(out, arg)
	}
	return out
}

// list is values as a person reads them.
func list[T ~string](values []T) string { return strings.Join(words(values), ", ") }

func words[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

// chat opens the screen or prints an answer.
func (a *app) chat(cmd *cobra.Command, words []string) error {
	if err := a.check(cmd, words); err != nil {
		return a.fail(print.Usage, err)
	}
	if err := a.load(); err != nil {
		return a.fail(print.Config, err)
	}
	if err := a.wire(); err != nil {
		return a.fail(print.Usage, err)
	}
	defer a.unwire()
	parts, err := a.attach()
	if err != nil {
		return a.fail(print.Usage, err)
	}
	inTerminal, outTerminal := term.IsTerminal(os.Stdin.Fd()), term.IsTerminal(os.Stdout.Fd())
	asked := a.print || a.dryRun || a.code || a.raw || a.render || a.timeout > 0 || a.want != nil || a.output != "text"
	screen := !asked && outTerminal && (inTerminal || a.interactive)
	if !inTerminal {
		stdin, err := print.ReadStdin(os.Stdin, len(words)+len(parts) > 0, a.note)
		if err != nil {
			return a.fail(print.Usage, err)
		}
		parts = append(parts, print.Prompt(words, stdin)...)
	} else {
		parts = append(parts, print.Prompt(words, nil)...)
	}
	if screen {
		return a.show(parts, len(words) > 0 || !inTerminal && len(parts) > 0)
	}
	if a.find != nil {
		return a.listSessions(cmd.Root(), parts)
	}
	if len(parts) == 0 {
		return a.fail(print.Usage, errors.New("there is no prompt: give one as an argument or on standard input"))
	}
	return a.answer(parts, outTerminal)
}

// listSessions prints the conversations for -r without a value. With a prompt, -r
// has to name one of them.
func (a *app) listSessions(root *cobra.Command, parts []llm.Part) error {
	if len(parts) > 0 {
		return a.fail(print.Usage, errors.New("-r: which conversation? Give its ID, the beginning of it, or words of its title: parley sessions list shows them. -c continues the last one of this folder"))
	}
	list, _, err := root.Find([]string{"sessions", "list"})
	if err != nil {
		return a.fail(print.Failed, err)
	}
	return list.RunE(list, nil)
}

// check refuses flags that cannot be meant, and a word that was meant for a
// command: asking a model costs money.
func (a *app) check(cmd *cobra.Command, words []string) error {
	switch {
	case !slices.Contains(print.Formats, a.output):
		return fmt.Errorf("-o %s: there are %s", a.output, strings.Join(print.Formats, ", "))
	case a.effort != "" && !slices.Contains(llm.Efforts, llm.Effort(a.effort)):
		return fmt.Errorf("--effort %s: there are %s", a.effort, list(llm.Efforts))
	case a.again && a.resume != "":
		return errors.New("-c and -r name two conversations: give one of them")
	case a.fork && !a.again && !cmd.Flags().Changed("resume"):
		return errors.New("--fork copies a conversation: name it with -c or -r")
	case a.record != "" && a.replay != "":
		return errors.New("--replay sends nothing that --record could keep: give one of them")
	case a.ephemeral && (a.again || a.resume != "") && !a.fork:
		return errors.New("--ephemeral keeps nothing, so that it cannot go on with a kept conversation: add --fork to go on in a copy")
	case a.maxTurns < 0, a.timeout < 0, !(a.maxCost >= 0) || math.IsInf(a.maxCost, 0):
		return errors.New("--max-turns, --max-cost and --timeout take a number above 0")
	}
	if cmd.Flags().Changed("resume") && a.resume == "" {
		a.find = new(string)
	}
	if len(a.models) > 0 {
		a.model = a.models[0]
	}
	if a.answers < 1 || a.answers > mostAnswers {
		return fmt.Errorf("-n %d: there can be 1 to %d answers", a.answers, mostAnswers)
	}
	if a.answers > 1 && (cmd.Flags().Changed("schema") || a.dryRun) {
		return errors.New("-n compares answers: --schema and --dry-run are about one")
	}
	if len(a.models) > 1 && (cmd.Flags().Changed("schema") || a.dryRun) {
		return errors.New("-m twice compares answers: --schema and --dry-run are about one model")
	}
	if cmd.Flags().Changed("schema") {
		if a.code || a.render {
			return errors.New("--schema prints JSON, which holds nothing for --code or --render")
		}
		want, err := print.ReadSchema(a.schema)
		if err != nil {
			return fmt.Errorf("--schema: %w", err)
		}
		a.want = want
	}
	if a.print || cmd.ArgsLenAtDash() >= 0 {
		return nil
	}
	return misspelled(cmd.Root(), words)
}

// reserved are names that subcommands may have in other versions: they are no
// prompts here either.
var reserved = []string{"acp", "config", "connect", "embed", "image", "prompts", "similar", "skills", "video"}

// misspelled returns an error if words look like a subcommand that does not
// exist: one word that is like one, a reserved name in front, or a name with a
// slip in front of a subcommand of its own. A sentence in quotes is one argument
// with spaces in it, and a prompt.
func misspelled(root *cobra.Command, words []string) error {
	const shortest = 3 // letters
	if len(words) == 0 || len(words[0]) < shortest || strings.ContainsFunc(words[0], unicode.IsSpace) {
		return nil
	}
	name, commands := words[0], map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		if c.Name() != "help" { // hello looks like it
			commands[c.Name()] = c
		}
	}
	const send = "to send it as a prompt, write parley -- %s"
	near := catalog.Near(name, slices.Sorted(maps.Keys(commands)), 1)
	if len(near) > 0 && len(words) > 1 && !slices.ContainsFunc(commands[near[0]].Commands(), func(c *cobra.Command) bool { return c.Name() == words[1] }) {
		near = nil // several words, of which the first happens to look like a command
	}
	switch {
	case slices.Contains(reserved, name), len(near) == 0 && len(words) == 1 && len(catalog.Near(name, reserved, 1)) > 0:
		return fmt.Errorf("there is no command %q: parley help lists them; "+send, name, strings.Join(words, " "))
	case len(near) > 0:
		return fmt.Errorf("there is no command %q: did you mean parley %s? "+strings.ToUpper(send[:1])+send[1:], name, near[0], strings.Join(words, " "))
	}
	return nil
}

// fail keeps the status to exit with.
func (a *app) fail(status int, err error) error {
	var typed print.Mistake
	switch {
	case errors.As(err, &typed):
		status = print.Usage
	case llm.FaultOf(err) == llm.Authentication:
		status = print.Config
	}
	a.status = status
	return err
}

// note prints text on standard error, unless -q was given.
func (a *app) note(text string) {
	if !a.quiet {
		warn(text)
	}
}

// tell prints a notice on standard error, an urgent one in any case.
func (a *app) tell(n llm.Notice) {
	if n.Urgent || !a.quiet {
		warn(n.Text)
	}
}

// warn prints text on standard error.
func warn(text string) { fmt.Fprintln(os.Stderr, "parley: "+safe.Text(text)) }

// inLines reports whether a person is talked to in lines, and not on a screen.
func (a *app) inLines() bool {
	return a.reader || a.cfg.UI.ScreenReader || os.Getenv("TERM") == "dumb"
}

// show opens the screen, or what stands in its place for screen readers and for
// terminals that can only print. Parts are sent at once if something was asked,
// and with the first prompt otherwise.
func (a *app) show(parts []llm.Part, asked bool) error {
	for {
		if err := a.showHere(parts, asked); err != nil || a.next == "" {
			return err
		}
		if err := os.Chdir(a.next); err != nil {
			return a.fail(print.Failed, err)
		}
		if err := errors.Join(os.Setenv("PWD", a.next), a.elsewhere()); err != nil {
			return a.fail(print.Config, err)
		}
		parts, asked = nil, false
	}
}

// elsewhere forgets what belonged to a folder, after the user went to another one.
func (a *app) elsewhere() error {
	if a.set != nil {
		a.set.Close()
	}
	a.servers.Store(nil)
	a.watch.Store(nil)
	a.next, a.set, a.held, a.offer, a.agreed, a.folderModel, a.folderSystem = "", nil, sandbox.Backend{}, trust.Offer{}, false, "", ""
	a.again, a.resume, a.fork = false, "", false
	return a.load() // the folder may have changed what was read
}

// showHere is show for one folder.
func (a *app) showHere(parts []llm.Part, asked bool) error {
	defer a.close()
	if a.tap == nil {
		a.tap = &providers.Tap{}
	}
	s, notice, err := a.session(true)
	if err != nil {
		return a.fail(print.Config, err)
	}
	folder := a.folder
	if kept, err := a.lib.Get("theme"); err == nil && kept != "" && a.cfg.UI.Theme == ui.Default().Theme {
		c := a.cfg.UI
		if c.Theme = kept; c.Validate() == nil { // it may have been one that is gone
			a.cfg.UI = c
		}
	}
	models, _ := a.lib.Get("models")
	o := ui.Options{
		Session: s, Config: a.cfg.UI, Keys: a.cfg.Keys, ConfigFile: a.file, Notice: notice, Workspace: short(folder), Folder: folder, Short: short, Attached: parts,
		Decide: func(yes bool) (string, error) {
			err := trust.Decide(a.lib, a.offer, yes)
			if yes {
				err = errors.Join(err, a.adopt())
			}
			return a.prompt(), errors.Join(err, a.serve())
		},
		Shell:     a.shell,
		Servers:   a.servers.Load,
		Watch:     func(f func(string)) { a.watch.Store(&f) },
		Wire:      a.inspected(),
		Ephemeral: a.ephemeral,
		Left:      a.left, Held: a.held.Why,
		Mask:    func() (func(string) string, error) { return a.cfg.MaskKeys(context.Background(), os.Getenv) },
		Enter:   func(dir string) { a.next = dir },
		Context: func() []ui.Fact { return a.facts(a.set) },
		Library: a.lib, Estimate: catalog.Estimate, Price: price, Recent: strings.Fields(models),
		Open:    func(name string) (llm.Endpoint, error) { return a.open(name, false) },
		Choices: func() []ui.Choice { return choices(providers.Choices(a.cfg.Config, os.Getenv)) },
		Live: func() []ui.Choice {
			found, err := providers.Live(context.Background(), a.cfg.Config, a.options(), false)
			return append(choices(found), silent(err)...)
		},
		New: func() (*session.Session, error) {
			s, _, err := a.build(true, a.lib.Create(session.Summary{Folder: folder}))
			return s, err
		},
		Resume: func(id string) (*session.Session, string, error) { return a.reopen(a.lib.Resume(id)) },
		Fork: func(id string, head int) (*session.Session, string, error) {
			return a.reopen(a.lib.Fork(id, head))
		},
	}
	if !a.offer.Empty() && !a.agreed {
		o.Question = a.offer.Question()
	} else if err := a.serve(); err != nil {
		o.Notice = strings.TrimPrefix(o.Notice+" · "+err.Error(), " · ")
	}
	defer a.unserve()
	if names := a.compared(first(a.model, s.Model().Name)); len(names) > 1 {
		told := a.severalNotice(names)
		if a.inLines() {
			told = "several answers are for the screen and for pipes: here one is given"
		}
		o.Start.Compare, o.Notice = names, strings.Trim(o.Notice+" · "+told, " ·")
	}
	if asked {
		o.Start.Prompt, o.Attached = parts, nil
	}
	o.Start.Find, o.Start.Fork = a.find, a.fork
	run := ui.Run
	if a.inLines() {
		run = plain.Run
	}
	a.status = run(o)
	if a.status == print.OK && a.played != nil && a.played.Err() != nil {
		a.status = print.Mismatch
	}
	return nil
}

// left says how to come back to a conversation.
func (a *app) left(id string) {
	if a.ephemeral || a.lib.ReadOnly() != nil {
		return
	}
	found, err := a.lib.List(session.Query{})
	if err != nil || !slices.ContainsFunc(found, func(s session.Summary) bool { return s.ID == id }) {
		return
	}
	const least = 8 // to be told from words of a title
	n := min(least, len(id))
	for _, s := range found {
		for s.ID != id && n < len(id) && strings.HasPrefix(s.ID, strings.ToLower(id[:n])) {
			n++
		}
	}
	a.note("to go on with this conversation: parley -r " + id[:n])
}

// wire opens the recording that is to be written, or to be replayed.
func (a *app) wire() error {
	if a.replay != "" {
		played, err := providers.OpenReplay(a.replay)
		if err != nil {
			return fmt.Errorf("--replay: %w", err)
		}
		a.played = played
	}
	if a.record == "" {
		return nil
	}
	recorder, err := providers.Record(a.record)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	recorder.Trouble = func(err error) {
		if hears := a.hears.Load(); hears != nil {
			(*hears)(err.Error())
			return
		}
		a.note(err.Error())
	}
	a.tap = &providers.Tap{Recorder: recorder}
	return nil
}

// unwire ends a recording, and says what of a replay nobody asked for.
func (a *app) unwire() {
	if a.tap != nil && a.tap.Recorder != nil {
		if err := a.tap.Recorder.Close(); err != nil {
			a.note("the recording: " + err.Error())
		}
	}
	if a.played != nil && a.status == print.OK {
		if n := a.played.Left(); n > 0 {
			a.note(fmt.Sprintf("%d of the recorded requests were not asked for", n))
		}
	}
}

// inspected is the wire as the screen shows it.
func (a *app) inspected() ui.Wire {
	return ui.Wire{
		List: func() []ui.Exchange {
			var all []ui.Exchange
			for _, e := range a.tap.List() {
				all = append(all, exchange(e))
			}
			return all
		},
		Get: func(id int) (ui.Exchange, bool) {
			e, ok := a.tap.Exchange(id)
			shown := exchange(e)
			shown.Curl = e.Curl()
			return shown, ok
		},
		Hear: func(f func(string)) { a.hears.Store(&f) },
	}
}

// exchange is one for the screen.
func exchange(e providers.Exchange) ui.Exchange {
	side := func(m providers.Traffic) ui.Traffic {
		t := ui.Traffic{Body: m.Body, Tail: m.Tail, Cut: m.Cut}
		for _, name := range slices.Sorted(maps.Keys(m.Header)) {
			for _, value := range m.Header[name] {
				t.Headers = append(t.Headers, [2]string{name, value})
			}
		}
		return t
	}
	return ui.Exchange{
		ID: e.ID, Name: strings.Trim(e.Provider+"/"+e.Model, "/"), Method: e.Method, URL: e.URL, Args: e.Args,
		Status: e.Status, Error: e.Error, Reason: e.Reason, Start: e.Start, Headers: e.Headers, First: e.First, Total: e.Total,
		Over: e.Over, Sent: e.Sent, Got: e.Got, Request: side(e.Request), Response: side(e.Response),
	}
}

// reopen goes on with a log. An error that comes with one says what of it could
// not be read.
func (a *app) reopen(log *session.Log, damage error) (*session.Session, string, error) {
	if log == nil {
		return nil, "", damage
	}
	s, notice, err := a.build(true, log)
	if damage != nil {
		notice = damage.Error()
	}
	return s, notice, err
}

// price is what a million tokens of a prompt cost, and of one from the cache.
func price(model string) (input, cached float64) {
	provider, id, _ := strings.Cut(model, "/")
	m, _ := catalog.Find(provider, id)
	return m.Price.Input, m.Price.CacheRead
}

// answer prints the answer to parts.
func (a *app) answer(parts []llm.Part, outTerminal bool) error {
	s, notice, err := a.session(false)
	defer a.close()
	if err != nil {
		return a.fail(print.Config, err)
	}
	defer a.leave(s)
	if a.dryRun {
		return a.preview(s, parts)
	}
	if notice != "" && providers.IsDemo(a.cfg.Config, s.Model().Name) {
		warn(notice) // with -q as well: a script must not take the demo for a model
	} else if notice != "" {
		a.note(notice)
	}
	if err := a.serve(); err != nil {
		return a.fail(print.Config, err)
	}
	defer a.unserve()
	a.await()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go print.Watch(cancel)
	if a.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, a.timeout, print.ErrTimeout)
		defer stop()
	}
	width, _, _ := term.GetSize(os.Stdout.Fd())
	render := (a.render || outTerminal) && !a.raw && !a.code && a.want == nil && a.output == "text"
	var out io.Writer = os.Stdout
	if render {
		out = colorprofile.NewWriter(os.Stdout, os.Environ())
	}
	o := print.Options{
		Format: a.output, Out: out, Quiet: a.quiet, Code: a.code, Raw: a.raw, Schema: a.want != nil,
		Err:    colorprofile.NewWriter(os.Stderr, os.Environ()), // takes styles out where they do not belong
		Render: render, Width: width, Theme: theme.Terminal(),
		Demo: func(model string) bool { return providers.IsDemo(a.cfg.Config, model) },
	}
	names := a.compared(s.Model().Name)
	if len(names) < 2 {
		a.status = print.Run(s, s.Turn(ctx, parts...), cancel, o)
		return nil
	}
	if notice := a.severalNotice(names); notice != "" {
		a.note(notice)
	}
	var models []llm.Endpoint
	for i, name := range names {
		if i%a.answers > 0 {
			models = append(models, models[i-1]) // what it has to tell is told once
			continue
		}
		model, err := s.Model(), error(nil)
		if len(a.models) > 1 {
			model, err = a.open(name, true)
		}
		if err != nil {
			return a.fail(print.Config, err)
		}
		models = append(models, model)
	}
	o.Answers = a.answers
	a.status = print.Compare(s, names, s.Compare(ctx, models, parts...), cancel, o)
	return nil
}

// mostAnswers is how many answers one model can be asked for at once.
const mostAnswers = 16

// compared names the models that are asked at once, each as often as -n says. One
// is the model if there is only one; a single name: nothing is compared.
func (a *app) compared(one string) []string {
	models := a.models
	if len(models) < 2 {
		models = []string{one}
	}
	var names []string
	for _, name := range models {
		names = append(names, slices.Repeat([]string{name}, a.answers)...)
	}
	return names
}

// severalNotice tells what several answers of one model cost; "" if there is one
// of each.
func (a *app) severalNotice(names []string) string {
	if a.answers < 2 {
		return ""
	}
	return fmt.Sprintf("%d answers are %d requests, and the prompt is paid for in each", len(names), len(names))
}

// preview prints the request that would be sent.
func (a *app) preview(s *session.Session, parts []llm.Part) error {
	text, notices, err := providers.Preview(a.cfg.Config, first(a.model, s.Model().Name), providers.OpenOptions{Exact: a.exact}, func(m llm.Endpoint) llm.Request {
		s.Use(m)
		_, req := s.Request(parts...)
		return req
	})
	for _, n := range notices {
		a.tell(n)
	}
	if err != nil {
		return a.fail(print.Failed, err)
	}
	if _, err := io.WriteString(os.Stdout, safe.Text(text)); err != nil {
		return a.fail(print.Failed, fmt.Errorf("writing the request: %w", err))
	}
	return nil
}

// attach reads the files of -f.
func (a *app) attach() ([]llm.Part, error) {
	var parts []llm.Part
	for _, path := range a.files {
		item, err := attach.File(path, attach.Limits{Text: 32 << 20})
		if err != nil {
			return nil, fmt.Errorf("-f %s: %w", path, err)
		}
		if item.Note != "" {
			a.note(path + ": " + item.Note)
		}
		parts = append(parts, item.Part)
	}
	return parts, nil
}

// session opens the conversation that the flags name, or a new one. Notice is
// something the person should know at the start.
func (a *app) session(screen bool) (s *session.Session, notice string, err error) {
	var trouble error
	a.lib, trouble = a.library()
	if a.folder, err = os.Getwd(); err != nil {
		return nil, "", fmt.Errorf("the working folder: %w", err)
	}
	folder := a.folder
	doubt := a.look(screen)
	log := a.lib.Create(session.Summary{Folder: folder})
	if screen && a.resume != "" {
		a.find = a.several(a.resume)
	}
	if a.find == nil && (a.again || a.resume != "") {
		if trouble != nil {
			return nil, "", trouble
		}
		if log, err = a.kin(folder); log == nil {
			return nil, "", err
		}
		trouble = err // what of it could not be read
	}
	s, notice, err = a.build(screen, log)
	for _, more := range []error{trouble, doubt} {
		if more != nil {
			notice = joinNotices(notice, more.Error())
		}
	}
	return s, joinNotices(notice, a.nowhere(s, screen)), err
}

// joinNotices puts two notices on one line; "" is none.
func joinNotices(a, b string) string { return strings.Trim(a+" · "+b, " ·") }

// several returns the words to list conversations for if -r may mean more than
// one; nil otherwise.
func (a *app) several(resume string) *string {
	found, _ := a.lib.Find(resume) // an error is told when one is opened
	switch {
	case len(found) < 2:
		return nil
	case strings.HasPrefix(strings.ToLower(found[0].ID), strings.ToLower(resume)):
		return new(string) // lists look for words
	}
	return &resume
}

// nowhere says that the working folder is no workspace, and what that means; "" if
// it is one, or if it makes no difference.
func (a *app) nowhere(s *session.Session, screen bool) string {
	switch {
	case s == nil, a.set == nil, a.set.Nowhere() == "", s.Policy().Mode() == tools.ModeYolo:
		return ""
	case screen:
		return fmt.Sprintf("This folder %s: tools ask before they read a file here, and each time before they change one. /cd goes to a project's folder", a.set.Nowhere())
	}
	return fmt.Sprintf("This folder %s: tools read and change no files here without a person to ask. Start parley in a project's folder, or name files with --allow", a.set.Nowhere())
}

// look reads what the working folder would add, and adds it if the person trusts
// it. The error is one to be told and lived with.
func (a *app) look(screen bool) error {
	var err error
	if a.offer, err = trust.Look(a.folder); err != nil {
		return err
	}
	lib := a.lib
	if a.ephemeral { // forgets what is said, not what was decided
		if real, err := session.OpenLibrary(os.Getenv); err == nil {
			defer real.Close()
			lib = real
		}
	}
	yes, known := trust.Decided(lib, a.offer)
	switch {
	case yes && known:
		return a.adopt()
	case !known && !a.offer.Empty() && !screen:
		var names []string
		for _, f := range a.offer.Files {
			names = append(names, f.Name)
		}
		return fmt.Errorf("not used: %s; open parley here once to say whether you trust this folder", strings.Join(names, ", "))
	}
	if known {
		a.offer = trust.Offer{} // the person said no
	}
	return nil
}

// adopt takes over what a trusted folder says, where the person's own
// configuration and flags say nothing. What is wrong with its settings is told,
// and the rest of it counts all the same.
func (a *app) adopt() error {
	a.agreed = true
	for _, f := range a.offer.Of(trust.Configuration) {
		var p Project
		if err := settings.Decode(f.Text, &p); err != nil {
			return fmt.Errorf("%s:%w; a folder may set model, effort and system, and [session] history and compact", f.Name, err)
		}
		if p.Model != "" && !a.reachable(p.Model) {
			return fmt.Errorf("%s: model = %q: a folder may choose among the providers that you have set up", f.Name, p.Model)
		}
		a.folderModel = p.Model
		a.cfg.Effort = first(a.cfg.Effort, p.Effort)
		a.folderSystem = p.System
		if h := p.Session.History; h != "" && a.cfg.Session.History == session.Default().History {
			a.cfg.Session.History = h
		}
		a.cfg.Session.Compact = first(a.cfg.Session.Compact, p.Session.Compact)
	}
	return nil
}

// reachable reports whether the person has set up the provider of a model.
func (a *app) reachable(model string) bool {
	return slices.ContainsFunc(providers.Choices(a.cfg.Config, os.Getenv), func(c providers.Choice) bool {
		provider, _, _ := strings.Cut(model, "/")
		return c.Ready && c.Provider == provider
	})
}

// prompt is the system prompt: parley's own or the person's, and what a trusted
// folder adds to it.
func (a *app) prompt() string {
	text := first(a.system, a.cfg.System, session.Instructions)
	if a.agreed {
		for _, more := range []string{a.folderSystem, a.offer.Context()} {
			if more != "" {
				text += "\n\n" + more
			}
		}
	}
	return text
}

// shell runs a command that the person typed: with all of their rights, and
// neither asked about nor held.
func (a *app) shell(ctx context.Context, command string, progress func(string)) tools.Outcome {
	fail := func(err error) tools.Outcome { return tools.Outcome{Text: err.Error(), Failed: true} }
	set, err := tools.Open(a.folder)
	if err != nil {
		return fail(err)
	}
	defer set.Close()
	set.Sandbox(tools.SandboxConfig{Off: true}) // a helper still sees to it that nothing outlives parley
	input, err := json.Marshal(map[string]any{"command": command, "timeout": 600})
	if err != nil {
		return fail(err)
	}
	action, err := set.Plan(ctx, "shell", string(input))
	if err != nil {
		return fail(err)
	}
	return action.Run(ctx, progress)
}

// serve starts the MCP servers of the configuration and of a trusted folder, once,
// and does not wait for them.
func (a *app) serve() error {
	configs := maps.Clone(a.cfg.MCP)
	if configs == nil {
		configs = map[string]mcp.Config{}
	}
	project := map[string]bool{}
	if a.agreed {
		for _, f := range a.offer.Of(trust.Servers) {
			found, err := mcp.Project([]byte(f.Text))
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			for name, c := range found {
				if _, own := configs[name]; !own { // the person's own comes first
					c.Cwd = a.set.Root()
					configs[name], project[name] = c, true
				}
			}
		}
	}
	if len(configs) == 0 || a.set == nil || a.tools != "" || a.servers.Load() != nil {
		return nil // --tools names what there is
	}
	agreement := func(server string) string {
		if project[server] {
			return "mcp:" + a.offer.Folder + ":" + server // the same name elsewhere is another server
		}
		return "mcp:" + server
	}
	servers := mcp.Open(context.Background(), configs, mcp.Options{
		Dir: string(filepath.Separator), Version: version(), Confine: a.confine,
		Agreed: func(server string) string {
			seal, _ := a.lib.Get(agreement(server))
			return seal
		},
		Agree: func(server, seal string) error { return a.lib.Set(agreement(server), seal) },
		Grantable: func(server string, c mcp.Config, path string, write bool) string {
			p, err := a.serverPolicy(server, c, nil)
			if err != nil {
				return ""
			}
			return tools.Grantable(p, path, write)
		},
		Recall: func(server string) string {
			text, _ := a.lib.Get("memory of " + agreement(server))
			return text
		},
		Keep: func(server, memory string) error { return a.lib.Set("memory of "+agreement(server), memory) },
		Changed: func(server string) {
			a.take()
			if f := a.watch.Load(); f != nil {
				(*f)(server)
			}
		},
	})
	a.servers.Store(servers)
	a.take() // what was ready before it could be found
	return nil
}

// take offers the tools of the servers to the next turn. Names that do not fit
// are the servers' state to tell.
func (a *app) take() {
	if servers := a.servers.Load(); servers != nil {
		_ = a.set.Replace("mcp__", servers.Tools())
	}
}

// confine makes a server's command, held by the sandbox.
func (a *app) confine(server string, c mcp.Config, argv, env []string) (*exec.Cmd, func(), error) {
	backend := a.serverBackend()
	switch {
	case c.Free:
		return nil, nil, nil
	case !backend.OK() && a.cfg.Sandbox.Required:
		return nil, nil, fmt.Errorf("sandbox.required is set, and there is no sandbox: %s", backend.Why)
	case !backend.OK():
		return nil, nil, nil
	}
	p, err := a.serverPolicy(server, c, env)
	if err != nil {
		return nil, nil, err
	}
	return sandbox.Command(p, argv...)
}

// serverBackend is what holds the programs of servers: also where no command can be
// held, as the folder is no workspace.
func (a *app) serverBackend() sandbox.Backend {
	if a.set.Nowhere() != "" && !a.cfg.Sandbox.Off {
		return sandbox.Probe()
	}
	return a.held
}

// serverPolicy is what the program of a server may do.
func (a *app) serverPolicy(server string, c mcp.Config, env []string) (sandbox.Policy, error) {
	key := server + "\x00" + c.Command + "\x00" + strings.Join(c.Args, "\x00")
	p, err := a.set.ServerPolicy(key, c.Network, env, func(name string) bool {
		_, own := c.Env[name]
		return own
	})
	p.Read, p.Write = append(p.Read, tools.Expand(c.Read)...), append(p.Write, tools.Expand(c.Write)...)
	return p, err
}

// await waits for the servers where nobody can see them start.
func (a *app) await() {
	servers := a.servers.Load()
	if servers == nil {
		return
	}
	for _, s := range servers.State() {
		if s.Status == mcp.Starting && s.First {
			a.note(fmt.Sprintf("MCP server %s starts for the first time and may be downloaded: up to 60 s", s.Name))
		}
	}
	servers.Wait(context.Background())
	a.take()
	for _, s := range servers.State() {
		switch s.Status {
		case mcp.New, mcp.Changed:
			a.note(fmt.Sprintf("the tools of MCP server %s are %s: open parley here once to look at them, or set trusted = true for it", s.Name, s.Status))
		case mcp.Failed:
			a.note(fmt.Sprintf("MCP server %s: %s", s.Name, s.Why))
			if s.Refused.String() != "" {
				a.note("open parley here once: /mcp shows what it was refused, and can allow it")
			}
		}
	}
}

// unserve ends the servers and everything they started.
func (a *app) unserve() {
	if servers := a.servers.Load(); servers != nil {
		servers.Close()
	}
}

// facts is what every request holds, for the person to look at.
func (a *app) facts(set *tools.Set) []ui.Fact {
	own := first(a.system, a.cfg.System, session.Instructions)
	facts := []ui.Fact{{Name: "system prompt", Tokens: catalog.Estimate(own)}}
	if a.agreed {
		for _, f := range a.offer.Of(trust.Instructions) {
			facts = append(facts, ui.Fact{Name: f.Name, Tokens: catalog.Estimate(f.Text), Note: f.Note})
		}
	}
	if set != nil {
		for _, t := range set.Tools() {
			facts = append(facts, ui.Fact{Name: "tool " + t.Name, Tokens: catalog.Estimate(t.Description) + catalog.Estimate(string(t.Schema))})
		}
	}
	return facts
}

// kin opens the conversation of -c or -r.
func (a *app) kin(folder string) (*session.Log, error) {
	about, err := a.named(folder)
	if err != nil {
		return nil, err
	}
	if a.fork {
		return a.lib.Fork(about.ID, 0)
	}
	log, err := a.lib.Resume(about.ID)
	var held *session.HeldError
	if errors.As(err, &held) {
		return nil, usage(fmt.Errorf("%q is open in %s: add --fork to go on in a copy", print.Titled(about), held.By))
	}
	return log, err
}

// named finds what -c or -r means.
func (a *app) named(folder string) (session.Summary, error) {
	if a.resume != "" {
		return print.Find(a.lib, a.resume)
	}
	found, err := a.lib.List(session.Query{Folder: folder})
	if err != nil && len(found) == 0 {
		return session.Summary{}, err
	}
	var own []session.Summary
	for _, f := range found { // those that were brought in say themselves where and when they were held
		if f.Folder == folder && (f.Origin == "" || strings.HasPrefix(f.Origin, "fork ")) {
			own = append(own, f)
		}
	}
	if len(own) > 0 {
		return slices.MaxFunc(own, func(x, y session.Summary) int { return x.Updated.Compare(y.Updated) }), nil
	}
	return session.Summary{}, usage(errors.New("-c: no conversation was held in this folder: -r goes on with another one, parley sessions list shows them"))
}

// library opens what is kept. The error says why nothing can be; what is said
// then stays in memory.
func (a *app) library() (*session.Library, error) {
	if a.ephemeral && !a.fork {
		return session.Ephemeral(), nil
	}
	return session.OpenLibrary(os.Getenv)
}

// leave ends a session, and says what of it could not be kept.
func (a *app) leave(s *session.Session) {
	if err := s.Close(); err != nil {
		a.note("this conversation could not be saved: " + err.Error())
	}
}

// close ends the library.
func (a *app) close() {
	if a.lib == nil {
		return
	}
	if err := a.lib.Close(); err != nil {
		a.note("what was said could not be kept: " + err.Error())
	}
}

// build wires models, tools and policy together around a conversation. Notice
// says what is not as it was, or not as one might expect.
func (a *app) build(screen bool, log *session.Log) (s *session.Session, notice string, err error) {
	kept := log.Session()
	recorded := ""
	if a.played != nil {
		recorded = a.played.Model()
	}
	name := first(a.model, recorded, kept.Model, a.cfg.Model, a.folderModel)
	if name == "" && screen {
		name = a.lastModel()
	}
	if name == "" {
		name = providers.DefaultModel(a.cfg.Config, os.Getenv)
		if providers.IsDemo(a.cfg.Config, name) {
			why := providers.Unusable(a.cfg.Config, os.Getenv)
			if why != "" && !screen {
				return nil, "", errors.Join(&llm.Error{Fault: llm.Authentication, Message: why + ". The built-in demo answers with -m " + name}, log.Close())
			}
			if notice = demoNotice; why != "" {
				notice = why + ". The built-in demo model answers, offline."
			}
		}
	}
	open := func(name string) (llm.Endpoint, error) { return a.open(name, !screen) }
	model, err := open(name)
	if err != nil && a.model != "" && !strings.Contains(name, "/") {
		if only := a.onlyModel(name); only != "" {
			model, err = open(only)
		}
	}
	if err != nil && a.model == "" && kept.Model != "" { // an old conversation is to be read all the same
		other := first(a.cfg.Model, providers.DefaultModel(a.cfg.Config, os.Getenv))
		notice = fmt.Sprintf("%s cannot be asked now: %v. %s answers", kept.Model, err, other)
		model, err = open(other)
	}
	if err != nil {
		return nil, "", errors.Join(err, log.Close())
	}
	if a.set == nil {
		if a.set, err = offered(a.folder, a.tools); err != nil {
			return nil, "", err
		}
		if a.set != nil {
			if file, err := filepath.Abs(a.file); err == nil && a.file != "" {
				a.set.Protect(file)
			}
			a.held = a.set.Sandbox(a.cfg.Sandbox)
		}
	}
	policy, err := a.policy()
	if err != nil {
		return nil, "", err
	}
	return session.New(session.Options{
		Model: model, Effort: llm.Effort(first(a.effort, string(kept.Effort), string(a.cfg.Effort))), System: a.prompt(),
		Tools: a.set, Policy: policy, MaxSteps: first(a.maxTurns, a.cfg.MaxTurns), MaxCost: first(a.maxCost, a.cfg.MaxCost),
		Fallback: append(slices.Clone(a.fallback), a.cfg.Fallback...), Open: open, Answer: a.want,
		Log: log, Estimate: catalog.Estimate, Config: a.cfg.Session,
	}), notice, nil
}

// onlyModel asks the server of a provider for its models, and returns the one
// there is as provider/model; "" for none or several, of which none may be
// guessed.
func (a *app) onlyModel(provider string) string {
	ids, err := providers.List(context.Background(), a.cfg.Config, provider)
	if err != nil || len(ids) != 1 {
		return ""
	}
	return provider + "/" + ids[0]
}

// lastModel is what was picked on the screen last, if it can be asked now.
func (a *app) lastModel() string {
	models, err := a.lib.Get("models")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(models, "\n")
	if _, err := a.open(name, false); name == "" || err != nil {
		return ""
	}
	return name
}

// shelf is what the commands about stored conversations work with.
func (a *app) shelf() print.Shelf {
	width, _, _ := term.GetSize(os.Stdout.Fd())
	return print.Shelf{
		Open: func() (*session.Library, error) {
			lib, err := session.OpenLibrary(os.Getenv)
			if err != nil {
				return nil, err
			}
			return lib, nil
		},
		Out: os.Stdout, Note: a.note, Render: term.IsTerminal(os.Stdout.Fd()), Width: width, Now: time.Now,
		Mask: a.maskKeys,
	}
}

// maskKeys takes the keys that are configured out of text.
func (a *app) maskKeys() func(string) string {
	err := a.load()
	mask, missed := a.cfg.MaskKeys(context.Background(), os.Getenv)
	if err = errors.Join(err, missed); err != nil {
		a.note("Not all configured keys are masked: " + err.Error())
	}
	return mask
}

// kept gives the errors of a command and of those below it their status.
func (a *app) kept(cmd *cobra.Command) *cobra.Command {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil {
				return a.fail(print.Failed, err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		a.kept(sub)
	}
	return cmd
}

// demoNotice is shown where the demo answers because nothing else was set up.
const demoNotice = "No API key found – the built-in offline demo answers. Ask it: how do I add a key?"

// open opens a model. Unattended, for print mode, takes the pauses out of the
// demo's speech and does not wait long for a silent model.
func (a *app) open(name string, unattended bool) (llm.Endpoint, error) {
	o := a.options()
	o.Instant, o.Attended = unattended, !unattended
	return providers.Open(a.cfg.Config, name, o)
}

// remembered is what servers refused, in this run and in those before it. What is
// recorded or replayed begins anew: a recording has to hold every refusal.
func (a *app) remembered() *providers.Memory {
	a.remember.Do(func() {
		path := providers.LearnedPath(os.Getenv)
		if a.record != "" || a.replay != "" {
			path = ""
		}
		a.memory = providers.OpenMemory(path, a.ephemeral)
	})
	return a.memory
}

func (a *app) options() providers.OpenOptions {
	return providers.OpenOptions{Memory: a.remembered(), Debug: a.log, Tap: a.tap, Replay: a.played, Exact: a.exact}
}

// backendLine says what holds commands here.
func backendLine(c tools.SandboxConfig) string {
	if c.Off {
		return "off, by the configuration"
	}
	b := sandbox.Probe()
	if !b.OK() {
		return "none: " + b.Why
	}
	return strings.Join(append([]string{b.Name}, b.Details...), "; ")
}

// doctorCommand checks every provider.
func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check every provider: key, address, models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			var rows []print.Checkup
			for _, h := range providers.Check(cmd.Context(), a.cfg.Config, a.options()) {
				rows = append(rows, print.Checkup{
					Provider: h.Provider, Where: h.URL, Key: h.Key, Took: h.Latency, Models: h.Models, Model: h.Model,
					Tools: h.Tools, Version: h.Version, OK: h.OK(), Error: h.Error, Hint: h.Hint, JSON: h,
				})
				if !h.OK() {
					a.status = print.Failed
				}
			}
			if err := print.Doctor(os.Stdout, rows, asJSON); err != nil {
				return a.fail(print.Failed, err)
			}
			if !asJSON {
				fmt.Println("sandbox: " + safe.Line(backendLine(a.cfg.Sandbox)))
			}
			if len(rows) == 0 {
				a.note("no provider has a key or is configured: only the built-in demo can answer")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

// first returns the first value that is set.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// offered opens the tools that --tools names; nil for none.
func offered(root, names string) (*tools.Set, error) {
	if names == "none" {
		return nil, nil
	}
	set, err := tools.Open(root)
	if err != nil || names == "" {
		return set, err
	}
	only, err := set.Only(strings.Split(names, ",")...)
	if err != nil {
		return nil, usage(fmt.Errorf("--tools %s: %w", names, err))
	}
	return only, nil
}

func (a *app) policy() (*tools.Policy, error) {
	mode := first(a.cfg.Mode, tools.ModeAsk)
	if a.yolo {
		mode = tools.ModeYolo
	}
	policy := tools.NewPolicy(mode)
	folder, err := filepath.EvalSymlinks(a.folder)
	if err != nil {
		return nil, fmt.Errorf("the working folder: %w", err)
	}
	policy.SetFolder(folder)
	own, err := a.cfg.Permissions.Rules()
	if err != nil {
		return nil, err
	}
	kept, _ := a.keptRules() // nothing is allowed by what cannot be read
	policy.Load(append(own, kept...))
	policy.OnChange(func(now []rules.Rule) { kept = a.keepRules(kept, now) })
	for _, rule := range a.allow {
		if err := policy.Grant(rule); err != nil {
			return nil, usage(fmt.Errorf("--allow %s: %w", rule, err))
		}
	}
	return policy, nil
}

// keptRules are the answers "always" that were given before.
func (a *app) keptRules() ([]rules.Rule, error) {
	text, err := a.lib.Get("rules")
	if err != nil {
		return nil, err
	}
	return rules.Unmarshal(text)
}

// keepRules writes what changed from before to now into what is kept, which
// another parley may have changed too.
func (a *app) keepRules(before, now []rules.Rule) []rules.Rule {
	kept, err := a.keptRules()
	if err != nil {
		return before // what is there is not to be written over
	}
	kept = slices.DeleteFunc(kept, func(r rules.Rule) bool { return slices.Contains(before, r) && !slices.Contains(now, r) })
	for _, r := range now {
		if !slices.Contains(kept, r) && !slices.Contains(before, r) {
			kept = append(kept, r)
		}
	}
	text, err := rules.Marshal(kept)
	if err == nil {
		err = a.lib.Set("rules", text)
	}
	if err != nil {
		return before // it is tried again with the next change
	}
	return slices.Clone(now)
}

// short is a path as a person calls it.
func short(dir string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if rest, ok := strings.CutPrefix(dir, home+string(filepath.Separator)); ok {
			return filepath.Join("~", rest)
		}
	}
	return dir
}

// choices lists the models for the picker.
func choices(found []providers.Choice) []ui.Choice {
	var out []ui.Choice
	for _, c := range found {
		r := row(c)
		in, price := r.Prices()
		out = append(out, ui.Choice{
			Name: c.Name, Title: c.Title, Abilities: r.Abilities(), Window: r.Window(), Input: in, Output: price,
			Ready: c.Ready, Why: c.Why, Retired: c.Deprecated,
		})
	}
	return out
}

// silent are servers that did not say which models they have, as rows that say so.
func silent(err error) []ui.Choice {
	var rows []ui.Choice
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			rows = append(rows, silent(err)...)
		}
		return rows
	}
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Provider != "" {
		why := map[llm.Fault]string{llm.Network: "server does not answer", llm.Authentication: "key refused"}[e.Fault]
		rows = append(rows, ui.Choice{Name: e.Provider + "/", Why: first(why, e.Error())})
	}
	return rows
}

func row(c providers.Choice) print.Model {
	return print.Model{
		Name: c.Name, Title: c.Title, Ready: c.Ready, Why: c.Why, Context: c.Context, Price: c.Price,
		Vision: c.Vision, Tools: c.Tools, Thinks: c.Thinks, Deprecated: c.Deprecated,
	}
}

// modelsCommand lists what can be asked.
func (a *app) modelsCommand() *cobra.Command {
	var all, asJSON, refresh bool
	cmd := &cobra.Command{
		Use:   "models [WORD...]",
		Short: "List the models that can be asked",
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			var rows []print.Model
			for _, c := range a.listed(cmd.Context(), refresh) {
				rows = append(rows, row(c))
			}
			if err := print.Models(os.Stdout, rows, words, all, asJSON, a.note); err != nil {
				return a.fail(print.Failed, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that lack a key")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "ask the servers what they have")
	return cmd
}

// listed is what can be picked. The models of local servers only they know:
// those are asked, as all are with refresh.
func (a *app) listed(ctx context.Context, refresh bool) []providers.Choice {
	choices, err := providers.Live(ctx, a.cfg.Config, a.options(), refresh)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			a.note(strings.TrimSpace(line))
		}
	}
	return choices
}

func (a *app) completeModel(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if a.load() == nil {
		for _, c := range providers.Choices(a.cfg.Config, os.Getenv) {
			if c.Ready && !c.Deprecated {
				names = append(names, c.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// sandboxCommand runs a command as the shell tool would.
func (a *app) sandboxCommand() *cobra.Command {
	var network bool
	cmd := &cobra.Command{
		Use: "sandbox -- COMMAND [ARG...]", Short: "Run a command as the shell tool does: held by the sandbox",
		Args: func(_ *cobra.Command, argv []string) error {
			if len(argv) == 0 {
				return errors.New("which command? As in parley sandbox -- ls -la")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, argv []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			folder, err := os.Getwd()
			if err != nil {
				return a.fail(print.Failed, err)
			}
			set, err := tools.Open(folder)
			if err != nil {
				return a.fail(print.Failed, err)
			}
			defer set.Close()
			if backend := set.Sandbox(a.cfg.Sandbox); !backend.OK() {
				return a.fail(print.Failed, fmt.Errorf("there is no sandbox: %s", backend.Why))
			}
			held, cleanup, err := sandbox.Command(set.SandboxPolicy(network), argv...)
			if errors.Is(err, exec.ErrNotFound) {
				return a.fail(127, fmt.Errorf("%s is not on PATH", argv[0])) // as shells say it
			}
			if err != nil {
				return a.fail(print.Failed, err)
			}
			defer cleanup()
			held.Stdin, held.Stdout, held.Stderr = os.Stdin, os.Stdout, os.Stderr
			err = held.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				a.status = exit.ExitCode()
				return nil
			}
			if err != nil {
				return a.fail(print.Failed, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&network, "network", false, "let it reach the network")
	return cmd
}

// keysCommand shows what the terminal sends.
func (a *app) keysCommand() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use: "keys", Short: "Show what the terminal sends for each key, and what it does", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			if !list {
				if err := ui.ShowKeys(os.Stdin, os.Stdout, a.cfg.Keys, os.Getenv); err != nil {
					return a.fail(print.Usage, err)
				}
				return nil
			}
			rows, err := ui.Bound(a.cfg.Keys)
			if err != nil {
				return a.fail(print.Config, err)
			}
			for _, r := range rows {
				fmt.Printf("%-18s %s\n", r[0], r[1])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "the actions and their keys, for [keys] in the configuration")
	return cmd
}

// versionCommand does what --version does.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(os.Stdout, "%s version %s\n", cmd.Root().Name(), cmd.Root().Version)
			return err
		},
	}
}

// manCommand prints the manual page.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mango.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			_, err = io.WriteString(os.Stdout, page.Build(roff.NewDocument()))
			return err
		},
	}
}

// load opens the log and reads the configuration: the usual file if it is there,
// or the one that --config names, which must be.
func (a *app) load() error {
	if a.debug != "" && a.log == nil {
		if info, err := os.Stat(a.debug); err == nil && !info.Mode().IsRegular() {
			return usage(fmt.Errorf("--debug: %s is not a regular file", a.debug))
		}
		f, err := os.OpenFile(a.debug, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			err = f.Chmod(0o600) // it may be of before
		}
		if err != nil {
			return usage(fmt.Errorf("--debug: %w", err))
		}
		a.log = slog.New(slog.NewJSONHandler(f, nil))
	}
	a.cfg = Config{Config: providers.Default(), UI: ui.Default(), Session: session.Default()}
	path := a.config
	if path == "" {
		dir, err := os.UserConfigDir()
		if xdg := os.Getenv("XDG_CONFIG_HOME"); xdg != "" {
			dir, err = xdg, nil
		}
		if err != nil {
			return nil // no home, no configuration
		}
		path = filepath.Join(dir, "parley", "config.toml")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	a.file = path
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("configuration %s is not a regular file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if err := settings.Decode(string(text), &a.cfg); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	for _, p := range a.cfg.Providers {
		if p.APIKey != "" && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			a.note(fmt.Sprintf("%s holds a key and can be read by others (mode %04o): chmod 600 %[1]s", path, info.Mode().Perm()))
			break
		}
	}
	return nil
}
