// Parley is a chat client for language models that lives in the terminal.
//
// This file is the root: it reads flags and configuration, hands each part of
// them to its owner, wires models, tools and a session together, chooses
// between the two front ends (ui for a person at a terminal, ui/print for
// pipes), and turns whatever happens into an exit status. Nothing imports it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"charm.land/fang/v2"
	"github.com/BurntSushi/toml"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui"
	"parley/ui/print"
	"parley/ui/theme"
)

func main() { os.Exit(run()) }

// run is main with an exit status.
func run() int {
	a := &app{}
	root := a.command()
	err := fang.Execute(context.Background(), root,
		fang.WithVersion(version()),
		fang.WithErrorHandler(func(w io.Writer, _ fang.Styles, err error) { report(w, err) }),
	)
	if err != nil && a.status == print.OK {
		return print.Usage
	}
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

// report writes an error and its hint.
func report(w io.Writer, err error) {
	fmt.Fprintf(w, "parley: %v\n", err)
	var hinted *llm.Error
	if errors.As(err, &hinted) {
		fmt.Fprintf(w, "  %s\n", llm.Hint(err))
	}
}

// Config is config.toml. Each field belongs to the package that acts on it.
type Config struct {
	Model    string     `toml:"model"`
	Fallback []string   `toml:"fallback"`
	Effort   llm.Effort `toml:"effort"`
	System   string     `toml:"system"`
	Mode     tools.Mode `toml:"mode"`
	MaxTurns int        `toml:"max_turns"`
	MaxCost  float64    `toml:"max_cost"`
	UI       ui.Config  `toml:"ui"`
	providers.Config
}

// Validate names the first value that cannot be meant.
func (c *Config) Validate() error {
	if c.Effort != "" && !slices.Contains(llm.Efforts, c.Effort) {
		return fmt.Errorf("effort = %q: there are %v", c.Effort, llm.Efforts)
	}
	if modes := append(slices.Clone(tools.Modes), tools.ModeYolo); c.Mode != "" && !slices.Contains(modes, c.Mode) {
		return fmt.Errorf("mode = %q: there are %v", c.Mode, modes)
	}
	if c.MaxTurns < 0 || c.MaxCost < 0 {
		return errors.New("max_turns and max_cost cannot be negative; 0 is no limit of one's own")
	}
	if err := c.UI.Validate(); err != nil {
		return err
	}
	return c.Config.Validate()
}

// app holds the flags of one run.
type app struct {
	config, model, effort, system, output, tools string
	fallback, files, allow                       []string
	print, interactive, quiet, yolo, code, raw   bool
	render, dryRun, ephemeral                    bool
	maxTurns                                     int
	maxCost                                      float64
	timeout                                      time.Duration

	status int
	cfg    Config
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley [PROMPT]",
		Short: "Chat with language models in the terminal",
		Long: `Chat with language models in the terminal.

Without a prompt parley opens its screen. With -p, a pipe on standard input, or
standard output that is no terminal, it prints the answer and exits.`,
		Example: `parley
parley "explain this repository"
git diff | parley -p "write a commit message"
parley -m openai/gpt-6.1-sol -o jsonl "hello" | jq .`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error { return a.chat(words) },
	}
	f := root.Flags()
	f.StringVarP(&a.model, "model", "m", "", "model to ask, as provider/model")
	f.StringSliceVar(&a.fallback, "fallback", nil, "models to go on with when one is out of order")
	f.StringVar(&a.effort, "effort", "", "how much to think: off, minimal, low, medium, high, max")
	f.StringVarP(&a.system, "system", "s", "", "system prompt in place of parley's own")
	f.StringArrayVarP(&a.files, "file", "f", nil, "attach a file")
	f.BoolVarP(&a.print, "print", "p", false, "print the answer and exit")
	f.BoolVarP(&a.interactive, "interactive", "i", false, "open the screen although standard input is a pipe")
	f.StringVarP(&a.output, "output", "o", "text", "what to print: text, json, jsonl")
	f.BoolVarP(&a.code, "code", "x", false, "print the first code block of the answer only")
	f.BoolVar(&a.raw, "raw", false, "print the answer as it came, control characters included")
	f.BoolVar(&a.render, "render", false, "render Markdown although standard output is no terminal")
	f.StringVar(&a.tools, "tools", "", "tools to offer: none, or a list such as read,grep")
	f.StringArrayVar(&a.allow, "allow", nil, `let a tool run without asking: "edit", "shell:go test ./..."`)
	f.BoolVar(&a.yolo, "yolo", false, "let every tool run without asking")
	f.IntVar(&a.maxTurns, "max-turns", 0, "requests the model may make for one prompt")
	f.Float64Var(&a.maxCost, "max-cost", 0, "US dollars to spend at most")
	f.DurationVar(&a.timeout, "timeout", 0, "time for the whole answer, such as 90s")
	f.BoolVar(&a.dryRun, "dry-run", false, "print the request that would be sent, and send nothing")
	f.BoolVar(&a.ephemeral, "ephemeral", false, "keep nothing of this conversation")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "nothing but errors on standard error")
	root.PersistentFlags().StringVar(&a.config, "config", "", "configuration file in place of the usual one")
	root.AddCommand(a.modelsCommand())
	return root
}

