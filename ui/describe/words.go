package describe

import (
	"fmt"
	"strings"

	"parley/tools/act"
	"parley/tools/diff"
	"parley/tools/lazy"
)

// Words describes all that an action would do. Lines of what came from outside begin
// with what cannot come from there: "$ ", "> ", "path: ", two spaces. With
// details come the arguments as the model sent them.
func Words(a *act.Action, details bool) []string { return plainLines(Action(a, details)) }

// DiffWords describes each line of a unified diff of one file, but for its name, and
// counts those that were added and removed.
func DiffWords(d string) (words []string, added, removed int) {
	if from, rest, _ := strings.Cut(d, "\n"); strings.HasPrefix(from, "--- ") {
		_, d, _ = strings.Cut(rest, "\n")
	}
	lines := changes(d)
	for _, l := range lines {
		switch l.Style {
		case Added:
			added++
		case Removed:
			removed++
		}
	}
	return plainLines(lines), added, removed
}

func plainLines(lines []Line) []string {
	var out []string
	for _, l := range lines {
		text, number := markGaps(l.Text), strings.TrimSpace(l.Gutter)
		switch {
		case l.Style == Removed:
			text = "removed line " + number + ": " + strings.TrimPrefix(text, "-")
		case l.Style == Added:
			text = "added line " + number + ": " + strings.TrimPrefix(text, "+")
		case number == "path", number == "new file":
			text = number + ": " + text
		case number != "" && number[0] >= '0' && number[0] <= '9':
			text = "line " + number + ": " + strings.TrimPrefix(text, " ")
		case l.Gutter == "  " && l.Style == Dim && !l.Exact:
			text = "  " + describeHunk(text)
		default:
			text = l.Gutter + text
		}
		out = append(out, strings.TrimRight(text, " "))
	}
	return out
}

// describeHunk returns where a hunk of a diff is; any other line stays as it is.
func describeHunk(head string) string {
	var r diff.Reader
	hunk := r.Read(head)
	old, now := r.Left()
	if old+now == 0 {
		return head
	}
	_, behind, _ := strings.Cut(strings.TrimPrefix(head, "@@"), "@@")
	at := hunk.New
	if now == 0 {
		at = hunk.Old
	}
	return strings.TrimRight(fmt.Sprintf("at line %d:%s", at, behind), " :") + ":"
}

// wideGap matches more spaces in a row than an indentation has. They could put what
// follows out of sight, or make a row of its own of it.
var wideGap = lazy.NewRegexp(` {17,}`)

// markGaps returns text with long gaps by their number.
func markGaps(text string) string {
	return wideGap.ReplaceAllStringFunc(text, func(g string) string { return fmt.Sprintf(" <%d spaces> ", len(g)) })
}
