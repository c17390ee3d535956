// Package prompts implements parley prompts, which lists and creates prompt files.
package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/session/prompts"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// options configure the command.
type options struct {
	*cmdutil.Streams
	with       func(func() error) error // runs a function with the prompts of the working directory, if it is trusted
	files      app.PromptFiles
	abbrevPath func(string) string
}

// Command returns the command with its subcommands. With runs a function with the prompts of the working directory, if
// it is trusted.
func (f Files) Command(streams *cmdutil.Streams, with func(func() error) error, files app.PromptFiles, abbrevPath func(string) string) *cobra.Command {
	c := options{streams, with, files, abbrevPath}
	var persona bool
	root := &cobra.Command{
		Use: "prompts", Short: "List, show, edit and import prompt files, which /NAME and -P NAME send",
		Long: `List, show, edit and import prompt files, which /NAME and -P NAME send.

Prompt files are Markdown files in the folder prompts beside config.toml and, in
folders you trust, in .parley/prompts. Commands of Claude Code, opencode, codex and
gemini-cli are read where those programs store them.`,
		Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return c.with(c.list) },
	}
	list := &cobra.Command{Use: "list", Short: "List prompt files", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return c.with(c.list) }}
	for _, cmd := range []*cobra.Command{root, list} {
		cmdutil.OutputFlag(cmd, &c.Format)
	}
	about := func(use, short string, run func(name string) error) *cobra.Command {
		return &cobra.Command{Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cmdutil.Complete(func() []string { return f.Names(files, false) }),
			RunE: func(_ *cobra.Command, args []string) error { return c.with(func() error { return run(args[0]) }) }}
	}
	create := about("new", "Write a new prompt file, in your editor", func(name string) error { return c.create(name, persona) })
	create.Flags().BoolVar(&persona, "persona", false, "a persona: a system prompt for a whole conversation")
	create.ValidArgsFunction = cobra.NoFileCompletions
	load := &cobra.Command{
		Use: "import FILE…|llm", Short: "Import prompt files, or the templates of llm", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return c.with(func() error { return c.load(args) }) },
	}
	root.AddCommand(list, about("show", "Show a prompt file and how parley reads it", c.show), about("edit", "Open a prompt file in your editor", c.edit), create, load)
	return root
}

// A promptRow is a prompt file in JSON output.
type promptRow struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Hint        string   `json:"argument_hint,omitempty"`
	Program     string   `json:"program"`
	Project     bool     `json:"project"`
	Path        string   `json:"path"`
	Ignored     []string `json:"ignored,omitempty"`
	Hidden      string   `json:"hidden,omitempty"` // why /NAME does not run it
}

// list lists the prompt files and reports unusable ones.
func (c options) list() error {
	found, problems := find(c.files)
	var rows []promptRow
	first := map[string]string{}
	for _, p := range found {
		row := promptRow{Name: p.Name, Description: p.Description, Hint: p.ArgumentHint(), Program: string(p.Program), Project: p.Project, Path: p.Path}
		for _, key := range p.Ignored {
			row.Ignored = append(row.Ignored, key.Name)
		}
		switch before := first[p.Name]; {
		case before != "":
			row.Hidden = "by " + c.abbrevPath(before)
		case isCommand(p.Name):
			row.Hidden = "by the command /" + p.Name + "; /prompt " + p.Name + " sends it"
		}
		first[p.Name] = cmp.Or(first[p.Name], p.Path)
		rows = append(rows, row)
	}
	for i := range found {
		c.noteUnknownKeys(&found[i])
	}
	for _, err := range problems {
		c.Note(format.ErrorText(err))
	}
	switch {
	case c.Format != "text":
		return cmdutil.WriteRows(c.Out, c.Format, rows)
	case len(rows) == 0:
		c.Note("no prompts: parley prompts new NAME writes one to " + c.abbrevPath(c.files.Dir))
		return nil
	}
	var table [][]string
	for _, row := range rows {
		about := strings.TrimSpace(row.Hint + "  " + row.Description)
		if row.Hidden != "" {
			about = "(hidden " + row.Hidden + ") " + about
		}
		table = append(table, []string{sanitize.Line(row.Name), sanitize.Line(c.abbrevPath(row.Path)), sanitize.Line(about)})
	}
	return cmdutil.WriteTable(c.Out, cmdutil.OutputWidth(), slices.Values(table))
}

// isCommand reports whether every front end has a command with this name.
func isCommand(name string) bool {
	return slices.ContainsFunc(flows.Commands(), func(c app.Command) bool { return c.Named(name) })
}

