// Package skills implements parley skills, which lists and shows skills.
package skills

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"parley/providers/catalog"
	"parley/session/skills"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/wording"
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

// Files finds skills in files.
type Files struct{}

// ProjectFiles returns the paths of the skills of a project's directory.
func (Files) ProjectFiles(dir string) ([]string, error) { return skills.ProjectFiles(dir) }

// Find starts to search the user's skills, whose own directory is dir. The returned function waits for them and returns
// the usable skills, those of a project first, which has their paths and texts. Problems describe unusable ones.
func (Files) Find(dir string) func(project iter.Seq2[string, string]) (all []app.Skill, problems []error) {
	home, _ := os.UserHomeDir()
	own := sync.OnceValues(func() ([]skills.Skill, []error) { return skills.Find(skills.UserPlaces(dir, home)) })
	go own()
	return func(project iter.Seq2[string, string]) (all []app.Skill, problems []error) {
		var found []skills.Skill
		for path, text := range project {
			is, err := skills.Parse(skills.Place{Project: true}, path, []byte(text))
			if err != nil {
				problems = append(problems, err)
				continue
			}
			found = append(found, is)
		}
		list, wrong := own()
		for _, is := range skills.Unique(append(found, list...)) {
			all = append(all, app.Skill{
				Name: is.Name, Description: is.Description, Dir: is.Dir, Warning: is.Warning, Hidden: is.Hidden, Text: is.Text(), Mark: is.Mark(),
				Tokens: catalog.Estimate(is.Name + ": " + is.Description), BodyTokens: catalog.Estimate(is.Body),
			})
		}
		return all, append(problems, wrong...)
	}
}

// List returns the list of skills for the system prompt of a model with a context window of this many tokens (0:
// unknown), and the number of skills that did not fit; "" if models may load none.
func (Files) List(all []app.Skill, window int) (text string, omitted int) {
	room := skills.MaxList
	if window > 0 {
		const share, bytesPerToken = 50, 4 // 2 % of the context window
		room = min(room, window/share*bytesPerToken)
	}
	var list []skills.Skill
	for _, s := range all {
		list = append(list, skills.Skill{Name: s.Name, Description: s.Description, Hidden: s.Hidden})
	}
	return skills.List(list, room)
}

// options configure the command.
type options struct {
	*cmdutil.Streams
	dir        string // of the user's configuration; "" if there is no home
	abbrevPath func(string) string
}

// Command returns the command that lists and shows skills. Find calls use with the usable skills of the working
// directory; dir is the user's configuration directory, "" for none.
func (Files) Command(streams *cmdutil.Streams, find func(use func(all []app.Skill, problems []error) error) error, dir string, abbrevPath func(string) string) *cobra.Command {
	o := options{streams, dir, abbrevPath}
	var format string
	reported := func(f func([]app.Skill) error) error {
		return find(func(rows []app.Skill, problems []error) error {
			for _, err := range problems {
				o.Note(wording.ShellError(err))
			}
			return f(rows)
		})
	}
	list := func(*cobra.Command, []string) error {
		return reported(func(rows []app.Skill) error { return o.list(rows, format) })
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
		return reported(func(rows []app.Skill) error {
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
func (o options) list(all []app.Skill, format string) error {
	var rows []skillRow
	for _, s := range all {
		rows = append(rows, skillRow{s.Name, s.Description, o.abbrevPath(s.Dir), s.Hidden, s.Warning, s.Tokens, s.BodyTokens})
	}
	if format != "text" {
		return cmdutil.WriteRows(o.Out, format, rows)
	}
	if len(rows) == 0 {
		o.Note("no skills: a skill is a folder with a SKILL.md in " + cmp.Or(o.abbrevPath(o.dir), "~/.claude") + "/skills")
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