// chat opens the screen or prints an answer.
func (a *app) chat(words []string) error {
	if err := a.load(); err != nil {
		return a.fail(print.Config, err)
	}
	if !slices.Contains([]string{"text", "json", "jsonl"}, a.output) {
		return a.fail(print.Usage, fmt.Errorf("-o %s: there are text, json and jsonl", a.output))
	}
	inTerminal, outTerminal := term.IsTerminal(os.Stdin.Fd()), term.IsTerminal(os.Stdout.Fd())
	if a.print || a.dryRun || a.output != "text" || !outTerminal || !inTerminal && !a.interactive {
		return a.printAnswer(words, inTerminal, outTerminal)
	}
	s, notice, err := a.session(true)
	if err != nil {
		return a.fail(print.Config, err)
	}
	parts, err := a.attach(words)
	if err != nil {
		return a.fail(print.Usage, err)
	}
	a.status = ui.Run(ui.Options{
		Session: s, Config: a.cfg.UI, Prompt: parts, Notice: notice, Workspace: workspace(),
		Open: func(name string) (llm.Endpoint, error) {
			return providers.Open(a.cfg.Config, name, providers.OpenOptions{})
		},
		Choices: a.choices,
	})
	return nil
}

// workspace is the working folder as a person calls it.
func workspace() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if home, err := os.UserHomeDir(); err == nil {
		if rest, ok := strings.CutPrefix(dir, home+string(filepath.Separator)); ok {
			return filepath.Join("~", rest)
		}
	}
	return dir
}

// fail reports err and keeps the status to exit with.
func (a *app) fail(status int, err error) error {
	if llm.FaultOf(err) == llm.Authentication {
		status = print.Config
	}
	a.status = status
	return err
}

func (a *app) printAnswer(words []string, inTerminal, outTerminal bool) error {
	var stdin []byte
	if !inTerminal {
		note := func(text string) {
			if !a.quiet {
				fmt.Fprintln(os.Stderr, "parley: "+text)
			}
		}
		var err error
		if stdin, err = print.ReadStdin(os.Stdin, len(words) > 0 || len(a.files) > 0, note); err != nil {
			return a.fail(print.Usage, err)
		}
	}
	attached, err := a.attach(nil)
	if err != nil {
		return a.fail(print.Usage, err)
	}
	parts, err := print.Prompt(words, stdin)
	if err != nil && len(attached) == 0 {
		return a.fail(print.Usage, err)
	}
	parts = append(attached, parts...)

	s, _, err := a.session(false)
	if err != nil {
		return a.fail(print.Config, err)
	}
	if a.dryRun {
		return a.show(s, parts)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go watch(cancel)
	if a.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, a.timeout, print.ErrTimeout)
		defer stop()
	}
	width, _, _ := term.GetSize(os.Stdout.Fd())
	render := (a.render || outTerminal) && !a.raw && !a.code && a.output == "text"
	var out io.Writer = os.Stdout
	if render {
		out = colorprofile.NewWriter(os.Stdout, os.Environ())
	}
	a.status = print.Run(s, s.Turn(ctx, parts...), cancel, print.Options{
		Format: a.output, Out: out, Quiet: a.quiet, Code: a.code, Raw: a.raw,
		Err:    colorprofile.NewWriter(os.Stderr, os.Environ()), // takes styles out where they do not belong
		Render: render, Width: max(width, 0), Theme: theme.Terminal(),
	})
	return nil
}