// show shows a prompt file and the settings in effect.
func (c options) show(name string) error {
	p, err := named(c.files, name, noPrompt)
	if err != nil {
		return cmdutil.Usage(err)
	}
	c.Note(c.abbrevPath(p.Path) + ", for " + string(p.Program))
	c.noteUnknownKeys(p)
	if p.Program != prompts.Parley && len(p.Ignored) > 0 {
		var ignored []string
		for _, key := range p.Ignored {
			ignored = append(ignored, key.Name)
		}
		c.Note("ignored: " + strings.Join(ignored, ", "))
	}
	if _, err := p.Expand("", nil); err != nil {
		return err
	}
	for _, f := range p.Fields() {
		c.Note(strings.TrimSuffix("asks for "+f.Name+": "+strings.Join(f.Choices, ", "), ": "))
	}
	for _, command := range p.Commands() {
		asks := "asks as any command does"
		if p.Project {
			asks = "asks each time"
		}
		c.Note(fmt.Sprintf("line %d runs: %s (%s)", command.Line, command.Text, asks))
	}
	_, err = fmt.Fprint(c.Out, sanitize.Text(prompts.Format(*p)))
	return err
}

// noteUnknownKeys names the keys in the file's section for parley that have no effect.
func (c options) noteUnknownKeys(p *prompts.Prompt) {
	for _, err := range p.UnknownKeys() {
		c.Note(format.ErrorText(err))
	}
}

// edit opens a prompt file in the user's editor, and reports errors in it afterwards.
func (c options) edit(name string) error {
	p, err := named(c.files, name, noPrompt)
	path := ""
	var bad *prompts.Error
	switch {
	case err == nil:
		path = p.Path
	case errors.As(err, &bad):
		path = bad.Path
	default:
		return cmdutil.Usage(err)
	}
	return c.open(path)
}

// open opens a file in the user's editor, and reports errors in it afterwards.
func (c options) open(path string) error {
	edited, err := cmdutil.Edit(c.Out, path)
	if err != nil || !edited {
		return err
	}
	for _, place := range prompts.OwnPlaces(c.files.Dir) {
		if rel, err := filepath.Rel(place.Dir, path); err == nil && filepath.IsLocal(rel) {
			p, err := prompts.Read(place, path)
			c.noteUnknownKeys(&p)
			return err
		}
	}
	return nil
}

// Templates for new files.
const (
	newPrompt = `---
description: 
argument-hint: "[file]"
# model: provider/model
# effort: low
# tools: read, grep
---
Review $ARGUMENTS. Also: $1, {{name}}, {{name=default}}, {{tone:short|long}}, @file
`
	newPersona = `---
description: 
system: |
  You are …
# model: provider/model
# tools: none
---
`
)

// create writes a new prompt file.
func (c options) create(name string, persona bool) error {
	text := newPrompt
	if persona {
		text = newPersona
	}
	path, err := prompts.Create(c.files.Dir, name, text)
	if err != nil {
		return cmdutil.Usage(err)
	}
	return c.open(path)
}

// load imports files.
func (c options) load(names []string) error {
	var failed error
	for _, name := range names {
		paths := []string{name}
		if name == "llm" {
			if paths = llmTemplates(); len(paths) == 0 {
				failed = errors.Join(failed, errors.New("no templates of llm: give a file, or set LLM_USER_PATH"))
			}
		}
		for _, path := range paths {
			failed = errors.Join(failed, c.loadFile(path))
		}
	}
	return failed
}

// llmTemplates returns the paths of the templates of the program llm.
func llmTemplates() (paths []string) {
	config, _ := os.UserConfigDir()
	dir := cmp.Or(os.Getenv("LLM_USER_PATH"), filepath.Join(config, "io.datasette.llm"))
	paths, _ = filepath.Glob(filepath.Join(dir, "templates", "*.yaml")) // the pattern is valid
	return paths
}

// loadFile imports one file: a template of llm in YAML, or Markdown unchanged.
func (c options) loadFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	base := filepath.Base(path)
	name, text := strings.TrimSuffix(base, filepath.Ext(base)), string(data)
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".yaml", ".yml":
		p, notes, err := prompts.FromLLM(path, data)
		if err != nil {
			return err
		}
		for _, n := range notes {
			c.Note(n)
		}
		text = prompts.Format(p)
	case ".md":
	default:
		return cmdutil.Usagef("%s: use Markdown, or a YAML template of llm", path)
	}
	written, err := prompts.Create(c.files.Dir, name, text)
	if err == nil {
		c.Note("imported " + c.abbrevPath(written))
	}
	return err
}
