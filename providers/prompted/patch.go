package prompted

import (
	"slices"
	"strings"

	"parley/providers/filter"
	"parley/tools/lazy"
)

// Titles of system prompt sections about the form of calls, the use of tools, and the form of
// replies.
const (
	callTitles = `(?:function|tool)[ _-]?call(?:s|ing)?`
	toolTitles = `tool[ _-]?(?:use|usage)|(?:using|use of) (?:tools|functions)|how to (?:use|call) (?:tools|functions)|functions|tools`
	formTitles = `(?:output|response|reply|answer)[ _-]?format(?:s|ting)?|format of (?:your |the )?(?:output|responses?|repl(?:y|ies)|answers?)`
)

var (
	// A Markdown heading; a label that ends with a colon, possibly followed by text; a line in
	// bold; a tag that opens a section.
	heading = lazy.NewRegexp(`^[ \t]{0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	label   = lazy.NewRegexp(`^[ \t]*(?:[-*>][ \t]+)?(?:\*\*|__)?(\w[\w /-]{1,48}?)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?(?:[ \t]+(\S.*))?$`)
	bold    = lazy.NewRegexp(`^[ \t]*(?:\*\*|__)(\w[\w /-]{1,48}?)(?:\*\*|__)[ \t]*$`)
	tag     = lazy.NewRegexp(`^[ \t]*<([a-zA-Z][\w-]*)>`)

	callTitle = lazy.NewRegexp(`(?i)^(?:\d+[.)][ \t]*)?(?:` + callTitles + `)(?: \w+)?$`)
	formTitle = lazy.NewRegexp(`(?i)^(?:\d+[.)][ \t]*)?(?:` + toolTitles + `|` + formTitles + `)(?: \w+)?$`)

	// Words in a section that is about form rather than content.
	formal = lazy.NewRegexp(`(?i)\b(?:json|xml|yaml|toml|csv|html|plain[ -]text|code (?:block|fence)s?|tags?|schema)\b|</?[a-z][\w:-]*[ />]|["']\w+["']\s*:`)

	// Examples of calls in XML.
	callTag = lazy.NewRegexp(`(?i)<(tool_calls?|function_calls?|tool_use|invoke|xai:function_calls?)\b[^>]*>|<function=`)
)

// removeFormSections removes descriptions of other forms of replies or calls from a system prompt:
// sections with such titles, which the strategy's own sections replace, and examples of calls.
// Replaced names the removed parts.
func removeFormSections(system string) (patched string, replaced []string) {
	lines := strings.SplitAfter(system, "\n")
	var out strings.Builder
	for i := 0; i < len(lines); {
		n, name := section(lines[i:])
		if n == 0 {
			n, name = exampleLength(lines[i:]), exampleTitle
		}
		if n == 0 {
			out.WriteString(lines[i])
			i++
			continue
		}
		if !slices.Contains(replaced, name) {
			replaced = append(replaced, name)
		}
		if name == exampleTitle {
			out.WriteString("(Calls: see \"Reply format\" below.)\n")
		}
		i += n
	}
	if replaced == nil {
		return system, nil
	}
	return out.String(), replaced
}

// exampleTitle is the name of an example of a call.
const exampleTitle = "an example of a call"

// section returns the number of lines of the section at the start of lines, and its title, if it
// describes another form; 0 if it does not.
func section(lines []string) (n int, title string) {
	line := strings.TrimRight(lines[0], "\r\n")
	if small := strings.ToLower(line); !strings.Contains(small, "tool") && !strings.Contains(small, "function") && !strings.Contains(small, "format") {
		return 0, "" // the usual case
	}
	if m := heading.FindStringSubmatch(line); m != nil {
		title = strings.Trim(m[2], "*_: ")
		n = untilHeading(lines, len(m[1]))
	} else if m := tag.FindStringSubmatch(line); m != nil && !callTag.MatchString(m[0]) {
		title = m[1]
		n = untilTag(lines, "</"+m[1]+">")
	} else if name, behind, ok := parseLabel(line); ok {
		title = name
		n = untilParagraph(lines, behind != "")
	}
	switch {
	case n == 0:
		return 0, ""
	case callTitle.MatchString(title):
		return n, title
	case formTitle.MatchString(title) && formal.MatchString(strings.Replace(strings.Join(lines[:n], ""), title, "", 2)):
		return n, title
	}
	return 0, ""
}

// untilHeading counts the lines before the next heading of this level or a higher one.
func untilHeading(lines []string, level int) int {
	fence := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fence = !fence
		}
		if m := heading.FindStringSubmatch(strings.TrimRight(line, "\r\n")); i > 0 && !fence && m != nil && len(m[1]) <= level {
			return i
		}
	}
	return len(lines)
}

// untilTag counts lines to the one with the tag that closes; 0 if there is none.
func untilTag(lines []string, closing string) int {
	for i, line := range lines {
		if strings.Contains(line, closing) {
			return i + 1
		}
	}
	return 0
}

// untilParagraph counts the lines that belong to a label: with text after it,
// those that continue it; else all up to the next title, or to a paragraph that
// is neither a list nor an example.
func untilParagraph(lines []string, inline bool) int {
	fence, blank := false, false
	for i, line := range lines[1:] {
		text := strings.TrimSpace(line)
		belongs := text == "" || line[0] == ' ' || line[0] == '\t' || strings.ContainsAny(text[:1], "-*+<{[`|") || text[0] >= '0' && text[0] <= '9'
		switch {
		case strings.HasPrefix(text, "```"):
			fence = !fence
		case fence:
		case heading.MatchString(text), isTitle(text):
			return i + 1
		case !belongs && (blank || inline):
			return i + 1
		case inline && text == "":
			return i + 1
		}
		blank = text == ""
	}
	return len(lines)
}

// parseLabel returns the label of a line, and the text after it.
func parseLabel(line string) (name, behind string, ok bool) {
	if m := label.FindStringSubmatch(line); m != nil {
		return m[1], m[2], true
	}
	if m := bold.FindStringSubmatch(line); m != nil {
		return m[1], "", true
	}
	return "", "", false
}

// isTitle reports whether a line is a label with nothing after it.
func isTitle(line string) bool {
	_, behind, ok := parseLabel(line)
	return ok && behind == ""
}

// exampleLength returns how many lines an example of a call has that lines begin with;
// 0 if they begin with none.
func exampleLength(lines []string) int {
	text := strings.TrimSpace(lines[0])
	if text == "" || !strings.ContainsAny(text[:1], "`<{") {
		return 0
	}
	if strings.HasPrefix(text, "```") {
		for i, line := range lines[1:] {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				if isCall(strings.Join(lines[1:i+1], "")) {
					return i + 2
				}
				return 0
			}
		}
		return 0
	}
	if m := callTag.FindStringSubmatchIndex(text); m != nil && m[0] == 0 {
		name := "function"
		if m[2] >= 0 {
			name = text[m[2]:m[3]]
		}
		return untilTag(lines, "</"+name+">")
	}
	if strings.HasPrefix(text, "{") && isCall(text) {
		return 1
	}
	return 0
}

// isCall reports whether text contains a call in XML or JSON.
func isCall(text string) bool { return callTag.MatchString(text) || filter.IsCallJSON(text) }
