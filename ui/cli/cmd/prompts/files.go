package prompts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/session"
	"parley/session/prompts"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/promptfile"
	"parley/ui/cli/cmdutil"
)

// Files finds prompt files for flags and the command.
type Files struct{}

// ProjectFiles returns the paths of the prompts of a project's directory.
func (Files) ProjectFiles(dir string) ([]string, error) { return prompts.ProjectFiles(dir) }

// Named returns the prompt of -P or, if persona is set, of --persona.
func (Files) Named(files app.PromptFiles, name string, persona bool) (*cmdutil.PromptFile, error) {
	missing := noPromptFile
	if persona {
		missing = noPersona
	}
	p, err := named(files, name, missing)
	if err != nil {
		return nil, err
	}
	return &cmdutil.PromptFile{
		Name: p.Name, Model: p.Model, Effort: p.Effort, Tools: p.Tools, Web: p.Web, System: p.System, Project: p.Project, Commands: len(p.Commands()) > 0,
		Schema:  func(schemas session.Schemas) (*llm.Schema, error) { return promptfile.Schema(p, schemas) },
		Persona: p.Persona,
		Template: func(ctx context.Context, o app.Options, args string) (t session.Template, notes []string, err error) {
			e, err := p.Expand(args, nil)
			if err != nil {
				return t, nil, err
			}
			if len(e.Missing) > 0 {
				return t, nil, missingFields(name, e.Missing)
			}
			e.Typed = "" // as in PROMPT, an @ is plain text in arguments
			bare := *p
			bare.Settings = prompts.Settings{} // the flags have these settings
			return promptfile.Template(ctx, o, &bare, e)
		},
	}, nil
}

// Names returns the names of prompt files for shell completion; with personas, those of personas and "off".
func (Files) Names(files app.PromptFiles, personas bool) (names []string) {
	found, _ := find(files)
	for _, p := range found {
		if !personas || p.System != "" {
			names = append(names, cobra.CompletionWithDesc(p.Name, sanitize.Line(p.Description)))
		}
	}
	if personas {
		names = append(names, "off")
	}
	return names
}

// find reads all prompts.
func find(files app.PromptFiles) (found []prompts.Prompt, problems []error) {
	return prompts.All(files.Dir, files.Project())
}

// named returns the prompt with this name. The error describes a problem in its file, or comes from missing.
func named(files app.PromptFiles, name string, missing func(name string, found []prompts.Prompt) error) (*prompts.Prompt, error) {
	found, problems := find(files)
	if i := slices.IndexFunc(found, func(p prompts.Prompt) bool { return p.Name == name }); i >= 0 {
		return &found[i], nil
	}
	if err := prompts.ProblemOf(name, problems); err != nil {
		return nil, err
	}
	return nil, missing(name, found)
}

// noPrompt returns the error for an unknown prompt, with the names that exist.
func noPrompt(name string, found []prompts.Prompt) error {
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	if near := similar.Name(name, names); near != "" {
		return fmt.Errorf("no prompt %q: did you mean %s?", name, near)
	}
	return fmt.Errorf("no prompt %q: parley prompts list shows them", name)
}

// noPromptFile is noPrompt for -P, which takes a prompt's text in other programs.
func noPromptFile(name string, found []prompts.Prompt) error {
	if strings.ContainsAny(name, " \n") {
		return fmt.Errorf("no prompt file %q: parley -p sends it as text", name)
	}
	return noPrompt(name, found)
}

// noPersona returns the error for an unknown persona, with the names that exist.
func noPersona(name string, found []prompts.Prompt) error {
	var names []string
	for _, p := range found {
		if p.System != "" {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	near := similar.Name(name, names)
	switch {
	case near != "":
		return fmt.Errorf("no persona %q: did you mean %s?", name, near)
	case len(names) > 0:
		return fmt.Errorf("no persona %q: there are %s", name, strings.Join(names, ", "))
	}
	return fmt.Errorf("no persona %q: parley prompts new --persona NAME makes one", name)
}

// missingFields returns the error for fields without a value.
func missingFields(name string, missing []prompts.Field) error {
	var names []string
	for _, f := range missing {
		want := f.Name + "=…"
		if len(f.Choices) > 0 {
			want = f.Name + "=" + strings.Join(f.Choices, "|")
		}
		names = append(names, want)
	}
	return fmt.Errorf("-P %s needs %s", name, strings.Join(names, " "))
}
