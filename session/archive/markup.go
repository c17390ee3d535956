package archive

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	gm "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parley/tools/diff"
)

// markup converts Markdown to HTML, in which HTML of the text is escaped.
var markup = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // styles are forbidden
			extension.Strikethrough,
			extension.TaskList,
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeRenderer{}, 1))),
	)
})

// blocks parses only the block structure of a text.
var blocks = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
})

// Limits on what is parsed as markup. They are far beyond what anybody writes;
// without them crafted text costs time that grows with the square of its length.
const (
	longestText    = 2 << 20  // bytes
	longestBlock   = 32 << 10 // that is searched for inline markup, in bytes
	mostLines      = 1000     // of such a block: each may define a link
	mostBrackets   = 500      // of such a block: each may begin a link
	deepestMarkers = 60       // of quotes and lists that one line opens
	deepestIndent  = 120      // of a line that opens a list, in columns
)

// withinLimits reports whether text may be read as markup.
func withinLimits(text string) bool {
	if len(text) > longestText {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if markers(line) > deepestMarkers {
			return false
		}
	}
	src := []byte(text)
	fits := true
	ast.Walk(blocks().Parse(gm.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Type() != ast.TypeBlock || n.Kind() == ast.KindFencedCodeBlock || n.Kind() == ast.KindCodeBlock || !entering {
			return ast.WalkContinue, nil
		}
		lines := n.Lines()
		if lines.Len() == 0 {
			return ast.WalkContinue, nil
		}
		block := src[lines.At(0).Start:lines.At(lines.Len()-1).Stop]
		if len(block) > longestBlock || lines.Len() > mostLines || bytes.Count(block, []byte("[")) > mostBrackets {
			fits = false
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return fits
}

// markers returns how many quotes and lists a line may open: the marks before its first
// word. With a deep indent it is more than deepestMarkers.
func markers(line string) int {
	n, indent := 0, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '>', c == '-', c == '*', c == '+', c == ')', c == '.':
			if n++; indent > deepestIndent {
				return deepestMarkers + 1
			}
		case c == ' ':
			indent++
		case c == '\t':
			indent += 4
		case c >= '0' && c <= '9':
		default:
			return n
		}
	}
	if !strings.ContainsAny(strings.TrimSpace(line), "> \t") { // a rule
		return 0
	}
	return n
}

// markupTo writes text as HTML, or as it is if it is beyond the limits.
func markupTo(b *bufio.Writer, text string) {
	text = sanitize(text)
	var out bytes.Buffer
	if !withinLimits(text) || markup().Convert([]byte(text), &out) != nil {
		b.WriteString("<pre>" + escape(text) + "</pre>\n")
		return
	}
	b.Write(out.Bytes())
}

// safeRenderer renders the nodes that would be unsafe: HTML as text, and links and images
// as links, if safeURL allows it.
type safeRenderer struct{}

func (safeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
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

// image renders an image as a link: loading it would tell a server who reads the page, and when.
func image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	url := string(node.(*ast.Image).Destination)
	inside := false // within a link, which cannot hold another
	for n := node.Parent(); n != nil && !inside; n = n.Parent() {
		inside = n.Kind() == ast.KindLink || n.Kind() == ast.KindImage
	}
	switch safe := !inside && safeURL(url); {
	case safe && entering:
		w.WriteString(`<a href="` + href(url) + `" rel="noreferrer">image: `)
	case safe:
		w.WriteString("</a>")
	case entering:
		w.WriteString("image: ")
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
		diffTo(w, text, diff.Guess)
		return ast.WalkSkipChildren, nil
	}
	io.WriteString(w, "<pre><code>"+escape(text)+"</code></pre>\n")
	return ast.WalkSkipChildren, nil
}
