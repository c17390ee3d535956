package app

import "slices"

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

// SkillNamed returns the skill of this name.
func (p PromptFiles) SkillNamed(name string) (Skill, bool) {
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

// hasSkill reports whether there is a skill of this name, and a flow that uses it.
func hasSkill(a *App, name string) bool {
	_, ok := a.SkillNamed(name)
	return ok && a.UseSkill != nil
}
