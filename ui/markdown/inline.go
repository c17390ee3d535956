package markdown

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
)

// inlines returns the text of a block as runs with the style p.
func (w *writer) inlines(n ast.Node, p textStyle) []styledRun {
	if w.inline {
		return w.children(nil, n, p)
	}
	var runs []styledRun
	for i := range n.Lines().Len() {
		if i > 0 {
			runs = append(runs, styledRun{w.styles.softBreak(), p})
		}
		runs = append(runs, styledRun{oneLine(w.value(n.Lines().At(i))), p})
	}
	return runs
}

func (w *writer) children(runs []styledRun, n ast.Node, p textStyle) []styledRun {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		runs = w.node(runs, c, p)
	}
	return runs
}

func (w *writer) node(runs []styledRun, n ast.Node, p textStyle) []styledRun {
	switch n := n.(type) {
	case *ast.Text:
		s := strings.TrimRight(w.value(n.Segment), "\n")
		if !n.IsRaw() {
			s = unescape(s)
		}
		runs = append(runs, styledRun{sanitize.Line(s), p})
		switch {
		case n.HardLineBreak():
			runs = append(runs, styledRun{"\n", p})
		case n.SoftLineBreak():
			runs = append(runs, styledRun{w.styles.softBreak(), p})
		}
		return runs
	case *ast.String: // math
		for i, line := range strings.Split(MathText(string(n.Value)), "\n") {
			if i > 0 {
				runs = append(runs, styledRun{"\n", p})
			}
			runs = append(runs, styledRun{sanitize.Line(strings.TrimSuffix(line, "\r")), p})
		}
		return runs
	case *ast.Emphasis:
		mark := w.src[n.Pos() : n.Pos()+1]
		if n.Parent().Kind() == ast.KindEmphasis && n.Parent().ChildCount() == 1 {
			mark = "" // the mark of the other emphasis is enough
		}
		return w.marked(runs, n, p, []attr{italic, bold}[min(n.Level, 2)-1], mark)
	case *extast.Strikethrough:
		return w.marked(runs, n, p, strike, "~~")
	case *ast.CodeSpan:
		return append(runs, styledRun{w.codeSpan(n), textStyle{voice, p.attr}})
	case *ast.Link:
		return w.link(runs, n, string(n.Destination), p)
	case *ast.Image:
		return w.link(append(runs, styledRun{"image: ", textStyle{dim, p.attr}}), n, string(n.Destination), p)
	case *ast.AutoLink:
		return autolink(runs, n, w.raw, p)
	case *ast.RawHTML:
		return append(runs, styledRun{oneLine(w.values(n.Segments)), textStyle{dim, p.attr}})
	case *extast.TaskCheckBox:
		if list, ok := n.Parent().Parent().Parent().(*ast.List); ok && list.IsOrdered() {
			return append(runs, taskSign(n), styledRun{" ", p})
		}
		return runs // it is the item's sign
	}
	return w.children(runs, n, p)
}

// taskSign returns the sign of a task.
func taskSign(box *extast.TaskCheckBox) styledRun {
	if box.IsChecked {
		return styledRun{"☑", textStyle{role: good}}
	}
	return styledRun{"☐", textStyle{role: dim}}
}

// marked appends the text of n with an attribute, between marks if the theme does not show the attribute.
func (w *writer) marked(runs []styledRun, n ast.Node, p textStyle, a attr, mark string) []styledRun {
	if w.styles.shows(textStyle{attr: a}) {
		mark = ""
	}
	runs = append(runs, styledRun{mark, p})
	return append(w.children(runs, n, textStyle{p.role, p.attr | a}), styledRun{mark, p})
}

// value returns the source of a segment.
func (w *writer) value(s text.Segment) string {
	v := w.src[s.Start:s.Stop]
	if s.Padding > 0 {
		v = strings.Repeat(" ", s.Padding) + v
	}
	if s.ForceNewline && !strings.HasSuffix(v, "\n") {
		v += "\n"
	}
	return v
}

