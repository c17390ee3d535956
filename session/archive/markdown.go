package archive

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	gm "github.com/yuin/goldmark/text"

	"parley/providers/llm"
)

// Markdown writes the current branch of c to be read: what is known of it as
// front matter, what people and models said as it is, thinking folded, and calls
// with their results as blocks of code. Nothing inside a block can end it, and
// HTML in a text is shown, not taken for HTML.
func Markdown(w io.Writer, c Conversation) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "---\ntitle: %s\n", quote(c.title()))
	for _, f := range c.facts() {
		fmt.Fprintf(b, "%s: %s\n", f.name, quote(f.value))
	}
	fmt.Fprintf(b, "---\n\n# %s\n", literal(c.title()))
	for i, m := range c.steps() {
		if m.switched != "" {
			fmt.Fprintf(b, "\n*%s*\n", literal(m.switched))
		}
		m.markdown(b, i+1)
	}
	return b.Flush()
}

// quote returns text as a string of YAML, which takes those of JSON.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// literal returns text of one line that Markdown leaves alone.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[]<>&#!|~$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// markdown writes the nth message of the branch.
func (s *message) markdown(b *bufio.Writer, n int) {
	fmt.Fprintf(b, "\n## %d. %s\n", n, literal(s.speaker()))
	if t := timestamp(s.At); t != "" {
		fmt.Fprintf(b, "\n<sub>%s</sub>\n", t)
	}
	for _, p := range s.Parts {
		if out := s.block(p); out != "" {
			b.WriteString("\n" + out + "\n")
		}
	}
	if f := s.footer(); len(f) > 0 {
		fmt.Fprintf(b, "\n<sub>%s</sub>\n", literal(strings.Join(f, " · ")))
	}
}

// block returns a part as blocks of Markdown, "" if there is nothing to show.
func (s *message) block(p llm.Part) string {
	switch p.Kind {
	case llm.Text:
		if name, body, ok := attached(p); ok {
			return "**" + literal(oneLine(name)) + "**\n\n" + fenced(sanitize(body), language(name))
		}
		return contained(sanitize(p.Text))
	case llm.Thinking:
		if strings.TrimSpace(p.Text) == "" {
			return ""
		}
		return folded("Thinking", fenced(sanitize(p.Text), "text"))
	case llm.Call:
		return s.called(p)
	case llm.Result:
		return result(p, nil)
	case llm.Media:
		return media(p)
	case llm.Source:
		p.Text = p.Title()
		s.sources++
		return fmt.Sprintf("- Source %d: %s", s.sources, linked(p))
	}
	return ""
}

// language returns what the name of a file says about its text.
func language(name string) string {
	ext := strings.TrimPrefix(path.Ext(oneLine(name)), ".")
	if ext == "" || strings.ContainsFunc(ext, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return "text"
	}
	return ext
}

// folded returns a body that opens on a click. Body is a block of code, in which
// nothing can close it.
func folded(title, body string) string {
	return "<details><summary>" + escape(title) + "</summary>\n\n" + body + "\n\n</details>"
}

func (s *message) called(p llm.Part) string {
	out := "**" + toolLabel(p) + ": " + literal(oneLine(p.Name)) + "**\n\n" + fenced(sanitize(pretty(p.Input)), "json")
	a := s.answers[p.ID]
	if a == nil {
		return out + "\n\nNo result."
	}
	if a.outcome.Diff != "" {
		out += "\n\n" + fenced(sanitize(a.outcome.Diff), "diff")
	}
	return out + "\n\n" + result(a.result, a)
}

func result(p llm.Part, a *callResult) string {
	title, text := titled(p, a)
	out := folded(title, fenced(sanitize(text), "text"))
	if a != nil {
		for _, m := range a.media {
			out += "\n\n" + media(m)
		}
	}
	return out
}

func media(p llm.Part) string {
	if p.URL != "" {
		return "- " + literal(described(p)) + ": " + linked(p)
	}
	return "- " + literal(described(p))
}

// linked returns where a part leads to.
func linked(p llm.Part) string {
	url := oneLine(p.URL)
	if !safeURL(url) || strings.ContainsAny(url, "<> ") {
		return strings.TrimSpace(literal(oneLine(p.Text)) + " " + literal(url))
	}
	if p.Text == "" {
		return "<" + url + ">"
	}
	return "[" + literal(oneLine(p.Text)) + "](<" + url + ">)"
}

// contained returns Markdown that cannot reach beyond its end: HTML is escaped, and a
// block of code that was left open is closed. What cannot be closed is shown as
// code.
func contained(text string) string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if !withinLimits(text) {
		return fenced(text, "text")
	}
	for range 4 { // what was HTML may begin a block of code, and end one that held HTML
		before := text
		if text = unhtml(text); text == before {
			break
		}
	}
	if unhtml(text) != text {
		return fenced(text, "text")
	}
	for _, end := range []string{"", "\n```", "\n~~~", "\n" + fence(text)} {
		if closed(text + end) {
			return text + end
		}
	}
	return fenced(text, "text")
}

// closed reports whether a paragraph behind text is one.
func closed(text string) bool {
	const behind = "behind"
	src := []byte(text + "\n\n" + behind + "\n")
	doc := markup().Parser().Parse(gm.NewReader(src))
	last, ok := doc.LastChild().(*ast.Paragraph)
	return ok && string(last.Lines().Value(src)) == behind
}

// unhtml returns Markdown with the beginnings of its HTML escaped.
func unhtml(text string) string {
	src := []byte(text)
	var at []int // of what to escape
	line := func(s gm.Segment) {
		for k := s.Start; k < s.Stop; k++ {
			if src[k] == '<' {
				at = append(at, k)
			}
		}
	}
	mark := func(lines *gm.Segments) {
		for i := range lines.Len() {
			line(lines.At(i))
		}
	}
	doc := markup().Parser().Parse(gm.NewReader(src))
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			mark(n.Lines())
			if n.HasClosure() {
				line(n.ClosureLine)
			}
		case *ast.RawHTML:
			mark(n.Segments)
		}
		return ast.WalkContinue, nil
	})
	slices.Sort(at)
	var b strings.Builder
	from := 0
	for _, k := range slices.Compact(at) {
		b.WriteString(text[from:k] + "&lt;")
		from = k + 1
	}
	return b.String() + text[from:]
}
