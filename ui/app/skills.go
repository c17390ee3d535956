package app

import "slices"

// Skills lists the skills of this run.
type Skills struct {
	List func() (all []Skill, problems []error) // nil if there are none
	Use  func(line string) Effect               // sends the skill that begins line, with the rest as its task; nil if there are no skills. The skills flow fills it in
}

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

// Named returns the skill with this name.
func (s Skills) Named(name string) (Skill, bool) {
	if s.List == nil {
		return Skill{}, false
	}
	all, _ := s.List()
	i := slices.IndexFunc(all, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return all[i], true
}
