package archive

import (
	"bytes"
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

// Markdown writes the current branch of c: its facts as front matter, prompts and
// responses as they are, thinking folded, and calls with their results as code
// blocks. No text can end the block it is in, and HTML in a text is escaped. It writes the front matter
// with the title, and then each message, in one piece.
func Markdown(w io.Writer, c Conversation) error {
	b := new(bytes.Buffer)
	fmt.Fprintf(b, "---\ntitle: %s\n", quote(titleOf(c)))
	for _, f := range factsOf(c) {
		fmt.Fprintf(b, "%s: %s\n", f.name, quote(f.value))
	}
	fmt.Fprintf(b, "---\n\n# %s\n", literal(titleOf(c)))
	if _, err := b.WriteTo(w); err != nil {
		return err
	}
	n := 0
	for m := range messagesOf(c) {
		if m.switched != "" {
			fmt.Fprintf(b, "\n*%s*\n", literal(m.switched))
		}
		n++
		m.writeMarkdown(b, n)
		if _, err := b.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

// quote returns text as a YAML string, in the form of a JSON string.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// literal returns a line of text with Markdown's characters escaped.
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

// writeMarkdown writes the nth message of the branch.
func (s *message) writeMarkdown(b *bytes.Buffer, n int) {
	fmt.Fprintf(b, "\n## %d. %s\n", n, literal(s.speaker()))
	if t := timestamp(s.At); t != "" {
		fmt.Fprintf(b, "\n<sub>%s</sub>\n", t)
	}
	for _, p := range s.JoinedParts() {
		if out := s.block(p); out != "" {
			b.WriteString("\n" + out + "\n")
		}
	}
	if f := s.footer(); len(f) > 0 {
		fmt.Fprintf(b, "\n<sub>%s</sub>\n", literal(strings.Join(f, " · ")))
	}
}

// block returns a part as Markdown blocks, "" if there is nothing to show.
func (s *message) block(p llm.Part) string {
	switch p.Kind {
	case llm.Text:
		if name, body, ok := attachedFile(p); ok {
			return "**" + literal(oneLine(name)) + "**\n\n" + fenced(sanitize(body), language(name))
		}
		return contained(sanitize(p.Text))
	case llm.Thinking:
		if strings.TrimSpace(p.Text) == "" {
			return ""
		}
		return foldedBlock("Thinking", fenced(sanitize(p.Text), "text"))
	case llm.Call:
		return s.callMarkdown(p)
	case llm.Result:
		return resultMarkdown(p, nil)
	case llm.Media:
		return mediaMarkdown(p)
	case llm.Source:
		p.Text = p.Title()
		s.sources++
		return fmt.Sprintf("- Source %d: %s", s.sources, mediaLink(p))
	}
	return ""
}

// language returns the language of a code block for a file of that name: its extension, or
// "text".
func language(name string) string {
	ext := strings.TrimPrefix(path.Ext(oneLine(name)), ".")
	if ext == "" || strings.ContainsFunc(ext, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return "text"
	}
	return ext
}

// foldedBlock returns body, which is a fenced code block, folded under a title.
func foldedBlock(title, body string) string {
	return "<details><summary>" + escape(title) + "</summary>\n\n" + body + "\n\n</details>"
}

func (s *message) callMarkdown(p llm.Part) string {
	out := "**" + toolLabel(p) + ": " + literal(oneLine(p.Name)) + "**\n\n" + fenced(sanitize(pretty(p.Input)), "json")
	a := s.answers[p.ID]
	if a == nil {
		return out + "\n\nNo result."
	}
	if a.outcome.Diff != "" {
		out += "\n\n" + fenced(sanitize(a.outcome.Diff), "diff")
	}
	return out + "\n\n" + resultMarkdown(a.result, a)
}

func resultMarkdown(p llm.Part, a *callResult) string {
	title, text := resultTitle(p, a)
	out := foldedBlock(title, fenced(sanitize(text), "text"))
	if a != nil {
		for _, m := range a.media {
			out += "\n\n" + mediaMarkdown(m)
		}
	}
	return out
}

func mediaMarkdown(p llm.Part) string {
	if p.URL != "" {
		return "- " + literal(describeFile(p)) + ": " + mediaLink(p)
	}
	return "- " + literal(describeFile(p))
}

// mediaLink returns the link of a part, or its text and URL if safeURL forbids a link.
func mediaLink(p llm.Part) string {
	url := oneLine(p.URL)
	if !safeURL(url) || strings.ContainsAny(url, "<> ") {
		return strings.TrimSpace(literal(oneLine(p.Text)) + " " + literal(url))
	}
	if p.Text == "" {
		return "<" + url + ">"
	}
	return "[" + literal(oneLine(p.Text)) + "](<" + url + ">)"
}

// contained returns Markdown that does not affect what follows it: HTML is escaped, and an
// open code block is closed. If it cannot be closed, all of it becomes a code block.
func contained(text string) string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if !withinLimits(text) {
		return fenced(text, "text")
	}
	for range 4 { // escaping may open or close a code block, and so make other text HTML
		before := text
		if text = escapeHTML(text); text == before {
			break
		}
	}
	if escapeHTML(text) != text {
		return fenced(text, "text")
	}
	for _, end := range []string{"", "\n```", "\n~~~", "\n" + fence(text)} {
		if isClosed(text + end) {
			return text + end
		}
	}
	return fenced(text, "text")
}

// isClosed reports whether a paragraph that follows text is parsed as one.
func isClosed(text string) bool {
	const behind = "behind"
	src := []byte(text + "\n\n" + behind + "\n")
	doc := markup().Parser().Parse(gm.NewReader(src))
	last, ok := doc.LastChild().(*ast.Paragraph)
	return ok && string(last.Lines().Value(src)) == behind
}

// escapeHTML returns Markdown with the beginnings of its HTML escaped.
func escapeHTML(text string) string {
	src := []byte(text)
	var at []int // offsets of each < to escape
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