// watch cancels on a signal or when the reader of standard output leaves; a
// second signal ends the program at once.
func watch(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE) // writes report it instead
	left := print.Left(os.Stdout)
	for n := 0; ; {
		select {
		case <-left:
			cancel(print.ErrPipe)
			left = nil
		case s := <-signals:
			sig, _ := s.(syscall.Signal)
			if n++; n > 1 {
				os.Exit(128 + int(sig))
			}
			cancel(print.Interrupted{Signal: sig})
		}
	}
}

// attach reads the files of -f and joins words to a prompt.
func (a *app) attach(words []string) ([]llm.Part, error) {
	var parts []llm.Part
	for _, path := range a.files {
		part, err := print.File(path)
		if err != nil {
			return nil, fmt.Errorf("-f %s: %w", path, err)
		}
		parts = append(parts, part)
	}
	if prompt := strings.TrimSpace(strings.Join(words, " ")); prompt != "" {
		parts = append(parts, llm.Part{Kind: llm.Text, Text: prompt})
	}
	return parts, nil
}

// session wires models, tools and policy together. Notice is something the
// person should know at the start.
func (a *app) session(screen bool) (s *session.Session, notice string, err error) {
	name := a.model
	if name == "" {
		name = a.cfg.Model
	}
	if name == "" {
		name = providers.DefaultModel(a.cfg.Config, os.Getenv)
	}
	open := func(name string) (llm.Endpoint, error) { return a.open(name, !screen) }
	model, err := open(name)
	if err != nil {
		return nil, "", err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, "", fmt.Errorf("the working folder: %w", err)
	}
	set, err := offered(root, a.tools)
	if err != nil {
		return nil, "", err
	}
	policy, err := a.policy()
	if err != nil {
		return nil, "", err
	}
	effort := llm.Effort(first(a.effort, string(a.cfg.Effort)))
	if effort != "" && !slices.Contains(llm.Efforts, effort) {
		return nil, "", fmt.Errorf("--effort %s: there are %v", effort, llm.Efforts)
	}
	if strings.HasPrefix(model.Name, "demo/") {
		notice = "no key is set: this is the built-in demo model, which works offline. Ask it how to add a provider."
	}
	return session.New(session.Options{
		Model: model, Effort: effort, System: first(a.system, a.cfg.System, session.Instructions),
		Tools: set, Policy: policy, MaxSteps: first(a.maxTurns, a.cfg.MaxTurns), MaxCost: first(a.maxCost, a.cfg.MaxCost),
		Fallback: append(slices.Clone(a.fallback), a.cfg.Fallback...), Open: open,
	}), notice, nil
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
	return set.Only(strings.Split(names, ",")...)
}

func (a *app) policy() (*tools.Policy, error) {
	mode := first(a.cfg.Mode, tools.ModeAsk)
	if a.yolo {
		mode = tools.ModeYolo
	}
	policy := tools.NewPolicy(mode)
	for _, rule := range a.allow {
		if err := policy.Grant(rule); err != nil {
			return nil, fmt.Errorf("--allow %s: %w", rule, err)
		}
	}
	return policy, nil
}

// open opens a model. Instant takes the pauses out of the demo's speech.
func (a *app) open(name string, instant bool) (llm.Endpoint, error) {
	return providers.Open(a.cfg.Config, name, providers.OpenOptions{Instant: instant})
}

// show prints the request that would be sent.
func (a *app) show(s *session.Session, parts []llm.Part) error {
	text, err := providers.Preview(a.cfg.Config, s.Model().Name, providers.OpenOptions{}, func(m llm.Endpoint) llm.Request {
		s.Use(m)
		_, req := s.Request(parts...)
		return req
	})
	if err != nil {
		return a.fail(print.Failed, err)
	}
	fmt.Print(text)
	return nil
}

// choices lists the models for the picker.
func (a *app) choices() []ui.Choice {
	var choices []ui.Choice
	for _, c := range providers.Choices(a.cfg.Config, os.Getenv) {
		if !c.Deprecated {
			choices = append(choices, ui.Choice{Name: c.Name, Detail: detail(c), Ready: c.Ready})
		}
	}
	return choices
}