// values returns the source of several segments.
func (w *writer) values(ss *text.Segments) string {
	var b strings.Builder
	for i := range ss.Len() {
		b.WriteString(w.value(ss.At(i)))
	}
	return b.String()
}

// oneLine returns multi-line source as one line.
func oneLine(s string) string { return sanitize.Line(strings.ReplaceAll(s, "\n", " ")) }

// codeSpan returns the text of a code span, between backticks if the theme does not show code. In
// a table, the backslash before a pipe belongs to the table syntax.
func (w *writer) codeSpan(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.WriteString(w.value(t.Segment))
		}
	}
	text, mark := oneLine(b.String()), "`"
	if w.table {
		text = strings.ReplaceAll(text, `\|`, "|")
	}
	if w.styles.shows(textStyle{role: voice}) {
		return text
	}
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + text + mark
}

// link appends the label and, unless it is the same, the destination, so that a label
// hides nothing.
func (w *writer) link(runs []styledRun, n ast.Node, dest string, p textStyle) []styledRun {
	label := w.children(nil, n, p)
	dest = destination(unescape(dest))
	if dest == "" {
		return append(runs, label...)
	}
	var said strings.Builder
	for i := range label {
		said.WriteString(label[i].text)
		if linkable(dest) {
			label[i].style = textStyle{voice, label[i].style.attr | underline}
		}
	}
	runs = append(runs, label...)
	switch said.String() {
	case dest, strings.TrimPrefix(dest, "mailto:"):
		return withHost(runs, dest, p)
	case "":
		return withHost(append(runs, styledRun{dest, textStyle{dim, p.attr}}), dest, p)
	}
	return withHost(append(runs, styledRun{" (" + dest + ")", textStyle{dim, p.attr}}), dest, p)
}

func autolink(runs []styledRun, n *ast.AutoLink, raw []byte, p textStyle) []styledRun {
	dest := destination(string(n.URL(raw)))
	look := textStyle{voice, p.attr | underline}
	if n.AutoLinkType != ast.AutoLinkEmail && !linkable(dest) {
		look = textStyle{dim, p.attr}
	}
	return withHost(append(runs, styledRun{sanitize.Line(string(n.Label(raw))), look}), dest, p)
}

// withHost appends the host if dest has user information, which could look like a host.
func withHost(runs []styledRun, dest string, p textStyle) []styledRun {
	u, err := url.Parse(dest)
	if err != nil || u.User == nil {
		return runs
	}
	return append(runs, styledRun{" (host " + sanitize.Line(u.Host) + ")", textStyle{warn, p.attr}})
}

// maxDestination is the maximum number of displayed bytes of a destination that is not
// linkable, such as a data URL.
const maxDestination = 200

func destination(s string) string {
	s = sanitize.Line(s)
	if !linkable(s) {
		return sanitize.TruncateBytes(s, maxDestination)
	}
	return s
}

// linkable reports whether a destination is a web or mail address.
func linkable(dest string) bool {
	scheme, _, ok := strings.Cut(dest, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return ok
	}
	return false
}

// unescape resolves backslash escapes and character references. The result may
// contain control characters, so it must pass through tools/sanitize.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			n := strings.IndexByte(s[i:min(len(s), i+40)], ';')
			if n < 0 {
				b.WriteByte('&')
				continue
			}
			if entity := html.UnescapeString(s[i : i+n+1]); entity == ";" || !strings.HasSuffix(entity, ";") {
				b.WriteString(entity)
				i += n
				continue
			}
			b.WriteByte('&') // html.UnescapeString also replaces prefixes of a name
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// printable returns a line sanitized, without its newline, with tab stops at every fourth cell.
func printable(line string) string {
	return textwrap.ExpandTabs(sanitize.Text(strings.TrimRight(line, "\r\n")), 4)
}
