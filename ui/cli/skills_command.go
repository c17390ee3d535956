package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
)

// A skillRow is a skill as JSON.
type skillRow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
	Hidden      bool   `json:"hidden,omitempty"`  // from models: only /skill loads it
	Warning     string `json:"warning,omitempty"` // what is not as skills should be
	Tokens      int    `json:"tokens"`            // about, in each request
	BodyTokens  int    `json:"body_tokens"`       // about, once it is loaded
}

// newSkillsCommand returns the command that lists skills, and shows one.
func newSkillsCommand(a *program) *cobra.Command {
	var format string
	find := func(f func([]app.Skill) error) error {
		return (&promptsCommand{program: a}).run(func() error {
			a.project.skills.find()
			a.project.gatherSkills()
			rows, problems := a.project.skills.rows()
			for _, err := range problems {
				a.Note(app.ShellErrorText(err))
			}
			return f(rows)
		})
	}
	list := func(*cobra.Command, []string) error {
		return find(func(rows []app.Skill) error { return listSkills(a, rows, format) })
	}
	root := &cobra.Command{
		Use: "skills", Short: "Skills: what models can load when they need it",
		Long: `Skills: what models can load when they need it.

A skill is a folder with a SKILL.md: in skills beside config.toml, in ~/.claude/skills,
~/.agents/skills and, in folders you trust, in .parley, .claude and .agents.`,
		Args: cobra.NoArgs, RunE: list,
	}
	below := &cobra.Command{Use: "list", Short: "List skills", Args: cobra.NoArgs, RunE: list}
	for _, cmd := range []*cobra.Command{root, below} {
		cmdutil.OutputFlag(cmd, &format)
	}
	show := &cobra.Command{Use: "show NAME", Short: "Show what a model gets that loads a skill", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		return find(func(rows []app.Skill) error {
			for _, s := range rows {
				if s.Name == args[0] {
					_, err := io.WriteString(a.Out, sanitize.Text(s.Text)+"\n")
					return err
				}
			}
			return cmdutil.Usage(fmt.Errorf("no skill %q: parley skills lists them", args[0]))
		})
	}}
	root.AddCommand(below, show)
	return root
}

// listSkills prints skills, one in a line unless another format is wanted.
func listSkills(a *program, skills []app.Skill, format string) error {
	var rows []skillRow
	for _, s := range skills {
		rows = append(rows, skillRow{s.Name, s.Description, s.Where, s.Hidden, s.Warning, s.Tokens, s.BodyTokens})
	}
	if format != "text" {
		return cmdutil.WriteRows(a.Out, format, rows)
	}
	if len(rows) == 0 {
		a.Note("no skills: a skill is a folder with a SKILL.md in " + cmp.Or(abbrevPath(configDir()), "~/.claude") + "/skills")
	}
	for _, r := range rows {
		line := r.Name + ": " + r.Description
		if r.Hidden {
			line += " (only by /skill)"
		}
		if r.Warning != "" {
			line += " (" + r.Warning + ")"
		}
		if _, err := fmt.Fprintln(a.Out, sanitize.Line(line)); err != nil {
			return err
		}
	}
	return nil
}
