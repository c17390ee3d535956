package archive

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"parley/providers/llm"
	"parley/tools/diff"
)

//go:embed page.css
var css string

// escape returns text sanitized and escaped, for the text and quoted attributes of HTML.
func escape(text string) string { return html.EscapeString(sanitize(text)) }

// HTML writes the current branch of c as one page without scripts or requests, with
// its images inside, light or dark as the reader's system, and readable without its
// style. Thinking and results are folded. The page's content security policy forbids
// everything else, should any text get through as HTML.
func HTML(w io.Writer, c Conversation) error {
	b := bufio.NewWriter(w)
	hash := sha256.Sum256([]byte(css))
	fmt.Fprintf(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>%s</style>
</head>
<body>
<header>
<h1>%[2]s</h1>
<dl>
`, base64.StdEncoding.EncodeToString(hash[:]), escape(titleOf(c)), css)
	for _, f := range factsOf(c) {
		fmt.Fprintf(b, "<dt>%s</dt><dd>%s</dd>\n", f.name, escape(f.value))
	}
	b.WriteString("</dl>\n</header>\n<main>\n")
	for m := range messagesOf(c) {
		if m.switched != "" {
			fmt.Fprintf(b, "<p class=\"switch\">%s</p>\n", escape(m.switched))
		}
		m.writeHTML(b)
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.Flush()
}

func (s *message) writeHTML(b *bufio.Writer) {
	class := string(llm.RoleUser)
	switch {
	case s.Summary:
		class = "summary"
	case s.Role == llm.RoleAssistant, s.Role == llm.RoleTool:
		class = string(s.Role)
	}
	fmt.Fprintf(b, "<article class=\"%s\" id=\"m%d\">\n<h2>%s</h2>\n", class, s.Seq, escape(s.speaker()))
	if t := timestamp(s.At); t != "" {
		fmt.Fprintf(b, "<time datetime=\"%s\">%s</time>\n", s.At.UTC().Format("2006-01-02T15:04:05Z"), t)
	}
	for _, p := range s.JoinedParts() {
		s.part(b, p)
	}
	if f := s.footer(); len(f) > 0 {
		fmt.Fprintf(b, "<footer>%s</footer>\n", escape(strings.Join(f, " · ")))
	}
	b.WriteString("</article>\n")
}

func (s *message) part(b *bufio.Writer, p llm.Part) {
	switch p.Kind {
	case llm.Text:
		if name, body, ok := attachedFile(p); ok {
			fmt.Fprintf(b, "<p><code>%s</code></p>\n<pre><code>%s</code></pre>\n", escape(oneLine(name)), escape(body))
			return
		}
		b.WriteString("<div class=\"text\">\n")
		markupTo(b, p.Text)
		b.WriteString("</div>\n")
	case llm.Thinking:
		if strings.TrimSpace(p.Text) != "" {
			b.WriteString("<details class=\"thinking\"><summary>Thinking</summary>\n")
			markupTo(b, p.Text)
			b.WriteString("</details>\n")
		}
	case llm.Call:
		s.call(b, p)
	case llm.Result:
		b.WriteString("<div class=\"call\">\n")
		resultTo(b, p, nil)
		b.WriteString("</div>\n")
	case llm.Media:
		mediaTo(b, p)
	case llm.Source:
		s.sources++
		fmt.Fprintf(b, "<p class=\"source\">Source %d: ", s.sources)
		linkTo(b, p.URL, p.Title())
		b.WriteString("</p>\n")
	}
}

func (s *message) call(b *bufio.Writer, p llm.Part) {
	a := s.answers[p.ID]
	class := "call"
	if a != nil && a.result.Failed {
		class = "call failed"
	}
	fmt.Fprintf(b, "<div class=\"%s\">\n<p><span class=\"who\">%s</span> <code>%s</code></p>\n", class, toolLabel(p), escape(oneLine(p.Name)))
	fmt.Fprintf(b, "<details><summary>Arguments</summary>\n<pre><code>%s</code></pre></details>\n", escape(pretty(p.Input)))
	if a == nil {
		b.WriteString("<p>No result.</p>\n</div>\n")
		return
	}
	if a.outcome.Diff != "" {
		var r diff.Reader
		diffTo(b, a.outcome.Diff, func(line string) diff.Kind { return r.Read(line).Kind })
	}
	resultTo(b, a.result, a)
	b.WriteString("</div>\n")
}

func resultTo(b *bufio.Writer, p llm.Part, a *callResult) {
	title, text := resultTitle(p, a)
	fmt.Fprintf(b, "<details class=\"result\"><summary>%s</summary>\n<pre><code>%s</code></pre></details>\n", title, escape(text))
	if a != nil {
		for _, m := range a.media {
			mediaTo(b, m)
		}
	}
}

// mediaTo writes an image, or the description of another file, with a link if it has a URL.
func mediaTo(b *bufio.Writer, p llm.Part) {
	if mime := imageType(p.Data); mime != "" {
		fmt.Fprintf(b, "<figure><img alt=\"%s\" src=\"data:%s;base64,", escape(describeFile(p)), mime)
		e := base64.NewEncoder(base64.StdEncoding, b)
		e.Write(p.Data) // b keeps the error
		e.Close()
		b.WriteString("\"></figure>\n")
		return
	}
	fmt.Fprintf(b, "<p class=\"file\">%s", escape(describeFile(p)))
	if p.URL != "" {
		b.WriteString(": ")
		linkTo(b, p.URL, "")
	}
	b.WriteString("</p>\n")
}

// diffTo writes a diff with its lines colored by their kinds.
func diffTo(b io.Writer, changes string, kind func(line string) diff.Kind) {
	io.WriteString(b, "<pre class=\"diff\"><code>")
	for line := range strings.Lines(changes) {
		text, end := strings.CutSuffix(line, "\n")
		class := ""
		switch kind(text) {
		case diff.Hunk, diff.OldName, diff.NewName:
			class = "at"
		case diff.Added:
			class = "ins"
		case diff.Removed:
			class = "del"
		}
		if text = escape(text); class != "" {
			text = "<span class=\"" + class + "\">" + text + "</span>"
		}
		io.WriteString(b, text)
		if end {
			io.WriteString(b, "\n")
		}
	}
	io.WriteString(b, "</code></pre>\n")
}

// safeURL reports whether a link may lead to url.
func safeURL(url string) bool {
	scheme, rest, ok := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		return ok && strings.HasPrefix(rest, "//") && len(rest) > len("//")
	case "mailto":
		return ok && rest != ""
	}
	return false
}

// linkTo writes a link, or its words and url as text if safeURL forbids it. Words may be "".
func linkTo(b io.Writer, url, words string) {
	if words == "" {
		words = url
	}
	if !safeURL(url) {
		if words != url {
			words += " (" + url + ")"
		}
		io.WriteString(b, escape(oneLine(words)))
		return
	}
	fmt.Fprintf(b, `<a href="%s" rel="noreferrer">%s</a>`, escape(url), escape(oneLine(words)))
}
