package cli

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
)

// skillSource finds skills and lists them for models.
type skillSource interface {
	Command(streams *cmdutil.Streams, find func(use func(all []app.Skill, problems []error) error) error, dir string, abbrevPath func(string) string) *cobra.Command
	ProjectFiles(dir string) (paths []string, err error)
	Find(dir string) func(project iter.Seq2[string, string]) (all []app.Skill, problems []error) // searches the user's in the background
	List(all []app.Skill, window int) (text string, omitted int)
}

// skillSet holds the skills of a run.
type skillSet struct {
	gather   func(project iter.Seq2[string, string]) (all []app.Skill, problems []error) // nil without skills
	all      []app.Skill                                                                 // usable skills, the project's first
	problems []error
	list     string // list for the system prompt; "" offers none
	omitted  int    // number of skills that did not fit into list
}

// findSkills starts to search the user's skills in the background.
func findSkills(a *program) {
	if a.skills != nil {
		a.project.skills.gather = a.skills.Find(inConfigDir("skills"))
	}
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
	p.skills.all, p.skills.problems = p.skills.gather(p.texts(trust.Skills))
}

// offerSkills adds the list of skills to the model's instructions, and the tool that loads them. Without skills it adds
// neither.
func offerSkills(a *program, model llm.Endpoint) error {
	s := &a.project.skills
	if a.toolSet == nil || s.gather == nil || !offersTool(a.flags.toolNames, act.SkillName) {
		return nil
	}
	a.project.gatherSkills()
	s.list, s.omitted = a.skills.List(s.all, model.Context)
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
			i := slices.IndexFunc(all, func(s app.Skill) bool { return s.Name == name })
			if i < 0 {
				return "", "", fmt.Errorf("no skill %q; the skills are %s", name, strings.Join(names, ", "))
			}
			return all[i].Text, all[i].Mark, nil
		}))
	}
	return a.toolSet.ReplaceExternal(act.SkillName, offered)
}

// rows returns the skills for the application, and the problems of unusable ones.
func (s *skillSet) rows() (rows []app.Skill, problems []error) { return s.all, s.problems }

// withSkills calls use with the usable skills of the working directory.
func (a *program) withSkills(use func(all []app.Skill, problems []error) error) error {
	return a.withProject(func() error {
		findSkills(a)
		a.project.gatherSkills()
		return use(a.project.skills.rows())
	})
}
