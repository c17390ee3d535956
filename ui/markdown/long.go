package markdown

import (
	"parley/tools/sanitize"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// window sets how much source is read for closed blocks at once. A paragraph or a
// table that is longer is cut into parts, each of which renders by itself, so
// that no single block makes a frame late. Where it is cut hangs on the source
// alone: a text in pieces gets the parts that it has as a whole.
const window = 16 << 10

// maxHeader sets how long the header of a table may be, in bytes, that is cut.
const maxHeader = window / 16

// A table is what its parts have in common, and the part before hands on.
type table struct {
	from   int    // where it begins in the source
	header string // its first two lines
	first  bool   // this is the part with the header
	want   []int  // cells that the columns up to here would like; set by rendering
}

// closed cuts off what is closed in whole windows.
func (s *splitter) closed(lines, src string) (f frozen) {
	s.windows(&f, lines, src, false)
	return f
}

// windows reads as many whole windows as there are in src, which begins with
// whole lines. It reports whether what is left may be looked at.
func (s *splitter) windows(f *frozen, lines, src string, whole bool) bool {
	for {
		if s.open != nil {
			stop, closed := s.open.scan(lines[s.tail:])
			if !closed && !whole {
				return false
			}
			s.freeze(f, cut{start: s.tail, end: s.tail + stop}, nil)
			s.open = nil
		}
		stop := s.stop(src)
		if stop == 0 {
			return true
		}
		tail := s.tail
		last := s.cut(f, src[tail:stop], false)
		s.seen = max(s.seen, stop)
		if s.open == nil && s.tail == tail && !s.part(f, src[:stop], last) {
			s.double++
			continue
		}
		s.double, s.seen = 0, s.tail
	}
}

// stop returns where the window ends that begins at the tail: at the end of a line,
// unless that is as long again; 0 if that is not known yet.
func (s *splitter) stop(src string) int {
	size := s.window << s.double
	if len(src)-s.tail <= size {
		return 0
	}
	rest := src[s.tail+size : min(len(src), s.tail+2*size)]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		return s.tail + size + n + 1
	}
	if len(rest) < size {
		return 0
	}
	return s.tail + size + len(rest) - len(rest[len(sanitize.Complete(rest)):])
}

// part freezes a part of the one block that fills src from the tail on, if it is
// of a kind that can be cut.
func (s *splitter) part(f *frozen, src string, n ast.Node) bool {
	if n == nil || n.PreviousSibling() != nil || n.NextSibling() != nil {
		return false
	}
	text := src[s.tail:min(len(src), s.tail+s.window)]
	switch n.(type) {
	case *ast.Paragraph:
		s.freeze(f, cut{start: s.tail, end: s.tail + breakIn(text)}, nil)
		s.joined = true
		return true
	case *ast.Blockquote:
		end := strings.LastIndex(text, "\n>") + 1
		if end <= s.window/2 {
			return false
		}
		s.freeze(f, cut{start: s.tail, end: s.tail + end}, nil)
		s.joined = true
		return true
	case *extast.Table:
		t := s.table
		if t == nil {
			t = headerOf(src, s.tail)
		}
		if t == nil || src[len(src)-1] != '\n' {
			return false
		}
		s.table = t
		s.freeze(f, cut{start: s.tail, end: len(src)}, nil)
		s.joined, s.table = true, &table{from: t.from, header: t.header}
		return true
	}
	return false
}

// headerOf reads the first two lines of the table at the start of src[at:]; nil
// if they are too long to be read with each part.
func headerOf(src string, at int) *table {
	for at < len(src) && strings.IndexByte(" \t\r\n", src[at]) >= 0 {
		at++
	}
	n := strings.IndexByte(src[at:], '\n') + 1
	n += strings.IndexByte(src[at+n:], '\n') + 1
	if n > maxHeader {
		return nil
	}
	return &table{from: at, header: src[at : at+n], first: true}
}

// breakIn finds where a long paragraph is cut: before a word, since what begins
// with a letter is a paragraph again; else between two characters that do not
// belong together.
func breakIn(text string) int {
	for i := len(text) - 1; i > len(text)/2; i-- {
		if c := text[i] | ' '; c >= 'a' && c <= 'z' && (text[i-1] == ' ' || text[i-1] == '\n') {
			return i
		}
	}
	at := len(text) - utf8.UTFMax
	for i := at; i > len(text)/2; i-- {
		if !utf8.RuneStart(text[i]) {
			continue
		}
		r, _ := utf8.DecodeRuneInString(text[i:])
		if before, _ := utf8.DecodeLastRuneInString(text[:i]); alone(r) && alone(before) {
			return i
		}
	}
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// alone reports whether a character is one by itself: no mark, no part of an emoji
// or a flag.
func alone(r rune) bool {
	return unicode.IsDigit(r) || unicode.IsLetter(r) && (r < 0x300 || ideographic(r))
}
