// Package webpage converts HTML documents to text with only their visible content.
package webpage

import (
	"errors"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A webpage is a parsed HTML document, reduced to its visible content.
type webpage struct {
	root   *html.Node
	title  string
	base   *url.URL // of its links
	hidden int
}

// hidesText reports whether an element shows no text, or text that is not part of the page.
func hidesText(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Frame,
		atom.Object, atom.Embed, atom.Applet, atom.Canvas, atom.Svg, atom.Math,
		atom.Audio, atom.Video, atom.Head, atom.Input, atom.Textarea, atom.Select,
		atom.Datalist, atom.Link, atom.Meta:
		return true
	}
	return false
}

// Render returns the title and the text of the page at an address, as Markdown or plain text, and the
// number of elements that were removed because they are not visible.
func Render(text string, at *url.URL, markdown bool) (title, body string, hidden int, err error) {
	p, err := parse(text, at)
	if err != nil {
		return "", "", 0, err
	}
	if title = p.title; !markdown {
		return title, p.toText(), p.hidden, nil
	}
	body, err = p.toMarkdown()
	return title, body, p.hidden, err
}

// parse reads a page.
func parse(text string, at *url.URL) (page *webpage, err error) {
	unreadable := errors.New("its HTML cannot be read; the format raw shows it as it is")
	defer func() {
		if recover() != nil { // the parser panics if a page is nested too deeply
			page, err = nil, unreadable
		}
	}()
	page = &webpage{base: at}
	page.root, err = html.Parse(strings.NewReader(boundParsing(text)))
	if err != nil {
		return nil, unreadable
	}
	page.readHead(page.root)
	page.prune(page.root)
	return page, nil
}

// longestText is the approximate limit for the text of one node, in bytes.
const longestText = 4 << 10

// boundParsing adapts a page so that html.Parse takes linear time. html.Parse compares the attributes of each
// further html and body tag with all earlier ones, and copies a node's text for each piece it appends, such as
// between ignored tags. So further tags are removed, and long texts are divided by invisible elements.
func boundParsing(text string) string {
	var out strings.Builder
	var rootSeen, bodySeen, raw, foreign bool
	length := 0 // of the text since the last division
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		piece := z.Raw()
		if kind == html.TextToken {
			if length > longestText && !raw {
				out.WriteString("<wbr><!---->")
				length = 0
			}
			length += len(piece)
		}
		raw = false
		if kind == html.StartTagToken {
			switch name, _ := z.TagName(); atom.Lookup(name) {
			case atom.Svg, atom.Math: // texts in these are not raw
				foreign = true
			case atom.Html:
				if rootSeen {
					continue
				}
				rootSeen = true
			case atom.Body:
				if bodySeen {
					continue
				}
				bodySeen = true
			case atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Plaintext, atom.Script, atom.Style, atom.Textarea, atom.Title, atom.Xmp:
				raw = !foreign
			}
			if foreign {
				z.NextIsNotRawText()
			}
		}
		out.Write(piece)
	}
}

// readHead reads the title, and the base of the links.
func (p *webpage) readHead(root *html.Node) {
	titled, based := false, false
	for n := range root.Descendants() {
		switch {
		case n.DataAtom == atom.Title && !titled:
			p.title, titled = strings.Join(strings.Fields(innerText(n)), " "), true
		case n.DataAtom == atom.Base && !based && attribute(n, "href") != "":
			if base, err := p.base.Parse(attribute(n, "href")); err == nil {
				p.base, based = base, true
			}
		}
	}
}

// innerText returns the text in n.
func innerText(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return out.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// prune removes invisible content, and makes links absolute.
func (p *webpage) prune(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.CommentNode || child.Type == html.ElementNode && hidesText(child.DataAtom):
			n.RemoveChild(child)
		case child.Type == html.ElementNode && isHidden(child):
			p.hidden++
			n.RemoveChild(child)
		case child.DataAtom == atom.Img && (attribute(child, "alt") == "" || strings.HasPrefix(strings.TrimSpace(attribute(child, "src")), "data:")):
			n.RemoveChild(child)
		default:
			p.keepMarkdownAttributes(child)
			p.prune(child)
		}
		child = next
	}
}

