package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session/skills"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
)

// skillSet holds the skills of a run.
type skillSet struct {
	own      func() ([]skills.Skill, []error) // returns the user's skills, and the problems of unusable ones
	all      []skills.Skill                   // usable skills, the project's first
	problems []error
	list     string // list for the system prompt; "" offers none
	omitted  int    // number of skills that did not fit into list
}

// find starts to search the user's skills in the background.
func (s *skillSet) find() {
	home, _ := os.UserHomeDir()
	s.own = sync.OnceValues(func() ([]skills.Skill, []error) {
		return skills.Find(skills.UserPlaces(inConfigDir("skills"), home))
	})
	go s.own()
}

// offersTool reports whether names, the value of --tools, includes the tool name.
func offersTool(names, name string) bool {
	return names == "" || slices.ContainsFunc(strings.Split(names, ","), func(n string) bool { return strings.TrimSpace(n) == name })
}

// setFor returns the set of tools to which a flow adds one; nil if --tools leaves it out.
func (a *program) setFor(tool string) act.Set {
	if a.toolSet == nil || !offersTool(a.flags.toolNames, tool) {
		return nil
	}
	return a.toolSet
}

// gatherSkills collects the usable skills: the user's, and those of a trusted directory.
func (p *project) gatherSkills() {
	s := &p.skills
	s.all, s.problems = s.own()
	own, problems := s.all, s.problems
	s.all, s.problems = nil, nil
	for path, text := range p.texts(trust.Skills) {
		is, err := skills.Parse(skills.Place{Project: true}, path, []byte(text))
		if err != nil {
			s.problems = append(s.problems, err)
			continue
		}
		s.all = append(s.all, is)
	}
	s.all, s.problems = skills.Unique(append(s.all, own...)), append(s.problems, problems...)
}

// offerSkills adds the list of skills to the model's instructions, and the tool that loads them. Without skills it adds
// neither.
func offerSkills(a *program, model llm.Endpoint) error {
	s := &a.project.skills
	if a.toolSet == nil || s.own == nil || !offersTool(a.flags.toolNames, act.SkillName) {
		return nil
	}
	a.project.gatherSkills()
	room := skills.MaxList
	if model.Context > 0 {
		const share, bytesPerToken = 50, 4 // 2 % of the context window
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

// rows returns the skills for the application, and the problems of unusable ones.
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

// withSkills calls use with the usable skills of the working directory.
func (a *program) withSkills(use func(all []app.Skill, problems []error) error) error {
	return a.withProject(func() error {
		a.project.skills.find()
		a.project.gatherSkills()
		return use(a.project.skills.rows())
	})
}
