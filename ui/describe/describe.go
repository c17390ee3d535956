// Package describe puts what a tool call would do before the user who has to allow it,
// the same for every front end: lines that a screen styles and wraps, or words.
//
//	act.Action ──► Action ──► []Line ──► a dialog's rows
//	                               └─────► Words, for front ends without styles
//
// Everything it returns is printable, nothing of an action is left out, and no content
// can pass for a line of parley's own.
package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/act"
	"parley/tools/diff"
	"parley/tools/sanitize"
)

// A Style marks what a line means; a front end that has styles chooses one by it.
type Style uint8

const (
	Text Style = iota
	Dim
	Strong
	Added
	Removed
	Warning
)

// A Line is one line of what an approval shows. Its gutter is written by parley
// and stands where no content can reach; the rows into which a line is wrapped
// have an arrow there, so that it cannot pass for two. It is at least two cells
// wide, or empty.
type Line struct {
	Gutter string
	Text   string // printable
	Style  Style
	Exact  bool // characters other than ASCII stand out: they can pass for others
}

// Action returns all that an action would do, in lines. With details come the
// arguments as the model sent them.
func Action(a *act.Action, details bool) []Line {
	var lines []Line
	if a.Caution != "" {
		lines = append(lines, Line{"", sanitize.Line(Reveal(a.Caution)), Warning, false})
	}
	if a.Irreversible != "" {
		lines = append(lines, Line{"", sanitize.Line(Reveal(a.Irreversible)), Warning, false})
	}
	if a.Proposal != "" {
		for line := range strings.SplitSeq(a.Proposal, "\n") {
			l := PlanLine(line)
			l.Text = Reveal(l.Text)
			lines = append(lines, l)
		}
		if !details {
			return lines
		}
		lines = append(lines, Line{})
	}
	change := a.Diff
	if a.Path != "" {
		gutter, body := heading(a.Path, a.Diff)
		lines = append(lines, Line{gutter, sanitize.Line(Reveal(a.Path)), Text, true})
		change = body
	}
	if a.Command != "" {
		lines = append(lines, command(a.Command)...)
	}
	if change != "" {
		lines = append(lines, changes(change)...)
	}
	if details || a.Diff == "" {
		rest := otherArguments(a, details)
		if len(rest) > 0 && len(lines) > 0 {
			lines = append(lines, Line{})
		}
		lines = append(lines, rest...)
	}
	if len(lines) == 0 {
		lines = append(lines, Line{"", "without arguments", Dim, false})
	}
	if foreign := markForeign(a.Path + "\n" + a.Command); foreign != "" {
		lines = append(lines, Line{"", "not ASCII, check: " + foreign, Warning, false})
	}
	return lines
}

// PlanLine returns a line of a plan, with text as it came. The sign in the gutter of a step says
// how far that is.
func PlanLine(line string) Line {
	switch mark, indent, step := act.PlanStep(line); mark {
	case 'x':
		return Line{"✓ ", indent + step, Dim, true}
	case '>':
		return Line{"▸ ", indent + step, Strong, true}
	case ' ':
		return Line{"○ ", indent + step, Text, true}
	}
	if line = strings.TrimRight(line, "\n"); line == "" {
		return Line{}
	}
	return Line{"  ", line, Text, true}
}

// heading returns what a path is. It takes the file names off a diff that tell the
// same, and only those.
func heading(path, diff string) (gutter, body string) {
	from, rest, _ := strings.Cut(diff, "\n")
	to, body, _ := strings.Cut(rest, "\n")
	switch {
	case to != "+++ b/"+path:
	case from == "--- a/"+path:
		return "path  ", body
	case from == "--- /dev/null":
		return "new file  ", body
	}
	return "path  ", diff
}

// command returns a shell command as a shell would show it.
func command(cmd string) []Line {
	var lines []Line
	for i, part := range strings.Split(cmd, "\n") {
		gutter := "$ "
		if i > 0 {
			gutter = "> "
		}
		lines = append(lines, Line{gutter, strings.ReplaceAll(Reveal(part), "\t", "␉   "), Strong, true})
	}
	return lines
}