// keepMarkdownAttributes keeps the attributes that Markdown can express. Cell spans are removed,
// because they could make a short table long.
func (p *webpage) keepMarkdownAttributes(n *html.Node) {
	var kept []html.Attribute
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src":
			if a.Val = p.absoluteLink(a.Val); a.Val == "" {
				continue
			}
		case "alt", "title", "class", "start": // a class names the language of code
		default:
			continue
		}
		kept = append(kept, a)
	}
	n.Attr = kept
}

// absoluteLink returns a link as an absolute address; "" if it is invalid or
// leads to the same page.
func (p *webpage) absoluteLink(link string) string {
	link = strings.TrimSpace(link)
	if strings.HasPrefix(link, "#") {
		return ""
	}
	u, err := p.base.Parse(link)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return u.String()
	}
	return ""
}

// conceals reports whether a style declaration hides text.
func conceals(property, value string) bool {
	switch property {
	case "display":
		return value == "none"
	case "visibility":
		return value == "hidden" || value == "collapse"
	case "opacity", "font-size":
		return isZero(value)
	case "color":
		return value == "transparent"
	case "text-indent", "left", "top", "right", "margin-left":
		return isOffscreen(value)
	case "clip":
		return strings.HasPrefix(value, "rect(0") || strings.HasPrefix(value, "rect(1px")
	case "clip-path":
		return value == "inset(50%)" || value == "inset(100%)"
	}
	return false
}

// isZero reports whether v is zero, or almost zero, in any unit.
func isZero(v string) bool {
	number := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyz%")
	return number != "" && strings.Trim(number, "0.") == "" || strings.HasPrefix(number, "0.0")
}

// isOffscreen reports whether v is a position outside of any screen.
func isOffscreen(v string) bool {
	digits, negative := strings.CutPrefix(v, "-")
	digits, _, _ = strings.Cut(digits, ".")
	digits = strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz%")
	return negative && len(strings.TrimLeft(digits, "0")) >= 4
}

// isHidden reports whether an element's own attributes hide it. Style sheets are
// ignored.
func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "hidden" && a.Val != "until-found" {
			return true
		}
		if a.Key != "style" {
			continue
		}
		for _, declaration := range strings.Split(strings.ToLower(a.Val), ";") {
			property, value, _ := strings.Cut(declaration, ":")
			value, _, _ = strings.Cut(value, "!")
			if conceals(strings.TrimSpace(property), strings.TrimSpace(value)) {
				return true
			}
		}
	}
	return n.DataAtom == atom.Dialog && !hasAttribute(n, "open")
}

func hasAttribute(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// toMarkdown returns the page as Markdown. It consumes the page.
func (p *webpage) toMarkdown() (text string, err error) {
	defer func() {
		if recover() != nil { // pages are untrusted, and the converter is third-party code
			err = errors.New("its HTML cannot be shown as Markdown; try the format text")
		}
	}()
	// Escaping scans ahead from every bracket, which takes minutes for a page
	// of brackets. Models can read Markdown without it.
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithListEndComment(false),
		),
		table.NewTablePlugin(),
	))
	out, err := c.ConvertNode(p.root)
	return string(out), err
}

// beginsLine reports whether an element begins a new line.
func beginsLine(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Br, atom.Dd,
		atom.Details, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption,
		atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Header, atom.Hr, atom.Li, atom.Main, atom.Nav,
		atom.Ol, atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Tr,
		atom.Ul:
		return true
	}
	return false
}

// toText returns the page as plain text, one paragraph or item per line.
func (p *webpage) toText() string {
	var out strings.Builder
	var line []string
	flush := func() {
		if len(line) > 0 {
			out.WriteString(strings.Join(strings.Fields(strings.Join(line, "")), " "))
			out.WriteByte('\n')
		}
		line = line[:0]
	}
	var walk func(n *html.Node, exact bool)
	walk = func(n *html.Node, exact bool) {
		switch {
		case n.Type == html.TextNode && exact:
			flush()
			out.WriteString(n.Data)
		case n.Type == html.TextNode && (len(line) > 0 || strings.TrimSpace(n.Data) != ""):
			line = append(line, n.Data)
		case n.DataAtom == atom.Td || n.DataAtom == atom.Th:
			line = append(line, " ")
		}
		if beginsLine(n.DataAtom) {
			flush()
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child, exact || n.DataAtom == atom.Pre)
		}
		if beginsLine(n.DataAtom) {
			flush()
		}
		if n.DataAtom == atom.Pre {
			out.WriteByte('\n')
		}
	}
	walk(p.root, false)
	flush()
	return out.String()
}
