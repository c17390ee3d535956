package prompts

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/prompts"
	"parley/ui/app"
	"parley/ui/app/promptfile"
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
	o, s, line, alone := a.Options, a.Session, strings.TrimSpace("/"+p.Name+" "+args), len(e.Commands) > 0 || promptfile.ChangesTurn(p)
	refused := app.Failure{Err: errors.New("stop the running turn first: this prompt runs commands, or has a model or settings"), Line: line}
	if alone && a.FrontEnd.Busy() {
		return refused
	}
	a.Drafts().RememberPrompt(line)
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		from, notes, err := promptfile.Template(ctx, o, p, e)
		return func() app.Effect {
			switch {
			case err != nil:
				return app.Failure{Err: err, Line: line}
			case a.Session != s:
				return app.Failure{Err: errors.New("another conversation was opened: not sent"), Line: line}
			case alone && a.FrontEnd.Busy(): // a turn began meanwhile
				return refused
			}
			attached, own := a.Attached, from.Parts // includes attachments added meanwhile
			from.Draft = session.Unsent{Message: llm.Message{Role: llm.RoleUser, Parts: attached}, Command: line}
			from.Parts = func(outputs []string) []llm.Part { return append(slices.Clone(attached), own(outputs)...) }
			a.Attached = nil
			if a.FrontEnd.Busy() {
				s.Queue.Add(from.Parts(nil)...)
				return app.Then{app.Notes(notes), app.Toast("Queued – sent when the answer is done")}
			}
			return app.Then{app.Notes(notes), app.Play(func(ctx context.Context) iter.Seq[session.Event] { return s.TurnFromTemplate(ctx, from) })}
		}
	})
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
