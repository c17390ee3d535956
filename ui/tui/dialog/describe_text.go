package dialog

import (
	"fmt"
	"regexp"
	"strings"

	"parley/tools"
	"parley/tools/sanitize"
)

// What an Approval draws, in lines of words for whom it cannot be drawn. All of
// them are printable, and what an action would do is in them as wholly as in an
// Approval: they are made of the same rows.

// DescribeTitle returns which tool wants what, and what protects from it.
func DescribeTitle(a *tools.Action, online bool) string {
	title := "Tool " + sanitize.Line(reveal(a.Tool)) + " wants" + wantPhrase(a)
	if s := sandboxPhrase(a, online); s != "" {
		title += ", " + s
	}
	return title
}

// Describe describes all that an action would do. Lines of what came from outside begin
// with what cannot come from there: "$ ", "> ", "path: ", two spaces. With
// details come the arguments as the model sent them.
func Describe(a *tools.Action, details bool) []string { return toPlainLines(describe(a, details)) }

// DescribeDiff describes each line of a unified diff of one file.
func DescribeDiff(d string) []string {
	if from, rest, _ := strings.Cut(d, "\n"); strings.HasPrefix(from, "--- ") {
		_, d, _ = strings.Cut(rest, "\n")
	}
	return toPlainLines(diff(d))
}

// DescribeRule returns the rule that allows a for good, made of so many words of its
// command, 0 for the whole of it, and what it lets run.
func DescribeRule(a *tools.Action, prefix int) (rule, means string, err error) {
	r, err := tools.RuleFor(a, prefix)
	if err != nil {
		return "", "", err
	}
	means, _ = ruleMeaning(a, prefix)
	return sanitize.Line(markGaps(reveal(r.String()))), means, nil
}

// EditableText returns what a user edits of the arguments: the command, if one argument
// is that, by its name, else all of them as JSON, by the name "". See Arguments.
func EditableText(a *tools.Action) (name, text string) {
	if name, ok := commandName(a); ok {
		return name, a.Command
	}
	return "", indented(a.Input)
}

func toPlainLines(lines []line) []string {
	var out []string
	for _, l := range lines {
		text, number := markGaps(l.text), strings.TrimSpace(l.gutter)
		switch {
		case l.style == styleRemoved:
			text = "removed line " + number + ": " + strings.TrimPrefix(text, "-")
		case l.style == styleAdded:
			text = "added line " + number + ": " + strings.TrimPrefix(text, "+")
		case number == "path", number == "new file":
			text = number + ": " + text
		case number != "" && number[0] >= '0' && number[0] <= '9':
			text = "line " + number + ": " + strings.TrimPrefix(text, " ")
		case l.gutter == "  " && l.style == styleDim && !l.exact:
			text = "  " + describeHunk(text)
		default:
			text = l.gutter + text
		}
		out = append(out, strings.TrimRight(text, " "))
	}
	return out
}

// describeHunk returns where a hunk of a diff is; any other line stays as it is.
func describeHunk(head string) string {
	old, olds, now, nows := hunk(head)
	if olds+nows == 0 {
		return head
	}
	_, behind, _ := strings.Cut(strings.TrimPrefix(head, "@@"), "@@")
	at := now
	if nows == 0 {
		at = old
	}
	return strings.TrimRight(fmt.Sprintf("at line %d:%s", at, behind), " :") + ":"
}

// wideGap matches more spaces in a row than an indentation has. They could put what
// follows out of sight, or make a row of its own of it.
var wideGap = regexp.MustCompile(` {17,}`)

// markGaps returns text with long gaps by their number.
func markGaps(text string) string {
	return wideGap.ReplaceAllStringFunc(text, func(g string) string { return fmt.Sprintf(" <%d spaces> ", len(g)) })
}
