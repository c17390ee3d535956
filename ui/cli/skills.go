package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session/skills"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
)

// skillSet is the skills of a run.
type skillSet struct {
	own      func() foundSkills // those of the user
	all      []skills.Skill     // that count, the project's first
	problems []error
	list     string // for the system prompt; "": none is offered
	omitted  int    // that the list has no room for
}

type foundSkills struct {
	list     []skills.Skill
	problems []error
}

// find starts finding the user's skills, beside what else there is to open.
func (s *skillSet) find() {
	dir, home := "", ""
	if config := configDir(); config != "" {
		dir = filepath.Join(config, "skills")
	}
	home, _ = os.UserHomeDir()
	s.own = sync.OnceValue(func() foundSkills {
		list, problems := skills.Find(skills.UserPlaces(dir, home))
		return foundSkills{list, problems}
	})
	go s.own()
}

// offersTool reports whether names, as --tools has them, offer a tool.
func offersTool(names, name string) bool {
	return names == "" || slices.ContainsFunc(strings.Split(names, ","), func(n string) bool { return strings.TrimSpace(n) == name })
}

// gatherSkills finds the skills that count: the user's, and those of the directory if it is trusted.
func (p *project) gatherSkills() {
	s := &p.skills
	own := s.own()
	s.all, s.problems = own.list, own.problems
	if p.trusted {
		list, problems := p.offer.Skills()
		s.all, s.problems = append(list, s.all...), append(problems, s.problems...)
	}
	s.all = skills.Unique(s.all)
}

// offerSkills has model know of the skills there are, and gives it the tool that loads them.
// Without skills there is neither a list nor a tool.
func offerSkills(a *program, model llm.Endpoint) error {
	s := &a.project.skills
	if a.toolSet == nil || s.own == nil || !offersTool(a.flags.toolNames, act.SkillName) {
		return nil
	}
	a.project.gatherSkills()
	room := skills.MaxList
	if model.Context > 0 {
		const share, bytesPerToken = 50, 4 // 2 % of the window
		room = min(room, model.Context/share*bytesPerToken)
	}
	s.list, s.omitted = skills.List(s.all, room)
	var names, dirs []string
	for i := range s.all {
		dirs = append(dirs, s.all[i].Dir)
		if !s.all[i].Hidden {
			names = append(names, s.all[i].Name)
		}
	}
	a.toolSet.AllowReading(dirs...)
	var offered []tools.External
	if s.list != "" {
		all := s.all
		offered = append(offered, tools.SkillTool(names, func(name string) (text, mark string, err error) {
			i := slices.IndexFunc(all, func(s skills.Skill) bool { return s.Name == name })
			if i < 0 {
				return "", "", fmt.Errorf("no skill %q; the skills are %s", name, strings.Join(names, ", "))
			}
			return all[i].Text(), all[i].Mark(), nil
		}))
	}
	return a.toolSet.ReplaceExternal(act.SkillName, offered)
}

// rows returns the skills as the application knows them, and those that cannot be used.
func (s *skillSet) rows() (rows []app.Skill, problems []error) {
	for i := range s.all {
		is := &s.all[i]
		rows = append(rows, app.Skill{
			Name: is.Name, Description: is.Description, Where: abbrevPath(is.Dir), Warning: is.Warning, Hidden: is.Hidden, Text: is.Text(), Mark: is.Mark(),
			Tokens: catalog.Estimate(is.Name + ": " + is.Description), BodyTokens: catalog.Estimate(is.Body),
		})
	}
	return rows, s.problems
}

// withSkills finds the skills that count in the working directory.
func (a *program) withSkills(use func(all []app.Skill, problems []error) error) error {
	return a.withProject(func() error {
		a.project.skills.find()
		a.project.gatherSkills()
		return use(a.project.skills.rows())
	})
}
