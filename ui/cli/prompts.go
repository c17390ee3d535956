package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/session"
	"parley/session/prompts"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	flow "parley/ui/app/flows/prompts"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// promptFiles finds and uses prompt files.
type promptFiles struct{ *program }

// promptFile is the prompt named by -P.
type promptFile struct {
	*prompts.Prompt // nil without -P
	args            string
	from            session.Template
	model           string   // provider/model of the prompt if no flag names one; "": the conversation's
	effort          string   // effort of the prompt if no flag sets one; "": the conversation's
	tools           []string // tools for the model after the prompt's commands have run; nil: those of --tools
}

// lend makes the conversation store the model and effort that it would have without the prompt.
func (p *promptFile) lend(a *program, s *session.Session, kept session.Info, flags *settingFlags) {
	if p.model == "" && p.effort == "" {
		return
	}
	model := cmp.Or(kept.Model, a.config.Model, a.project.model)
	if p.model == "" || model == "" { // there is no other model
		model = s.Model().Name
	}
	s.SetModelForRun(model, firstEffort(flags.effort, kept, a.config.Effort))
}

// searches reports whether the prompt lets the answer search the web, and no flag forbids it.
func (p *promptFile) searches(f *settingFlags) bool { return p.Prompt != nil && p.Web && f.web != off }

// system returns the prompt's system prompt, used for its turn if no flag sets another; "" is the conversation's.
func (p *promptFile) system(f *settingFlags) string {
	if p.Prompt == nil || f.system != "" || f.personaName != "" {
		return ""
	}
	return p.System
}

// promptDir returns the directory of the user's prompts; "" if there is no home.
func promptDir() string { return inConfigDir("prompts") }

// userPlaces returns the places of the user's prompts.
func userPlaces() []prompts.Place {
	home, _ := os.UserHomeDir()
	config := ""
	if dir := configDir(); dir != "" {
		config = filepath.Dir(dir)
	}
	return prompts.UserPlaces(promptDir(), config, home)
}

// find reads the prompts: the user's, then those of a trusted working directory.
func (a promptFiles) find() (found []prompts.Prompt, problems []error) {
	found, problems = prompts.Find(userPlaces())
	if a.project.trusted {
		more, wrong := a.project.offer.Prompts()
		found, problems = append(found, more...), append(problems, wrong...)
	}
	return found, problems
}

// named returns the prompt with this name. The error describes a problem in its file, or comes from missing.
func (a promptFiles) named(name string, missing func(name string, found []prompts.Prompt) error) (*prompts.Prompt, error) {
	found, problems := a.find()
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

// use reads the prompt of -P. Its settings apply to this prompt only, and flags take precedence.
func (a promptFiles) use() (err error) {
	if err := a.usePersona(); err != nil || a.flags.promptName == "" {
		return err
	}
	p, err := a.named(a.flags.promptName, noPromptFile)
	if err != nil {
		return cmdutil.Usagef("-P: %w", err)
	}
	a.flags.prompt.Prompt = p
	if a.flags.settings.model == "" {
		a.flags.prompt.model = a.config.Resolve(p.Model)
	}
	if a.flags.settings.effort == "" {
		a.flags.prompt.effort = string(p.Effort)
	}
	switch {
	case a.flags.toolNames != "":
	case len(p.Commands()) > 0 && !a.flags.wire.dryRun: // the commands need the shell, which the model may not use
		a.flags.prompt.tools = p.Tools
	default:
		a.flags.toolNames = strings.Join(p.Tools, ",")
	}
	if a.flags.schema == nil {
		if a.flags.schema, err = flow.Schema(p, schemas); err != nil {
			return cmdutil.Usage(err)
		}
	}
	return nil
}

// parts returns the parts of the prompt of -P, followed by parts. If the text waits for commands, it is in
// a.prompt.from instead.
func (a promptFiles) parts(parts []llm.Part, compared bool) ([]llm.Part, error) {
	if a.flags.prompt.Prompt == nil {
		return parts, nil
	}
	p := a.flags.prompt.Prompt
	e, err := p.Expand(a.flags.prompt.args, nil)
	if err != nil {
		return nil, err
	}
	if compared && len(e.Commands) > 0 {
		return nil, fmt.Errorf("-P %s runs commands: it can be sent to one model only", a.flags.promptName)
	}
	if len(e.Missing) > 0 {
		var names []string
		for _, f := range e.Missing {
			want := f.Name + "=…"
			if len(f.Choices) > 0 {
				want = f.Name + "=" + strings.Join(f.Choices, "|")
			}
			names = append(names, want)
		}
		return nil, fmt.Errorf("-P %s needs %s", a.flags.promptName, strings.Join(names, " "))
	}
	if e.Text() == "" && len(e.Commands) == 0 && len(parts) == 0 {
		return nil, fmt.Errorf("-P %s is a persona: use --persona %[1]s and a prompt", a.flags.promptName)
	}
	e.Typed = "" // as in PROMPT, an @ is plain text in arguments
	bare := *p
	bare.Settings = prompts.Settings{} // the session has these settings
	o := app.Options{Library: a.library, AbbrevPath: abbrevPath}.WithDefaults()
	from, notes, err := (&flow.Flow{MayInsert: a.mayInsert}).Template(context.Background(), o, &bare, e)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		a.Note(n)
	}
	from.Settings.Web, from.Settings.Tools = a.flags.prompt.searches(&a.flags.settings), a.flags.prompt.tools
	own := from.Parts
	from.Parts = func(outputs []string) []llm.Part { return append(own(outputs), parts...) }
	a.flags.prompt.from = from
	var outputs []string
	for _, command := range from.Commands {
		outputs = append(outputs, "[output of: "+command+"]")
	}
	return from.Parts(outputs), nil
}

