// Package man implements parley man, which prints manual pages.
package man

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/tools/atomicfile"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/textwrap"
)

// Options configure the pages.
type Options struct {
	Out           io.Writer
	Version, Date string // of the program
}

// New returns the command that prints a manual page, or writes all of them for a package.
func New(o Options) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "man [COMMAND...]", Short: "Print a manual page", Hidden: true,
		Example: "  parley man | man -l -\n  parley man sessions export | man -l -\n  parley man --to share/man/man1",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if folder != "" {
				return o.write(cmd.Root(), folder)
			}
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cmdutil.Usage(cmdutil.UnknownSubcommand(cmd.Root(), strings.Join(args, " ")))
			}
			_, err = io.WriteString(o.Out, o.Page(found))
			return err
		},
	}
	cmd.Flags().StringVar(&folder, "to", "", "write the pages of all commands into this `FOLDER`")
	cmd.MarkFlagDirname("to")
	return cmd
}

// write writes the pages of cmd and all its subcommands into folder, which it creates if necessary.
func (o Options) write(cmd *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := atomicfile.ReplaceShared(filepath.Join(folder, manualName(cmd)+".1"), []byte(o.Page(cmd))); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		if err := o.write(c, folder); err != nil {
			return err
		}
	}
	return nil
}

// manualName returns the name of a command's page, in git's style: parley-sessions-export.
func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page returns the manual page of a command in the macros of man(7), with the text of --help.
func (o Options) Page(cmd *cobra.Command) string {
	var p page
	p.macro("TH", strings.ToUpper(manualName(cmd)), "1", o.Date, "parley "+o.Version, "parley manual")
	p.macro("SH", "NAME")
	p.text(manualName(cmd) + ` \- ` + escape(lowerFirst(cmd.Short)))
	p.macro("SH", "SYNOPSIS")
	p.line(".B " + escape(cmd.CommandPath()))
	if cmd.HasAvailableSubCommands() && !cmd.Runnable() {
		p.text("COMMAND")
	} else if synopsis := strings.TrimSpace(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())); synopsis != "" {
		p.text(escape(synopsis))
	}
	p.macro("SH", "DESCRIPTION")
	p.paragraphs(cmp.Or(cmd.Long, strings.TrimSuffix(cmd.Short, ".")+"."))
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", cmd.InheritedFlags())
	p.commands(cmd)
	if cmd.Example != "" {
		p.macro("SH", "EXAMPLES")
		p.literal(cmd.Example)
	}
	if !cmd.HasParent() {
		p.macro("SH", "EXIT STATUS")
		for _, s := range exit.Statuses {
			p.tagged(s.Status, s.Means)
		}
	}
	p.macro("SH", "SEE ALSO")
	p.related(cmd)
	return p.String()
}

// A page is a manual page under construction. Its lines are not empty, and at most 80 bytes long where they can be
// broken.
type page struct{ strings.Builder }

// line writes a line as it is.
func (p *page) line(s string) { fmt.Fprintln(p, s) }

// macro writes a macro with arguments.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + strings.ReplaceAll(arg, `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// text writes escaped running text, wrapped into lines.
func (p *page) text(s string) {
	for _, line := range textwrap.Lines(s, 78) {
		if line = strings.TrimSpace(line); line != "" {
			p.line(protect(line))
		}
	}
}

// paragraphs writes text whose paragraphs are separated by blank lines. Indented lines are not wrapped.
func (p *page) paragraphs(s string) {
	for i, block := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		if strings.HasPrefix(block, "  ") || strings.HasPrefix(block, "\t") {
			p.literal(block)
			continue
		}
		p.text(escape(strings.Join(strings.Fields(block), " ")))
	}
}

// literal writes lines unwrapped, for examples.
func (p *page) literal(s string) {
	p.line(".nf")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		p.line(protect(escape(line)))
	}
	p.line(".fi")
}

// tagged writes a name with its description.
func (p *page) tagged(name, means string) {
	p.line(".TP")
	p.line(protect(`\fB` + escape(name) + `\fR`))
	p.text(escape(means))
}

// flags writes a section of flags, if there are any.
func (p *page) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	p.macro("SH", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + name
		}
		switch {
		case value == "":
		case f.NoOptDefVal != "":
			name += `[=\fI` + escape(value) + `\fR]`
		default:
			name += ` \fI` + escape(value) + `\fR`
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			usage += " (default " + d + ")"
		}
		p.line(".TP")
		p.line(name)
		p.text(escape(usage))
	})
}

// commands writes the list of subcommands, if there are any.
func (p *page) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.macro("SH", "COMMANDS")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			p.tagged(manualName(c)+"(1)", c.Short)
		}
	}
}

// related writes references to the pages of parent commands and subcommands.
func (p *page) related(cmd *cobra.Command) {
	var names []string
	for c := cmd.Parent(); c != nil; c = c.Parent() {
		names = append(names, manualName(c))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, manualName(c))
		}
	}
	for i, name := range names {
		after := ","
		if i == len(names)-1 {
			after = ""
		}
		p.line(strings.TrimSpace(".BR " + escape(name) + " (1)" + after))
	}
}

// escape escapes the characters of s that are special in roff.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "“", `\(lq`, "”", `\(rq`, "’", `\(cq`, "→", `\(->`).Replace(s)
}

// protect returns line so that roff does not take it for a macro.
func protect(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// lowerFirst returns a description for the NAME section, where it follows the name: with a lower-case first letter,
// unless the first word has other capitals.
func lowerFirst(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if len(word) > 1 && strings.ToLower(word[1:]) == word[1:] {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
