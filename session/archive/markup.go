package archive

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// markup reads Markdown and writes HTML in which nothing is the text's own but
// its words. Nothing in it changes once it is made.
var markup = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // styles are forbidden
		extension.Strikethrough,
		extension.TaskList,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(inert{}, 1))),
)

// Limits on what is taken for markup. They lie far beyond what anybody writes;
// without them crafted text costs time that grows with its square.
const (
	longestText    = 2 << 20  // bytes
	longestBlock   = 32 << 10 // of lines without an empty one between, in bytes
	deepestMarkers = 60       // of quotes and lists that one line opens
)

// tame reports whether text may be read as markup. Blocks of code may be longer
// than others.
func tame(text string) bool {
	if len(text) > longestText {
		return false
	}
	block, code := 0, ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case code != "":
			if strings.HasPrefix(trimmed, code) && strings.Trim(trimmed, code[:1]) == "" {
				code = ""
			}
			block = 0
			if len(line) > longestBlock {
				return false
			}
			continue
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			code, block = trimmed[:3], 0
		case trimmed == "":
			block = 0
		}
		if block += len(line); block > longestBlock || markers(line) > deepestMarkers {
			return false
		}
	}
	return true
}

// markers is how many quotes and lists a line may open: those of its marks that
// stand before its first word.
func markers(line string) int {
	n := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '>', c == '-', c == '*', c == '+', c == ')', c == '.':
			n++
		case c == ' ', c == '\t', c >= '0' && c <= '9':
		default:
			return n
		}
	}
	if !strings.ContainsAny(line, "> \t") { // a rule
		return 0
	}
	return n
}

// markupTo writes Markdown as HTML.
func markupTo(b *bufio.Writer, text string) {
	text = visible(text)
	var out bytes.Buffer
	if !tame(text) || markup.Convert([]byte(text), &out) != nil {
		b.WriteString("<pre>" + escape(text) + "</pre>\n")
		return
	}
	b.Write(out.Bytes())
}

// inert writes what would let a text reach out of itself: its HTML as text, and
// its links and pictures as links to where links may lead.
type inert struct{}

func (inert) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, image)
	r.Register(ast.KindFencedCodeBlock, code)
}

func htmlBlock(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		n := node.(*ast.HTMLBlock)
		text := string(n.Lines().Value(src))
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(src))
		}
		w.WriteString("<p>" + escape(strings.TrimSuffix(text, "\n")) + "</p>\n")
	}
	return ast.WalkSkipChildren, nil
}

func rawHTML(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString(escape(string(node.(*ast.RawHTML).Segments.Value(src))))
	}
	return ast.WalkSkipChildren, nil
}

func link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	url := string(node.(*ast.Link).Destination)
	switch safe := safeURL(url); {
	case safe && entering:
		w.WriteString(`<a href="` + href(url) + `" rel="noreferrer">`)
	case safe:
		w.WriteString("</a>")
	case !entering && url != "":
		w.WriteString(" (" + escape(url) + ")")
	}
	return ast.WalkContinue, nil
}

// href is a destination of Markdown as an attribute.
func href(url string) string { return escape(string(util.URLEscape([]byte(url), true))) }

func autoLink(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		n := node.(*ast.AutoLink)
		url := string(n.URL(src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
			url = "mailto:" + url
		}
		if label := escape(string(n.Label(src))); safeURL(url) {
			w.WriteString(`<a href="` + href(url) + `" rel="noreferrer">` + label + "</a>")
		} else {
			w.WriteString("&lt;" + label + "&gt;")
		}
	}
	return ast.WalkSkipChildren, nil
}

// image is never loaded: that would tell somebody who reads the page, and when.
func image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	url := string(node.(*ast.Image).Destination)
	switch safe := safeURL(url); {
	case safe && entering:
		w.WriteString(`<a href="` + href(url) + `" rel="noreferrer">picture: `)
	case safe:
		w.WriteString("</a>")
	case entering:
		w.WriteString("picture: ")
	}
	return ast.WalkContinue, nil
}

func code(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.FencedCodeBlock)
	text := string(n.Lines().Value(src))
	if string(n.Language(src)) == "diff" {
		diffTo(w, text)
		return ast.WalkSkipChildren, nil
	}
	io.WriteString(w, "<pre><code>"+escape(text)+"</code></pre>\n")
	return ast.WalkSkipChildren, nil
}
