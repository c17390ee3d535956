// Package skills implements parley skills, which lists and shows skills.
package skills

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
)

// A skillRow is a skill in JSON output.
type skillRow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
	Hidden      bool   `json:"hidden,omitempty"`  // from models: only /skill loads it
	Warning     string `json:"warning,omitempty"` // deviation from the format of skills
	Tokens      int    `json:"tokens"`            // estimated, in each request
	BodyTokens  int    `json:"body_tokens"`       // estimated, once loaded
}

// Options configure the command.
type Options struct {
	*cmdutil.Streams
	Find       func(use func(all []app.Skill, problems []error) error) error // calls use with the usable skills of the working directory
	Dir        func() string                                                 // returns the directory of the user's skills; "" if there is no home
	AbbrevPath func(string) string
}

// New returns the command that lists and shows skills.
func New(o Options) *cobra.Command {
	var format string
	find := func(f func([]app.Skill) error) error {
		return o.Find(func(rows []app.Skill, problems []error) error {
			for _, err := range problems {
				o.Note(app.ShellErrorText(err))
			}
			return f(rows)
		})
	}
	list := func(*cobra.Command, []string) error {
		return find(func(rows []app.Skill) error { return o.list(rows, format) })
	}
	root := &cobra.Command{
		Use: "skills", Short: "List and show skills, which models load when they need them",
		Long: `List and show skills, which models load when they need them.

A skill is a folder with a SKILL.md. parley finds skills in skills beside config.toml,
in ~/.claude/skills, ~/.agents/skills and, in folders you trust, in .parley, .claude
and .agents.`,
		Args: cobra.NoArgs, RunE: list,
	}
	below := &cobra.Command{Use: "list", Short: "List skills", Args: cobra.NoArgs, RunE: list}
	for _, cmd := range []*cobra.Command{root, below} {
		cmdutil.OutputFlag(cmd, &format)
	}
	show := &cobra.Command{Use: "show NAME", Short: "Show a skill as the model sees it", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		return find(func(rows []app.Skill) error {
			for _, s := range rows {
				if s.Name == args[0] {
					_, err := io.WriteString(o.Out, sanitize.Text(s.Text)+"\n")
					return err
				}
			}
			return cmdutil.Usagef("no skill %q: parley skills lists them", args[0])
		})
	}}
	root.AddCommand(below, show)
	return root
}

// list prints skills, one per line in text format.
func (o Options) list(skills []app.Skill, format string) error {
	var rows []skillRow
	for _, s := range skills {
		rows = append(rows, skillRow{s.Name, s.Description, s.Where, s.Hidden, s.Warning, s.Tokens, s.BodyTokens})
	}
	if format != "text" {
		return cmdutil.WriteRows(o.Out, format, rows)
	}
	if len(rows) == 0 {
		o.Note("no skills: a skill is a folder with a SKILL.md in " + cmp.Or(o.AbbrevPath(o.Dir()), "~/.claude") + "/skills")
	}
	for _, r := range rows {
		line := r.Name + ": " + r.Description
		if r.Hidden {
			line += " (only by /skill)"
		}
		if r.Warning != "" {
			line += " (" + r.Warning + ")"
		}
		if _, err := fmt.Fprintln(o.Out, sanitize.Line(line)); err != nil {
			return err
		}
	}
	return nil
}
