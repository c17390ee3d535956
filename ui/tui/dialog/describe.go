package dialog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/theme"
)

// A lineStyle is a style of the theme, chosen when a row is drawn.
type lineStyle uint8

const (
	styleText lineStyle = iota
	styleDim
	styleStrong
	styleAdded
	styleRemoved
	styleWarning
)

func (l lineStyle) styleIn(th *theme.Theme) lipgloss.Style {
	return [...]lipgloss.Style{th.Text, th.Dim, th.Strong, th.Good, th.Bad, th.Warn}[l]
}

// A line is one line of what an approval shows. Its gutter is written by parley
// and stands where no content can reach; the rows into which a line is wrapped
// have an arrow there, so that it cannot pass for two. It is at least two cells
// wide, or empty.
type line struct {
	gutter string
	text   string // printable
	style  lineStyle
	exact  bool // characters other than ASCII stand out: they can pass for others
}

// describe returns all that an action would do, in lines.
func describe(a *tools.Action, details bool) []line {
	var lines []line
	if a.Caution != "" {
		lines = append(lines, line{"", reveal(a.Caution), styleWarning, false})
	}
	change := a.Diff
	if a.Path != "" {
		gutter, body := heading(a.Path, a.Diff)
		lines = append(lines, line{gutter, reveal(a.Path), styleText, true})
		change = body
	}
	if a.Command != "" {
		lines = append(lines, command(a.Command)...)
	}
	if change != "" {
		lines = append(lines, diff(change)...)
	}
	if details || a.Diff == "" {
		rest := otherArguments(a, details)
		if len(rest) > 0 && len(lines) > 0 {
			lines = append(lines, line{})
		}
		lines = append(lines, rest...)
	}
	if len(lines) == 0 {
		lines = append(lines, line{"", "without arguments", styleDim, false})
	}
	if foreign := markForeign(a.Path + "\n" + a.Command); foreign != "" {
		lines = append(lines, line{"", "not ASCII, check: " + foreign, styleWarning, false})
	}
	return lines
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
func command(cmd string) []line {
	var lines []line
	for i, part := range strings.Split(cmd, "\n") {
		gutter := "$ "
		if i > 0 {
			gutter = "> "
		}
		lines = append(lines, line{gutter, strings.ReplaceAll(reveal(part), "\t", "␉   "), styleStrong, true})
	}
	return lines
}

// otherArguments returns the arguments that nothing else shows: all of them, unless the
// command or the path is one. With details it is the JSON as the model sent it.
func otherArguments(a *tools.Action, details bool) []line {
	args, err := object(a.Input)
	if err != nil || details {
		return source(indented(a.Input))
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
	return source(pretty(args))
}

// source returns text as it is, line by line.
func source(s string) []line {
	var lines []line
	for part := range strings.SplitSeq(s, "\n") {
		lines = append(lines, line{"  ", reveal(part), styleDim, true})
	}
	return lines
}

func object(input json.RawMessage) (map[string]json.RawMessage, error) {
	var args map[string]json.RawMessage
	err := json.Unmarshal(input, &args)
	return args, err
}

// pretty returns JSON for reading: indented, and with < > & as they are.
func pretty(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// diff returns a unified diff with line numbers in the gutter. What a line is follows
// from the counts in the hunk's head, not from its first bytes alone: a removed
// line that begins with "-- " is no file head.
func diff(s string) []line {
	var lines []line
	var old, now, olds, nows int // next line numbers, lines left in the hunk
	width := len(strconv.Itoa(strings.Count(s, "\n") + highest(s)))
	for part := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if olds <= 0 && nows <= 0 {
			old, olds, now, nows = hunk(part)
			if !strings.HasPrefix(part, "\\") {
				lines = append(lines, line{"  ", reveal(part), styleDim, false})
				continue
			}
		}
		l := line{style: styleText, text: reveal(part)}
		switch number := 0; {
		case strings.HasPrefix(part, "-"):
			l.style, number, old, olds = styleRemoved, old, old+1, olds-1
			l.gutter = fmt.Sprintf("%*d ", width, number)
		case strings.HasPrefix(part, "+"):
			l.style, number, now, nows = styleAdded, now, now+1, nows-1
			l.gutter = fmt.Sprintf("%*d ", width, number)
		case strings.HasPrefix(part, "\\"):
			l.style, l.gutter = styleDim, strings.Repeat(" ", width+1)
		default:
			number, old, now, olds, nows = now, old+1, now+1, olds-1, nows-1
			l.gutter = fmt.Sprintf("%*d ", width, number)
		}
		lines = append(lines, l)
	}
	return lines
}

// hunk reads the head of a hunk, such as "@@ -1,4 +1,5 @@". Counts are 0 for
// any other line, and 1 where they are left out.
func hunk(head string) (old, olds, now, nows int) {
	fields := strings.Fields(head)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" {
		return 0, 0, 0, 0
	}
	old, olds = span(fields[1], "-")
	now, nows = span(fields[2], "+")
	return old, olds, now, nows
}

func span(field, sign string) (start, count int) {
	from, n, found := strings.Cut(strings.TrimPrefix(field, sign), ",")
	start, _ = strconv.Atoi(from)
	if !found {
		return start, 1
	}
	count, _ = strconv.Atoi(n)
	return start, count
}

// highest returns the highest line number at which a hunk starts.
func highest(s string) int {
	top := 0
	for part := range strings.SplitSeq(s, "\n") {
		old, _, now, _ := hunk(part)
		top = max(top, old, now)
	}
	return top
}

// reveal makes s printable and drops nothing: what cannot be seen, or looks like
// a plain space, is told by its number.
func reveal(s string) string {
	if plain(s) {
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

func plain(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\t') || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func hasOddSpace(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f && unicode.IsSpace(r) })
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
	if !unicode.IsGraphic(r) || unicode.IsSpace(r) || ansi.StringWidth(sanitize.Text(string(r))) == 0 {
		return ""
	}
	return string(r)
}

// A row is a piece of a line that fits the width.
type row struct {
	line
	rest bool // it continues the row above
}

// wrap cuts lines into rows of at most width cells, at any character: what will
// run is shown as it is, not set as prose.
func wrap(lines []line, width int) []row {
	var rows []row
	for _, l := range lines {
		room := max(width-ansi.StringWidth(l.gutter), 1)
		first := true
		for rest := strings.ReplaceAll(l.text, "\t", "    "); first || rest != ""; first = false {
			var piece string
			piece, rest = cut(rest, room)
			r := row{l, !first}
			r.text = piece
			rows = append(rows, r)
		}
	}
	return rows
}

// cut splits s behind as many characters as fit into width cells, but at least
// one.
func cut(s string, width int) (piece, rest string) {
	used, at := 0, 0
	for at < len(s) {
		char, cells := s[at:at+1], 1
		if s[at] >= 0x7f || at+1 < len(s) && s[at+1] >= 0x7f {
			char, cells = ansi.FirstGraphemeCluster(s[at:], ansi.GraphemeWidth)
		}
		if used+cells > width && at > 0 {
			break
		}
		used += cells
		at += len(char)
	}
	return s[:at], s[at:]
}

// draw returns a row in at most width cells.
func (r row) draw(width int, th *theme.Theme) string {
	gutter := r.gutter
	if r.rest && gutter != "" {
		gutter = strings.Repeat(" ", ansi.StringWidth(gutter)-2) + "↪ "
	}
	out := th.Faint.Render(gutter)
	style := r.style.styleIn(th)
	if !r.exact || plain(r.text) {
		return ansi.Truncate(out+style.Render(r.text), width, "…")
	}
	for rest := r.text; rest != ""; {
		n := strings.IndexFunc(rest, func(c rune) bool { return c > 0x7f })
		if n != 0 {
			if n < 0 {
				n = len(rest)
			}
			out += style.Render(rest[:n])
			rest = rest[n:]
			continue
		}
		n = strings.IndexFunc(rest, func(c rune) bool { return c <= 0x7f })
		if n < 0 {
			n = len(rest)
		}
		out += underlinedSGR(th.Warn).apply(rest[:n])
		rest = rest[n:]
	}
	return ansi.Truncate(out, width, "…")
}