// detail says in a few words what a model is, or what it lacks.
func detail(c providers.Choice) string {
	if !c.Ready {
		return c.Why
	}
	var words []string
	if c.Context > 0 {
		words = append(words, tokens(c.Context))
	}
	if p := c.Price; p.Free {
		words = append(words, "free")
	} else if p.Known() {
		words = append(words, fmt.Sprintf("$%g/$%g", p.Input, p.Output))
	}
	for word, has := range map[string]bool{"no tools": !c.Tools, "vision": c.Vision, "thinks": c.Thinks} {
		if has {
			words = append(words, word)
		}
	}
	slices.Sort(words[min(len(words), 2):])
	return strings.Join(words, " · ")
}

// tokens writes a number of tokens as people do: 128K, 1.05M.
func tokens(n int) string {
	if n >= 1_000_000 {
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 32) + "M"
	}
	return strconv.Itoa(n/1000) + "K"
}

// modelsCommand lists what can be asked.
func (a *app) modelsCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "models [WORD...]",
		Short: "List the models that can be asked",
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			return a.listModels(words, all, asJSON)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that lack a key")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

func (a *app) listModels(words []string, all, asJSON bool) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	hidden := 0
	for _, c := range providers.Choices(a.cfg.Config, os.Getenv) {
		matches := !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(strings.ToLower(c.Name), strings.ToLower(word)) })
		switch {
		case !matches:
		case !c.Ready && !all:
			hidden++
		case asJSON:
			json.NewEncoder(os.Stdout).Encode(map[string]any{
				"name": c.Name, "title": c.Title, "ready": c.Ready, "why": c.Why, "context": c.Context,
				"vision": c.Vision, "tools": c.Tools, "thinks": c.Thinks, "deprecated": c.Deprecated,
			})
		default:
			fmt.Fprintf(w, "%s\t%s\n", c.Name, detail(c))
		}
	}
	if err := w.Flush(); err != nil {
		return a.fail(print.Failed, err)
	}
	if hidden > 0 && !asJSON {
		fmt.Fprintf(os.Stderr, "%d more lack a key: parley models --all says which\n", hidden)
	}
	return nil
}

// load reads the configuration: the usual file if it is there, or the one that
// --config names, which must be.
func (a *app) load() error {
	a.cfg = Config{Config: providers.Default(), UI: ui.Default()}
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
	if err := decode(string(text), &a.cfg); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	return nil
}

// decode reads TOML strictly. Errors begin with the line, and unknown keys come
// with the nearest known one.
func decode(text string, cfg *Config) error {
	text = strings.TrimPrefix(text, "\ufeff")
	meta, err := toml.Decode(text, cfg)
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%d:%d: %s", parse.Position.Line, parse.Position.Col, parse.Message)
	}
	if err != nil {
		return fmt.Errorf(" %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	for _, key := range meta.Undecoded() {
		known := keysAt(reflect.TypeOf(*cfg), key[:len(key)-1])
		if known == nil {
			continue // inside a table that is itself unknown
		}
		name := key[len(key)-1]
		problem := fmt.Sprintf("%d: unknown key %q", lineOf(text, key), key.String())
		if near := catalog.Near(name, known, 1); len(near) > 0 {
			return fmt.Errorf("%s: did you mean %q?", problem, near[0])
		}
		return fmt.Errorf("%s: there are %s", problem, strings.Join(known, ", "))
	}
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf(" %w", err)
	}
	return nil
}

// keysAt lists the keys that the table at path may hold; nil if there is no
// such table.
func keysAt(t reflect.Type, path []string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(path) > 0 && t.Kind() == reflect.Map {
		return keysAt(t.Elem(), path[1:])
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("toml")
		if tag == "" || tag == "-" {
			continue
		}
		if len(path) > 0 && tag == path[0] {
			return keysAt(f.Type, path[1:])
		}
		keys = append(keys, tag)
	}
	if len(path) > 0 {
		return nil
	}
	return keys
}

// lineOf finds the line of key, which the decoder does not tell.
func lineOf(text string, key toml.Key) int {
	table := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line, "[] ")
			if table == key.String() {
				return i + 1
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if full := strings.Trim(table+"."+strings.TrimSpace(name), "."); ok && full == key.String() {
			return i + 1
		}
	}
	return 1
}
