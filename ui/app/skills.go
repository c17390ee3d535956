package app

import "slices"

// A Skill holds instructions for a task, which models and users can load.
type Skill struct {
	Name, Description string
	Dir               string // with its files, absolute
	Warning           string // deviation from the format of skills; "" for none
	Hidden            bool   // hidden from models
	Text, Mark        string // text for a model that loads it, and the beginning of that text
	Tokens            int    // estimated tokens in each request
	BodyTokens        int    // estimated tokens once loaded
}

// SkillNamed returns the skill with this name.
func (o *Options) SkillNamed(name string) (Skill, bool) {
	if o.Skills == nil {
		return Skill{}, false
	}
	all, _ := o.Skills()
	i := slices.IndexFunc(all, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return all[i], true
}
