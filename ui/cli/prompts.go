package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/session"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// promptSource finds prompt files, for flags and for its command.
type promptSource interface {
	Command(streams *cmdutil.Streams, with func(func() error) error, files app.PromptFiles, abbrevPath func(string) string) *cobra.Command
	ProjectFiles(dir string) (paths []string, err error)
	Named(files app.PromptFiles, name string, persona bool) (*cmdutil.PromptFile, error)
	Names(files app.PromptFiles, personas bool) []string // for shell completion
}

// promptFiles uses prompt files in a run.
type promptFiles struct{ *program }

// promptFile is the prompt named by -P.
type promptFile struct {
	*cmdutil.PromptFile // nil without -P
	args                string
	from                session.Template
	model               string   // provider/model of the prompt if no flag names one; "": the conversation's
	effort              string   // effort of the prompt if no flag sets one; "": the conversation's
	tools               []string // tools for the model after the prompt's commands have run; nil: those of --tools
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
	s.Next.SetModelForRun(model, firstEffort(flags.effort, kept, a.config.Effort))
}

// searches reports whether the prompt lets the answer search the web, and no flag forbids it.
func (p *promptFile) searches(f *settingFlags) bool {
	return p.PromptFile != nil && p.Web && f.web != off
}

// system returns the prompt's system prompt, used for its turn if no flag sets another; "" is the conversation's.
func (p *promptFile) system(f *settingFlags) string {
	if p.PromptFile == nil || f.system != "" || f.personaName != "" {
		return ""
	}
	return p.System
}

// places returns the places of prompt files: the user's, and those of a trusted working directory.
func (a promptFiles) places() app.PromptFiles {
	return app.PromptFiles{Dir: inConfigDir("prompts"), Project: func() iter.Seq2[string, string] { return a.project.texts(trust.Prompts) }, MayInsert: a.mayInsert}
}

// named returns the prompt that a flag names.
func (a promptFiles) named(flag, name string) (*cmdutil.PromptFile, error) {
	if a.prompts == nil {
		return nil, cmdutil.Usagef("%s: this build has no prompt files", flag)
	}
	p, err := a.prompts.Named(a.places(), name, flag == "--persona")
	if err != nil {
		return nil, cmdutil.Usagef("%s: %w", flag, err)
	}
	return p, nil
}

// use reads the persona of --persona and the prompt of -P, whose settings apply to this prompt only. Flags take
// precedence.
func (a promptFiles) use() error {
	if err := a.usePersona(); err != nil || a.flags.promptName == "" {
		return err
	}
	p, err := a.named("-P", a.flags.promptName)
	if err != nil {
		return err
	}
	a.flags.prompt.PromptFile = p
	if a.flags.settings.model == "" {
		a.flags.prompt.model = a.config.Resolve(p.Model)
	}
	if a.flags.settings.effort == "" {
		a.flags.prompt.effort = string(p.Effort)
	}
	switch {
	case a.flags.toolNames != "":
	case p.Commands && !a.flags.wire.dryRun: // the commands need the shell, which the model may not use
		a.flags.prompt.tools = p.Tools
	default:
		a.flags.toolNames = strings.Join(p.Tools, ",")
	}
	if a.flags.schema == nil {
		if a.flags.schema, err = p.Schema(schemas); err != nil {
			return cmdutil.Usage(err)
		}
	}
	return nil
}

// parts returns the parts of the prompt of -P, followed by parts. If the text waits for commands, it is in
// a.flags.prompt.from instead.
func (a promptFiles) parts(parts []llm.Part, compared bool) ([]llm.Part, error) {
	p := &a.flags.prompt
	if p.PromptFile == nil {
		return parts, nil
	}
	o := app.Options{Library: a.library, AbbrevPath: abbrevPath, PromptFiles: a.places()}.WithDefaults()
	from, notes, err := p.Template(context.Background(), o, p.args)
	if err != nil {
		return nil, err
	}
	if compared && len(from.Commands) > 0 {
		return nil, fmt.Errorf("-P %s runs commands: it can be sent to one model only", p.Name)
	}
	own := from.Parts
	if len(parts) == 0 && len(from.Commands) == 0 && (llm.Message{Parts: own(nil)}).Text() == "" {
		return nil, fmt.Errorf("-P %s is a persona: use --persona %[1]s and a prompt", p.Name)
	}
	for _, n := range notes {
		a.Note(n)
	}
	from.Settings.Web, from.Settings.Tools = p.searches(&a.flags.settings), p.tools
	from.Parts = func(outputs []string) []llm.Part { return append(own(outputs), parts...) }
	p.from = from
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

// turn returns the turn that sends parts, or the prompt of -P.
func (p *promptFile) turn(ctx context.Context, s *session.Session, parts []llm.Part) iter.Seq[session.Event] {
	if len(p.from.Commands) > 0 || p.from.Settings.Web {
		return s.TurnFromTemplate(ctx, p.from)
	}
	return s.Turn(ctx, parts...)
}

// usePersona reads the persona of --persona. Flags take precedence over its settings.
func (a promptFiles) usePersona() error {
	if a.flags.settings.personaName == "" || a.flags.settings.personaName == "off" {
		return nil
	}
	p, err := a.named("--persona", a.flags.settings.personaName)
	if err != nil {
		return err
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
