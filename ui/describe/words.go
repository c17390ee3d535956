package describe

import (
	"fmt"
	"strings"

	"parley/tools/act"
	"parley/tools/diff"
	"parley/tools/lazy"
)

// Words describes an action completely. Lines with text from outside begin with a
// prefix that such text cannot imitate: "$ ", "> ", "path: ", two spaces. With
// details it includes the arguments as the model sent them.
func Words(a *act.Action, details bool) []string { return plainLines(Action(a, details)) }

// DiffWords describes each line of a unified diff of one file, except the file name,
// and counts added and removed lines.
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
		if l.Style == Diff {
			out = append(out, plainLines(changes(strings.TrimSuffix(l.Text, "\n")))...)
			continue
		}
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

// describeHunk describes the position of a diff hunk; it returns any other line unchanged.
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

// wideGap matches more consecutive spaces than any indentation has. They could push
// the following text out of sight, or onto a separate row.
var wideGap = lazy.NewRegexp(` {17,}`)

// markGaps replaces long gaps by their number of spaces.
func markGaps(text string) string {
	return wideGap.ReplaceAllStringFunc(text, func(g string) string { return fmt.Sprintf(" <%d spaces> ", len(g)) })
}
