// Package describe describes the effects of a tool call to the user who has to allow
// it, in the same way for every front end: as lines that a screen styles and wraps, or
// as words.
//
//	act.Action ──► Action ──► []Line ──► a dialog's rows
//	                               └─────► Words, for front ends without styles
//
// All returned text is printable and omits no part of an action. Content can never
// imitate a line of parley's own.
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

// A Style is the meaning of a line. Front ends map it to a style of the theme.
type Style uint8

const (
	Text Style = iota
	Dim
	Strong
	Added
	Removed
	Warning
	Diff // Text is the hunks of a unified diff
)

// A Line is one line of an approval. parley writes its gutter, which content
// cannot reach. Wrapped rows of a line have an arrow there, so that they cannot
// pass for separate lines. The gutter is empty or at least two cells wide.
type Line struct {
	Gutter string
	Text   string // printable
	Style  Style
	Exact  bool // highlight characters outside of ASCII, which can be mistaken for others
}

// Action returns a complete description of an action, in lines. With details it
// includes the arguments as the model sent them.
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
		lines = append(lines, wholeDiff(change)...)
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

// PlanLine returns a line of a plan, with its text unchanged. The sign in the gutter of a step
// shows its progress.
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

// heading returns the heading for a path and the rest of its diff. It removes file
// names from the diff only if they equal the path.
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

// command returns a shell command in the form in which a shell shows it.
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

// otherArguments returns all arguments except the command and the path, one per line if
// short. With details it returns the complete JSON as the model sent it.
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
		if a.Command == "" && a.Path == "" { // they are the subject of the call
			lines[i].Style = Text
		}
	}
	return lines
}

// source returns text unchanged, line by line.
func source(s string) []Line {
	var lines []Line
	for part := range strings.SplitSeq(s, "\n") {
		lines = append(lines, Line{"  ", Reveal(part), Dim, true})
	}
	return lines
}

// wholeDiff returns a diff as one line, with each line of it revealed. If it has names of files or
// anything else than hunks, which a front end may not show, it returns all its lines.
func wholeDiff(s string) []Line {
	var out strings.Builder
	for l := range diff.Lines(s) {
		switch l.Kind {
		case diff.Other, diff.OldName, diff.NewName:
			return changes(s)
		}
		out.WriteString(Reveal(l.Raw) + "\n")
	}
	return []Line{{Text: out.String(), Style: Diff}}
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

// highest returns the highest line number at the start of a hunk.
func highest(s string) (top int) {
	for l := range diff.Lines(s) {
		if l.Kind == diff.Hunk {
			top = max(top, l.Old, l.New)
		}
	}
	return top
}

// Reveal makes s printable and drops nothing: a character that is invisible, or
// looks like a plain space, is replaced by its code point.
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
	const brailleBlank = '\u2800' // Unicode classifies it as a symbol
	return strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f && (unicode.IsSpace(r) || r == brailleBlank) })
}

// markForeign names the first few characters of s outside of ASCII: NBSP and
// Cyrillic letters can make one command look like another.
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

// isVisible returns r as a string if it is visible, else "".
func isVisible(r rune) string {
	if !unicode.IsGraphic(r) || hasOddSpace(string(r)) || ansi.StringWidth(sanitize.Text(string(r))) == 0 {
		return ""
	}
	return string(r)
}