// otherArguments returns the arguments that nothing else shows: all of them, unless the
// command or the path is one; each on a line, if it has room on one. With details it is the
// JSON as the model sent it.
func otherArguments(a *act.Action, details bool) []Line {
	args, err := object(a.Input)
	if err != nil || details {
		return source(Indented(a.Input))
	}
	for name, value := range args {
		var s string
		if json.Unmarshal(value, &s) == nil && s != "" && (s == a.Command || s == a.Path) {
			delete(args, name)
		}
	}
	if len(args) == 0 {
		return nil
	}
	lines := source(listed(args))
	for i := range lines {
		if a.Command == "" && a.Path == "" { // they are what it is about
			lines[i].Style = Text
		}
	}
	return lines
}

// source returns text as it is, line by line.
func source(s string) []Line {
	var lines []Line
	for part := range strings.SplitSeq(s, "\n") {
		lines = append(lines, Line{"  ", Reveal(part), Dim, true})
	}
	return lines
}

// changes returns a unified diff with line numbers in the gutter.
func changes(s string) []Line {
	var lines []Line
	width := len(strconv.Itoa(strings.Count(s, "\n") + highest(s)))
	for l := range diff.Lines(s) {
		line := Line{fmt.Sprintf("%*d ", width, cmp.Or(l.New, l.Old)), Reveal(l.Raw), Text, false}
		switch l.Kind {
		case diff.Added:
			line.Style = Added
		case diff.Removed:
			line.Style = Removed
		case diff.Context:
		case diff.Note:
			line.Gutter, line.Style = strings.Repeat(" ", width+1), Dim
		default:
			line.Gutter, line.Style = "  ", Dim
		}
		lines = append(lines, line)
	}
	return lines
}

// highest returns the highest line number at which a hunk starts.
func highest(s string) (top int) {
	for l := range diff.Lines(s) {
		if l.Kind == diff.Hunk {
			top = max(top, l.Old, l.New)
		}
	}
	return top
}

// Reveal makes s printable and drops nothing: what cannot be seen, or looks like
// a plain space, is told by its number.
func Reveal(s string) string {
	if IsPlain(s) {
		return s
	}
	var out strings.Builder
	for rest := s; rest != ""; {
		char, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		rest = rest[len(char):]
		shown, dropped := sanitize.Counted(char)
		if dropped == 0 && (ansi.StringWidth(shown) > 0 || char == "\t") && !hasOddSpace(char) {
			out.WriteString(shown)
			continue
		}
		for _, r := range char {
			shown := sanitize.Text(string(r))
			if ansi.StringWidth(shown) == 0 || hasOddSpace(string(r)) {
				shown = fmt.Sprintf("<U+%04X>", r)
			}
			out.WriteString(shown)
		}
	}
	return out.String()
}

// IsPlain reports whether s is printable ASCII and tabs.
func IsPlain(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\t') || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func hasOddSpace(s string) bool {
	const brailleBlank = '\u2800' // Unicode counts it among the signs
	return strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f && (unicode.IsSpace(r) || r == brailleBlank) })
}

// markForeign names the characters of s that are not ASCII, the first few of
// them: NBSP and Cyrillic letters can make one command look like another.
func markForeign(s string) string {
	const most = 8
	var seen []rune
	for _, r := range s {
		if r > 0x7f && !slices.Contains(seen, r) {
			seen = append(seen, r)
		}
		if len(seen) > most {
			break
		}
	}
	var names []string
	for _, r := range seen[:min(len(seen), most)] {
		names = append(names, strings.TrimSpace(fmt.Sprintf("U+%04X %s", r, isVisible(r))))
	}
	if len(seen) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// isVisible returns r itself if that shows anything.
func isVisible(r rune) string {
	if !unicode.IsGraphic(r) || hasOddSpace(string(r)) || ansi.StringWidth(sanitize.Text(string(r))) == 0 {
		return ""
	}
	return string(r)
}
