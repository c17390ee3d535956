package app

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Skill is instructions for a task that models and users can load.
type Skill struct {
	Name, Description string
	Where             string // its directory, as a user calls it
	Warning           string // what is not as skills should be; "": nothing
	Hidden            bool   // from models
	Text, Mark        string // what a model that loads it is told, and how that begins
	Tokens            int    // about, in each request
	BodyTokens        int    // about, once it is loaded
}

// skillNamed returns the skill of this name.
func (p PromptFiles) skillNamed(name string) (Skill, bool) {
	if p.Skills == nil {
		return Skill{}, false
	}
	all, _ := p.Skills()
	i := slices.IndexFunc(all, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return all[i], true
}

// skillItems lists the skills with what they take, and those that cannot be used with why.
func (p PromptFiles) skillItems() (items []Item) {
	if p.Skills == nil {
		return nil
	}
	all, problems := p.Skills()
	for _, s := range all {
		detail := fmt.Sprintf("%s tokens in each request, %s more once loaded", format.Tokens(s.Tokens), format.Tokens(s.BodyTokens))
		if s.Hidden {
			detail = format.Tokens(s.BodyTokens) + " tokens once you load it; not listed to the model"
		}
		if s.Warning != "" {
			detail += " · " + s.Warning
		}
		items = append(items, Item{Title: s.Name, Detail: detail + " · " + s.Description, Value: s.Name})
	}
	for _, err := range problems {
		items = append(items, Item{Title: "ignored", Detail: format.ErrorText(err), Value: format.ErrorText(err), Disabled: true})
	}
	return items
}

// listSkills shows the skills, and loads the one that is chosen.
func listSkills(a *App, _ string) Effect {
	return &List{Title: "Skills", Noun: "skill", Items: a.skillItems(), TakesArg: true, Choose: func(i Item, arg string) Effect {
		return useSkill(a, strings.TrimSpace(i.Value+" "+arg))
	}}
}

// useSkill sends a skill with a task, or just the task if the conversation has it.
func useSkill(a *App, line string) Effect {
	name, task, _ := strings.Cut(line, " ")
	s, ok := a.skillNamed(name)
	switch {
	case name == "":
		return listSkills(a, "")
	case !ok:
		return Refuse("no skill %s: /skills lists them", sanitize.Line(name))
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
	a.RememberPrompt("/skill " + line)
	if a.Busy() {
		a.Session.Queue.Add(parts...)
		return Toast("Queued – sent when the answer is done")
	}
	own := a.Session
	return Play(func(ctx context.Context) iter.Seq[session.Event] { return own.Turn(ctx, parts...) })
}

func noSkills(a *App) string {
	if len(a.skillItems()) == 0 {
		return "No skills. A skill is a folder with a SKILL.md in skills, beside config.toml"
	}
	return ""
}
