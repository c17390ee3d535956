package prompts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/session/prompts"
	"parley/ui/app"
)

// send sends a prompt with arguments; values holds the fields that the user was asked for.
func (f *Flow) send(p *prompts.Prompt, args string, values map[string]string) app.Effect {
	e, err := p.Expand(args, values)
	switch {
	case err != nil:
		return app.Fail(err)
	case len(e.Missing) > 0:
		return f.askField(p, args, values, e.Missing[0])
	case strings.TrimSpace(e.Text()) == "" && len(e.Commands) == 0:
		return app.Refuse("/%s is a persona: /persona %[1]s turns it on", p.Name)
	}
	a := f.app
	o, s, line, alone := a.Options, a.Session, strings.TrimSpace("/"+p.Name+" "+args), len(e.Commands) > 0 || changesTurn(p)
	refused := app.Failure{Err: errors.New("stop the running turn first: this prompt runs commands, or has a model or settings"), Line: line}
	if alone && a.Busy() {
		return refused
	}
	a.RememberPrompt(line)
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		from, notes, err := f.Template(ctx, o, p, e)
		return func() app.Effect {
			switch {
			case err != nil:
				return app.Failure{Err: err, Line: line}
			case a.Session != s:
				return app.Failure{Err: errors.New("another conversation was opened: not sent"), Line: line}
			case alone && a.Busy(): // a turn began meanwhile
				return refused
			}
			attached, own := a.Attached, from.Parts // includes attachments added meanwhile
			from.Draft = session.Unsent{Message: llm.Message{Role: llm.RoleUser, Parts: attached}, Command: line}
			from.Parts = func(outputs []string) []llm.Part { return append(slices.Clone(attached), own(outputs)...) }
			a.Attached = nil
			if a.Busy() {
				s.Queue.Add(from.Parts(nil)...)
				return app.Then{app.Notes(notes), app.Toast("Queued – sent when the answer is done")}
			}
			return app.Then{app.Notes(notes), app.Play(func(ctx context.Context) iter.Seq[session.Event] { return s.TurnFromTemplate(ctx, from) })}
		}
	})
}

// changesTurn reports whether a prompt has settings for its turn.
func changesTurn(p *prompts.Prompt) bool {
	return p.Model != "" || p.Effort != "" || p.Web || len(p.Tools) > 0 || p.System != "" || hasSchema(p)
}

// askField asks for the value of a field, and then sends the prompt.
func (f *Flow) askField(p *prompts.Prompt, args string, values map[string]string, field prompts.Field) app.Effect {
	with := func(value string) app.Effect {
		more := map[string]string{field.Name: value}
		maps.Copy(more, values)
		return f.send(p, args, more)
	}
	title := "/" + p.Name + ": " + field.Name
	if len(field.Choices) == 0 {
		return &app.Secret{Title: title, Text: "The value of " + field.Name + " in this prompt", Visible: true, Submit: func(_ context.Context, line string) (func() app.Effect, error) {
			return func() app.Effect { return with(line) }, nil
		}}
	}
	return app.Choose(title, "value", app.Words(field.Choices, ""), with)
}

// Template reads everything a prompt needs before it is sent: mentioned files, the model, the schema. Notes name the
// mentions that were not attached and the keys without effect.
func (f *Flow) Template(ctx context.Context, o app.Options, p *prompts.Prompt, e prompts.Expansion) (from session.Template, notes []string, err error) {
	mentions, notes := f.insertable(p, e.Mentions)
	if p.Project {
		from.Project = o.AbbrevPath(p.Path)
	}
	for _, c := range e.Commands {
		from.Commands = append(from.Commands, c.Text)
	}
	o.FetchFile = nil // addresses are fetched only where the user types them
	files, more, err := o.Expand(ctx, mentions+e.Typed)
	if err != nil {
		return from, nil, err
	}
	if from.Settings, err = turnSettings(o, p); err != nil {
		return from, nil, err
	}
	from.Parts = func(outputs []string) []llm.Part {
		return append(slices.Clone(files), llm.Part{Kind: llm.Text, Text: e.Text(outputs...)})
	}
	notes = append(notes, more...)
	for _, wrong := range p.UnknownKeys() {
		notes = append(notes, fmt.Sprintf("%s:%d: %s", o.AbbrevPath(wrong.Path), wrong.Line, wrong.Text))
	}
	return from, notes, nil
}

// insertable returns the mentions that a prompt may attach, and a note for each other one: denied files and, for a
// prompt of the directory, files that the model may not read.
func (f *Flow) insertable(p *prompts.Prompt, mentions string) (kept string, notes []string) {
	whose, from := "/"+p.Name, 0
	if p.Project {
		whose = "a prompt of this folder"
	}
	for _, m := range attach.Mentions(mentions, app.IsFile) {
		err := error(nil)
		if p.Project && !filepath.IsLocal(m.Path) {
			err = errors.New("it is outside this folder")
		} else if f.MayInsert != nil {
			err = f.MayInsert(app.ExpandHome(m.Path), p.Project)
		}
		if !p.Project { // mentions that are not files may be resources of servers
			kept += mentions[from:m.Start]
		}
		if from = m.End; err != nil {
			notes = append(notes, fmt.Sprintf("not attached: %s, which %s mentions: %v", m.Path, whose, err))
			continue
		}
		kept += mentions[m.Start:m.End] + "\n"
	}
	if !p.Project {
		kept += mentions[from:]
	}
	return kept, notes
}

// turnSettings returns the settings for the turn of a prompt.
func turnSettings(o app.Options, p *prompts.Prompt) (t session.TurnSettings, err error) {
	t.Effort, t.Tools, t.Web = p.Effort, p.Tools, p.Web
	if p.System != "" {
		t.System = o.WholeSystem(p.System)
	}
	if p.Model != "" && o.Open != nil {
		if t.Model, err = o.Open(o.Resolve(p.Model)); err != nil {
			return t, fmt.Errorf("%s: model: %s: %w", o.AbbrevPath(p.Path), p.Model, err)
		}
	}
	if hasSchema(p) {
		t.Schema, err = Schema(p, o.Session.Schemas)
	}
	return t, err
}

func hasSchema(p *prompts.Prompt) bool { return len(p.Schema) > 0 || p.SchemaFile != "" }

// Schema returns the schema that the answer to a prompt has to match; nil if the prompt has none.
func Schema(p *prompts.Prompt, schemas session.Schemas) (*llm.Schema, error) {
	text := []byte(p.Schema)
	if p.SchemaFile != "" {
		path := app.ExpandHome(p.SchemaFile)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(p.Path), path)
		}
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("%s: schema: %w", p.Path, err)
		}
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case schemas == nil:
		return nil, fmt.Errorf("%s: schema: this build has no JSON schemas", p.Path)
	}
	parsed, err := schemas.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: schema: %w", p.Path, err)
	}
	return parsed, nil
}
