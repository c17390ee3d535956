// Package skills lets the user load a skill and send a task with it.
package skills

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "skill", Group: app.Messages, Arg: "NAME", Help: "Load a skill and send a task with it", Unavailable: f.none, Args: f.items, Run: f.use},
		app.Command{Name: "skills", Group: app.Messages, Help: "Skills and their tokens", Unavailable: f.none, Run: f.list},
	)
	a.Skills.Use = f.use
}

// A flow shows and sends skills.
type flow struct{ app *app.App }

// items lists the skills with their size, and unusable ones with the reason.
func (f flow) items() (items []app.Item) {
	if f.app.Skills.List == nil {
		return nil
	}
	all, problems := f.app.Skills.List()
	for _, s := range all {
		detail := fmt.Sprintf("%s tokens in each request, %s more once loaded", format.Tokens(s.Tokens), format.Tokens(s.BodyTokens))
		if s.Hidden {
			detail = format.Tokens(s.BodyTokens) + " tokens once you load it; not listed to the model"
		}
		if s.Warning != "" {
			detail += " · " + s.Warning
		}
		items = append(items, app.Item{Title: s.Name, Detail: detail + " · " + s.Description, Value: s.Name})
	}
	for _, err := range problems {
		items = append(items, app.Item{Title: "ignored", Detail: format.ErrorText(err), Value: format.ErrorText(err), Disabled: true})
	}
	return items
}

// list lists the skills and loads the chosen one.
func (f flow) list(string) app.Effect {
	return &app.List{Title: "Skills", Noun: "skill", Items: f.items(), TakesArg: true, Choose: f.use}
}

// use sends a skill with a task, or only the task if the conversation has the skill already.
func (f flow) use(line string) app.Effect {
	a := f.app
	name, task, _ := strings.Cut(line, " ")
	s, ok := a.Skills.Named(name)
	switch {
	case name == "":
		return f.list("")
	case !ok:
		return app.Refuse("no skill %s: /skills lists them", sanitize.Line(name))
	}
	if task = strings.TrimSpace(task); task == "" {
		task = "Use the skill " + name + "."
	}
	parts := a.Attached
	a.Attached = nil
	if !a.Session.HasSkill(s.Mark) {
		parts = append(parts, session.SkillPart(name, sanitize.Text(s.Text)))
	}
	parts = append(parts, llm.Part{Kind: llm.Text, Text: task})
	a.Drafts().RememberPrompt("/skill " + line)
	if a.FrontEnd.Busy() {
		a.Session.Queue.Add(parts...)
		return app.Toast("Queued – sent when the answer is done")
	}
	own := a.Session
	return app.Play(func(ctx context.Context) iter.Seq[session.Event] { return own.Turn(ctx, parts...) })
}

func (f flow) none() string {
	if len(f.items()) == 0 {
		return "No skills. A skill is a folder with a SKILL.md in skills, beside config.toml"
	}
	return ""
}
