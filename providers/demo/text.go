package demo

import (
	"strings"
	"unicode/utf8"
)

// fence returns text as a code block. Its fence is longer than any in the text.
func fence(text, language string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}

// inlineCode returns text as inline code; text with backticks or line ends is
// quoted.
func inlineCode(text string) string {
	if strings.ContainsAny(text, "`\n") {
		return quote(text)
	}
	return "`" + text + "`"
}

// quote returns the beginning of text in quotation marks.
func quote(text string) string { return "“" + oneLine(text) + "”" }

// oneLine returns the beginning of text on one line.
func oneLine(text string) string { return truncate(strings.Join(strings.Fields(text), " "), 60) }

// truncate returns at most n characters of text, with an ellipsis if more follow.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "…"
}

// bullets returns the last items as a list.
func bullets(items []string) string {
	const most = 20
	if len(items) == 0 {
		items = []string{"nothing"}
	}
	return "- " + strings.Join(items[max(0, len(items)-most):], "\n- ")
}