// mayInsert returns why a prompt cannot attach a file: a rule denies reading it or, for a prompt of the working
// directory, reading it would need an approval.
func (a promptFiles) mayInsert(path string, project bool) error {
	set, err := tools.Open(a.dir)
	if err != nil {
		return err
	}
	defer set.Close()
	policy, err := a.newPolicy()
	if err != nil {
		return err
	}
	policy.SetMode(act.ModeAsk)
	input, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return err
	}
	action, err := set.Plan(context.Background(), "read", string(input))
	switch {
	case err != nil && !project: // attaching the file reports the error
		return nil
	case err != nil:
		return err
	case policy.Decide(action) == act.Deny:
		return errors.New(policy.DenialReason(action))
	case project && policy.Decide(action) != act.Allow:
		return fmt.Errorf("reading it needs approval: attach it yourself, with @%s", path)
	}
	return nil
}

// turnOf returns the turn that sends parts, or the prompt of -P.
func turnOf(ctx context.Context, a *program, s *session.Session, parts []llm.Part) iter.Seq[session.Event] {
	if from := a.flags.prompt.from; len(from.Commands) > 0 || from.Settings.Web {
		return s.TurnFromTemplate(ctx, a.flags.prompt.from)
	}
	return s.Turn(ctx, parts...)
}

// usePersona reads the persona of --persona. Flags take precedence over its settings.
func (a promptFiles) usePersona() error {
	if a.flags.settings.personaName == "" || a.flags.settings.personaName == "off" {
		return nil
	}
	p, err := a.named(a.flags.settings.personaName, noPersona)
	if err != nil {
		return cmdutil.Usagef("--persona: %w", err)
	}
	system, err := p.Persona()
	if err != nil {
		return cmdutil.Usage(err)
	}
	a.flags.settings.persona = session.Persona{Name: p.Name, System: system, Tools: p.Tools}
	if p.Project {
		a.flags.settings.persona.Project = a.dir
	}
	a.flags.settings.model, a.flags.settings.effort = cmp.Or(a.flags.settings.model, a.config.Resolve(p.Model)), cmp.Or(a.flags.settings.effort, string(p.Effort))
	if p.Web {
		a.flags.settings.web = cmp.Or(a.flags.settings.web, on)
	}
	return nil
}

// withProject runs f with the working directory's prompts, if it is trusted.
func (a *program) withProject(f func() error) error {
	var err error
	if a.dir, err = os.Getwd(); err != nil {
		return err
	}
	if a.library, err = session.OpenStore(os.Getenv); err != nil {
		a.Note(format.ErrorText(err))
	}
	defer a.closeLibrary()
	if err := a.loadProjectTrust(false); err != nil {
		a.Note(format.ErrorText(err))
	}
	return f()
}

// existing returns the prompt with this name, or an error.
func (a promptFiles) existing(name string) (*prompts.Prompt, error) { return a.named(name, noPrompt) }

// completed returns the names of prompt files for shell completion; with personas, those of personas and "off".
func (a promptFiles) completed(personas bool) (names []string) {
	found, _ := a.find()
	for _, p := range found {
		if !personas || p.System != "" {
			names = append(names, cobra.CompletionWithDesc(p.Name, sanitize.Line(p.Description)))
		}
	}
	if personas {
		names = append(names, off)
	}
	return names
}
