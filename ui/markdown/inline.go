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
)

// inlines returns the text of a block as runs drawn with p.
func (w *writer) inlines(n ast.Node, p pen) []run {
	if w.inline {
		return w.children(nil, n, p)
	}
	var runs []run
	for i := range n.Lines().Len() {
		runs = append(runs, run{flat(w.value(n.Lines().At(i))), p}, run{" ", p})
	}
	return runs
}

func (w *writer) children(runs []run, n ast.Node, p pen) []run {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		runs = w.node(runs, c, p)
	}
	return runs
}

func (w *writer) node(runs []run, n ast.Node, p pen) []run {
	switch n := n.(type) {
	case *ast.Text:
		s := strings.TrimRight(w.value(n.Segment), "\n")
		if !n.IsRaw() {
			s = unescape(s)
		}
		runs = append(runs, run{sanitize.Line(s), p})
		switch {
		case n.HardLineBreak():
			runs = append(runs, run{"\n", p})
		case n.SoftLineBreak():
			runs = append(runs, run{" ", p})
		}
		return runs
	case *ast.String:
		return append(runs, run{sanitize.Line(string(n.Value)), p})
	case *ast.Emphasis:
		return w.children(runs, n, with(p, []attr{italic, bold}[min(n.Level, 2)-1]))
	case *extast.Strikethrough:
		return w.children(runs, n, with(p, strike))
	case *ast.CodeSpan:
		return append(runs, run{w.codeSpan(n), pen{code, p.attr}})
	case *ast.Link:
		return w.link(runs, n, string(n.Destination), p)
	case *ast.Image:
		return w.link(append(runs, run{"image: ", pen{dim, p.attr}}), n, string(n.Destination), p)
	case *ast.AutoLink:
		return autolink(runs, n, w.raw, p)
	case *ast.RawHTML:
		return append(runs, run{flat(w.values(n.Segments)), pen{dim, p.attr}})
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return append(runs, run{"[x] ", pen{good, p.attr}})
		}
		return append(runs, run{"[ ] ", pen{dim, p.attr}})
	}
	return w.children(runs, n, p)
}

func with(p pen, a attr) pen { return pen{p.role, p.attr | a} }

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

// flat makes one line of source that goes over several.
func flat(s string) string { return sanitize.Line(strings.ReplaceAll(s, "\n", " ")) }

// codeSpan returns the text of a code span. In a table the backslash before a
// pipe belongs to the table.
func (w *writer) codeSpan(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.WriteString(w.value(t.Segment))
		}
	}
	if w.table {
		return flat(strings.ReplaceAll(b.String(), `\|`, "|"))
	}
	return flat(b.String())
}

// link writes the label and, unless it says the same, where the link leads. The
// destination is always in sight; nothing is hidden behind a label.
func (w *writer) link(runs []run, n ast.Node, dest string, p pen) []run {
	label := w.children(nil, n, p)
	dest = destination(unescape(dest))
	if dest == "" {
		return append(runs, label...)
	}
	var said strings.Builder
	for i := range label {
		said.WriteString(label[i].text)
		if linkable(dest) {
			label[i].pen = pen{accent, label[i].pen.attr}
		}
	}
	runs = append(runs, label...)
	switch said.String() {
	case dest, strings.TrimPrefix(dest, "mailto:"):
		return withHost(runs, dest, p)
	case "":
		return withHost(append(runs, run{dest, pen{dim, p.attr}}), dest, p)
	}
	return withHost(append(runs, run{" (" + dest + ")", pen{dim, p.attr}}), dest, p)
}

func autolink(runs []run, n *ast.AutoLink, raw []byte, p pen) []run {
	dest := destination(string(n.URL(raw)))
	role := accent
	if n.AutoLinkType != ast.AutoLinkEmail && !linkable(dest) {
		role = dim
	}
	return withHost(append(runs, run{sanitize.Line(string(n.Label(raw))), pen{role, p.attr}}), dest, p)
}

// withHost adds the host where user information before it could pass for one.
func withHost(runs []run, dest string, p pen) []run {
	u, err := url.Parse(dest)
	if err != nil || u.User == nil {
		return runs
	}
	return append(runs, run{" (host " + sanitize.Line(u.Host) + ")", pen{warn, p.attr}})
}

// longest sets how much of a destination that is no link is shown: data URLs have
// no end.
const longest = 200

func destination(s string) string {
	s = sanitize.Line(s)
	if !linkable(s) && len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}

// linkable reports whether a destination is one parley treats as a link.
func linkable(dest string) bool {
	scheme, _, ok := strings.Cut(dest, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return ok
	}
	return false
}

// unescape resolves backslash escapes and character references. What they stand
// for may be a control character: the result must pass through tools/sanitize.
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
			b.WriteString(html.UnescapeString(s[i : i+n+1]))
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// printable prepares a line that is shown as it is: without its end, tabs at
// every fourth cell.
func printable(line string) string {
	line = sanitize.Text(strings.TrimRight(line, "\r\n"))
	before, rest, tabs := strings.Cut(line, "\t")
	if !tabs {
		return line
	}
	var b strings.Builder
	for cells := 0; ; before, rest, tabs = strings.Cut(rest, "\t") {
		b.WriteString(before)
		if !tabs {
			return b.String()
		}
		cells += cellsOf(before)
		pad := 4 - cells%4
		b.WriteString("    "[:pad])
		cells += pad
	}
}
