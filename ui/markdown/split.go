package markdown

import (
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A cut is a closed piece of the source that renders separately: a top-level block, an
// item of a top-level list, or a part of a very long block.
type cut struct {
	start, end int    // offsets in the source
	item       *item  // nil if it is not a list item
	loose      bool   // its list is loose
	joined     bool   // it continues the block of the previous cut
	table      *table // nil if it is not part of a cut table
}

// A block is a cut with its rendering.
type block struct {
	cut
	lines       []string // nil before rendering
	codes       []Code   // line numbers count from the block's first line
	missingRefs []string // labels of used but undefined references
	ruled       bool     // see rendered
	from        int      // index in Doc.lines of the block with the blank line above it
	top         int      // index in Doc.lines of its first line
}

// An item is the position of an item in its list.
type item struct {
	first  bool
	number int
}

func (b *block) misses(labels map[string]bool) bool {
	return slices.ContainsFunc(b.missingRefs, func(l string) bool { return labels[l] })
}

// same reports whether two cuts of one source have the same rendering.
func (c cut) same(o cut) bool {
	if c.start != o.start || c.end != o.end || c.loose != o.loose || c.joined != o.joined ||
		(c.item == nil) != (o.item == nil) || (c.table == nil) != (o.table == nil) {
		return false
	}
	return (c.item == nil || *c.item == *o.item) && (c.table == nil || c.table.from == o.table.from)
}

// references lists the link reference definitions of closed blocks, by label.
type references map[string]parser.Reference

// frozen holds the blocks closed by additional source.
type frozen struct {
	cuts     []cut
	defined  map[string]bool // labels of new references
	loosened bool            // the previously open list is loose
}

// A splitter cuts a growing source into closed blocks.
type splitter struct {
	window int

	tail int   // offset of the open part of the source
	seen int   // number of bytes parsed
	list *list // list that continues at the tail; nil for none
	refs references
	open *fence // fenced code block open at the tail; nil for none

	joined    bool   // the tail continues the previous block
	table     *table // table that continues at the tail; nil for none
	doublings int    // number of times the window was doubled for the tail's block
}

type list struct {
	next  int // number of the tail's item
	loose bool
}

// maxTail is the maximum length, in bytes, of a tail that is parsed whenever it changes. A
// longer tail must first grow by an eighth, or by half if it is too long for inline
// markup. So the work per byte stays constant even for a very long block.
const maxTail = 4 << 10

// tooLong reports whether parsing of a tail with the given size and new bytes is postponed.
func tooLong(size, grown int) bool {
	return size > maxTail && grown < size/8 || size > inlineLimit && grown < size/2
}

// advance freezes the closed blocks of src, which has grown since the last call. lines are
// its whole lines. If whole is set, it freezes all blocks.
func (s *splitter) advance(lines, src string, whole bool) (f frozen) {
	end := len(lines)
	if !s.cutWindows(&f, lines, src, whole) || s.tail >= end || !whole && tooLong(end-s.tail, end-s.seen) {
		return f
	}
	tail := s.tail
	s.freezeClosed(&f, src[tail:end], whole)
	if s.seen = end; s.tail != tail {
		s.doublings = 0
	}
	return f
}

// freezeClosed freezes the closed blocks of src, which begins at s.tail, or all blocks
// if whole is set. It returns the last block.
func (s *splitter) freezeClosed(f *frozen, src string, whole bool) (last ast.Node) {
	base := s.tail
	if s.table != nil {
		src = s.table.header + src
		base -= len(s.table.header)
	}
	doc := parse(structure(), limitNesting(src), &scope{Context: parser.NewContext()})
	if _, ok := doc.FirstChild().(*ast.List); !ok {
		s.list = nil
	}
	for n := doc.FirstChild(); n != nil; {
		next := lastOfUnit(src, n).NextSibling()
		end := len(src)
		if next != nil {
			end = lineStart(src, next)
		}
		s.tail = max(s.tail, base+lineStart(src, n))
		var open *fence
		if code, ok := n.(*ast.FencedCodeBlock); ok && next == nil {
			open = openFence(src[s.tail-base:], language(src, code))
		}
		closed := whole || next != nil
		if l, ok := n.(*ast.List); ok {
			s.items(f, l, src, base, end, closed)
		} else if closed {
			if open == nil { // blank lines at the end belong only to unclosed code
				end = len(strings.TrimRight(src[:end], " \t\r\n"))
				end += strings.IndexByte(src[end:], '\n') + 1
			}
			s.freeze(f, cut{start: s.tail, end: base + end}, siblings(n, next))
		} else {
			s.open = open
		}
		n, last = next, n
	}
	if whole {
		s.tail = base + len(src)
	}
	return last
}

// items freezes all items of a list except the last, or all items if the list
// is closed.
func (s *splitter) items(f *frozen, l *ast.List, src string, base, end int, closed bool) {
	st, first := s.list, false
	s.list = nil
	if st == nil {
		st, first = &list{next: l.Start}, true
	}
	if !st.loose && loose(l, closed) {
		st.loose = true
		f.loosened = f.loosened || !first && !loosen(len(f.cuts), func(i int) *cut { return &f.cuts[i] })
	}
	for it := l.FirstChild(); it != nil; it = it.NextSibling() {
		stop := end
		if next := it.NextSibling(); next != nil {
			stop = lineStart(src, next)
		} else if !closed {
			// The item may continue; the next call begins with it.
			if !first {
				s.list = st
			}
			return
		}
		b := cut{start: s.tail, end: base + stop, loose: st.loose, item: &item{first: first, number: st.next}}
		s.freeze(f, b, []ast.Node{it})
		st.next++
		first = false
	}
}

// loose reports whether blank lines make a list loose: lines between items, or between
// the blocks of a closed item. It does not use goldmark's own result, which depends on
// the text above the list if an item begins with a reference definition.
func loose(l *ast.List, closed bool) bool {
	for it := l.FirstChild(); it != nil; it = it.NextSibling() {
		if it != l.FirstChild() && it.HasBlankPreviousLines() {
			return true
		}
		if !closed && it == l.LastChild() {
			return false
		}
		for c := it.FirstChild(); c != nil; c = c.NextSibling() {
			above := c.PreviousSibling()
			if above != nil && above.Kind() != ast.KindLinkReferenceDefinition && c.HasBlankPreviousLines() {
				return true
			}
		}
	}
	return false
}

// loosen makes the list that ends with the last of n cuts loose. It reports whether these
// include the first item of the list.
func loosen(n int, at func(int) *cut) bool {
	for n--; n >= 0 && at(n).item != nil; n-- {
		at(n).loose = true
		if at(n).item.first {
			return true
		}
	}
	return false
}

// freeze adds the closed block c, which consists of nodes.
func (s *splitter) freeze(f *frozen, c cut, nodes []ast.Node) {
	c.joined, c.table = s.joined, s.table
	s.joined, s.table = false, nil
	if c.start < c.end {
		f.cuts = append(f.cuts, c)
		s.tail = c.end
	}
	for _, n := range nodes {
		s.define(f, n)
	}
}

// define collects the reference definitions below n. The first definition of a
// label wins.
func (s *splitter) define(f *frozen, n ast.Node) {
	if def, ok := n.(*ast.LinkReferenceDefinition); ok {
		label := util.ToLinkReference(def.Label)
		if _, ok := s.refs[label]; !ok {
			if s.refs == nil {
				s.refs = references{}
			}
			if f.defined == nil {
				f.defined = map[string]bool{}
			}
			s.refs[label] = parser.NewReference(def.Label, def.Destination, def.Title)
			f.defined[label] = true
		}
	}
	if n.Type() != ast.TypeBlock {
		return
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		s.define(f, c)
	}
}

func siblings(n, end ast.Node) (nodes []ast.Node) {
	for ; n != end; n = n.NextSibling() {
		nodes = append(nodes, n)
	}
	return nodes
}

// lastOfUnit returns the last of the nodes from the same paragraph as n:
// definitions, the text after them, and the table at its end. No block begins
// between them, so they are not cut apart.
func lastOfUnit(src string, n ast.Node) ast.Node {
	for next := n.NextSibling(); next != nil && sameParagraph(src, n, next); next = n.NextSibling() {
		n = next
	}
	return n
}

func sameParagraph(src string, n, next ast.Node) bool {
	start := lineStart(src, next)
	if start <= lineStart(src, n) { // goldmark gives a table the position of its paragraph
		return true
	}
	if n.Kind() != ast.KindLinkReferenceDefinition {
		return false
	}
	switch next.(type) {
	case *ast.LinkReferenceDefinition, *ast.Paragraph, *ast.Heading, *extast.Table:
		return !blank(src[strings.LastIndexByte(src[:start-1], '\n')+1 : start])
	}
	return false
}

// blank reports whether s is white space as CommonMark sees it.
func blank(s string) bool { return strings.Trim(s, " \t\n\v\f\r") == "" }

// lineStart returns the offset of the line on which n begins.
func lineStart(src string, n ast.Node) int {
	pos := n.Pos()
	if n.Lines().Len() > 0 {
		if at := n.Lines().At(0).Start; pos < 0 || at < pos {
			pos = at
		}
	}
	return strings.LastIndexByte(src[:max(pos, 0)], '\n') + 1
}

// structure parses blocks only; full parses their inline nodes too. Definition
// lists and footnotes are disabled, because a line far below would change
// blocks above. Bare URLs need no parsing, because they are shown unchanged.
var (
	structure = sync.OnceValue(func() parser.Parser { return parser.NewParser(blockOptions()...) })
	full      = sync.OnceValue(func() parser.Parser {
		return parser.NewParser(append(blockOptions(),
			parser.WithInlineParsers(
				util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
				util.Prioritized(mathParser{}, 50),
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewAutoLinkParser(), 300),
				util.Prioritized(parser.NewRawHTMLParser(), 400),
				util.Prioritized(emphasisParser{}, 500),
			))...)
	})
)

func blockOptions() []parser.Option {
	return []parser.Option{
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithBlockParsers(util.Prioritized(mathBlock{parser.NewParagraphParser()}, 750)),
		parser.WithParagraphTransformers(
			util.Prioritized(boundedDefinitions{}, 100),
			util.Prioritized(tableParser{}, 200),
		),
	}
}

func parse(p parser.Parser, src []byte, s *scope) ast.Node {
	s.math = unclosedMath{}
	return p.Parse(text.NewReader(src), parser.WithContext(s))
}

// A scope looks up references in the whole document and collects undefined ones.
type scope struct {
	parser.Context
	refs        references
	missingRefs []string

	math    unclosedMath
	closing []byte // delimiter that closes the open block of math
}

func (s *scope) Reference(label string) (parser.Reference, bool) {
	if r, ok := s.refs[label]; ok {
		return r, true
	}
	r, ok := s.Context.Reference(label)
	if !ok {
		s.missingRefs = append(s.missingRefs, label)
	}
	return r, ok
}
