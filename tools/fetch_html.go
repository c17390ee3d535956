package tools

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

// A webpage is an HTML document with nothing in it but what a reader would see.
type webpage struct {
	root   *html.Node
	title  string
	notes  []string
	base   *url.URL // of its links
	hidden int
}

// hiddenElements are the elements that show no text, or none that belongs to the page.
var hiddenElements = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true, atom.Frame: true,
	atom.Object: true, atom.Embed: true, atom.Applet: true, atom.Canvas: true, atom.Svg: true, atom.Math: true,
	atom.Audio: true, atom.Video: true, atom.Head: true, atom.Input: true, atom.Textarea: true, atom.Select: true,
	atom.Datalist: true, atom.Link: true, atom.Meta: true,
}

// maxHTML is how much of a page is read, in bytes: what takes a second.
const maxHTML = 2 << 20

// parseHTML reads a page that came from an address.
func parseHTML(text string, at *url.URL) (page *webpage, err error) {
	defer func() {
		if recover() != nil { // the parser's way to refuse a page that is nested too deeply
			page, err = nil, errors.New("its HTML cannot be read; the format raw shows it as it is")
		}
	}()
	page = &webpage{base: at}
	if len(text) > maxHTML {
		text = text[:maxHTML]
		page.notes = append(page.notes, note("only the first %d MiB of its HTML are shown", maxHTML>>20))
	}
	page.root, err = html.Parse(strings.NewReader(boundParsing(text)))
	if err != nil {
		return nil, errors.New("its HTML cannot be read; the format raw shows it as it is")
	}
	page.readHead(page.root)
	page.prune(page.root)
	if page.hidden > 0 {
		page.notes = append(page.notes, note("%s removed, invisible to readers", pluralize(page.hidden, "element")))
	}
	return page, nil
}

// longestText is how much text may stand in one node, about, in bytes.
const longestText = 4 << 10

// boundParsing returns a page as html.Parse reads it in linear time. That compares the attributes of each
// further html and body tag with all before, and copies a text for each piece it appends to it, as between tags
// that it ignores: the former are left out, the latter is divided by what no reader sees.
func boundParsing(text string) string {
	var out strings.Builder
	var rootSeen, bodySeen, raw, foreign bool
	length := 0 // of the text since it was divided
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
			case atom.Svg, atom.Math: // in which no text is raw
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

// readHead takes the title, and the base of the links.
func (p *webpage) readHead(root *html.Node) {
	titled, based := false, false
	for n := range root.Descendants() {
		switch {
		case n.DataAtom == atom.Title && !titled:
			title, _ := SanitizeAndTruncate(strings.Join(strings.Fields(innerText(n)), " "), 300)
			p.title, titled = title, true
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

// prune takes away what a reader would not see, and makes links absolute.
func (p *webpage) prune(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.CommentNode || child.Type == html.ElementNode && hiddenElements[child.DataAtom]:
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

// keepMarkdownAttributes keeps the attributes that Markdown has a place for. Spans of cells would
// let a short table become a long one.
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

// absoluteLink returns a link as it can be fetched; "" if it leads nowhere, or to
// another place of the same page.
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

// hidingStyles are the style declarations that keep text from being seen.
var hidingStyles = map[string]func(value string) bool{
	"display":     func(v string) bool { return v == "none" },
	"visibility":  func(v string) bool { return v == "hidden" || v == "collapse" },
	"opacity":     isZero,
	"font-size":   isZero,
	"color":       func(v string) bool { return v == "transparent" },
	"text-indent": isOffscreen,
	"left":        isOffscreen,
	"top":         isOffscreen,
	"right":       isOffscreen,
	"margin-left": isOffscreen,
	"clip":        func(v string) bool { return strings.HasPrefix(v, "rect(0") || strings.HasPrefix(v, "rect(1px") },
	"clip-path":   func(v string) bool { return v == "inset(50%)" || v == "inset(100%)" },
}

// isZero reports whether v is nothing, or next to nothing, in any unit.
func isZero(v string) bool {
	number := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyz%")
	return number != "" && strings.Trim(number, "0.") == "" || strings.HasPrefix(number, "0.0")
}

// isOffscreen reports whether v is a place beyond the edge of any screen.
func isOffscreen(v string) bool {
	digits, negative := strings.CutPrefix(v, "-")
	digits, _, _ = strings.Cut(digits, ".")
	digits = strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz%")
	return negative && len(strings.TrimLeft(digits, "0")) >= 4
}

// isHidden reports whether an element says of itself that it is not shown. Style
// sheets are not read.
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
			if conceals := hidingStyles[strings.TrimSpace(property)]; conceals != nil && conceals(strings.TrimSpace(value)) {
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

// toMarkdown returns the page as Markdown. It uses up the page.
func (p *webpage) toMarkdown() (text string, err error) {
	defer func() {
		if recover() != nil { // a page is hostile, and the converter somebody else's
			err = errors.New("its HTML cannot be shown as Markdown; try the format text")
		}
	}()
	// Escaping looks ahead from every bracket, and takes minutes for a page of
	// nothing else. A model reads Markdown without it as well.
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

// blockElements are the elements that begin a line of their own.
var blockElements = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Br: true, atom.Dd: true,
	atom.Details: true, atom.Div: true, atom.Dl: true, atom.Dt: true, atom.Fieldset: true, atom.Figcaption: true,
	atom.Figure: true, atom.Footer: true, atom.Form: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true,
	atom.H5: true, atom.H6: true, atom.Header: true, atom.Hr: true, atom.Li: true, atom.Main: true, atom.Nav: true,
	atom.Ol: true, atom.P: true, atom.Pre: true, atom.Section: true, atom.Summary: true, atom.Table: true, atom.Tr: true,
	atom.Ul: true,
}

// toText returns the page as plain text, a paragraph or an item to a line.
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
		if blockElements[n.DataAtom] {
			flush()
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child, exact || n.DataAtom == atom.Pre)
		}
		if blockElements[n.DataAtom] {
			flush()
		}
	}
	walk(p.root, false)
	flush()
	return out.String()
}
