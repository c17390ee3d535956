package markdown

import (
	"parley/tools/sanitize"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// windowSize is how many bytes of source are parsed for closed blocks at once. A longer
// paragraph or table is cut into parts that render separately, so that no block delays a
// frame. The cuts depend only on the source: a text that arrives in pieces has the same
// parts as a text parsed as a whole.
const windowSize = 16 << 10

// maxHeader is the maximum length of the header of a table that is cut, in bytes.
const maxHeader = windowSize / 16

// A table holds the common data of the parts of a cut table.
type table struct {
	from   int    // start of the table in the source
	header string // its first two lines
	first  bool   // this part has the header
	wanted []int  // widths, in cells, required by the columns of all parts up to this one; set by render
}

// cutWindows freezes the closed blocks of all complete windows in src; lines are its
// whole lines. It reports whether the rest may be parsed.
func (s *splitter) cutWindows(f *frozen, lines, src string, whole bool) bool {
	for {
		if s.open != nil {
			stop, closed := s.open.scan(lines[s.tail:])
			if !closed && !whole {
				return false
			}
			s.freeze(f, cut{start: s.tail, end: s.tail + stop}, nil)
			s.open = nil
		}
		stop := s.windowEnd(src)
		if stop == 0 {
			return true
		}
		tail := s.tail
		last := s.freezeClosed(f, src[tail:stop], false)
		s.seen = max(s.seen, stop)
		if s.open == nil && s.tail == tail && !s.freezePart(f, src[:stop], last) {
			s.doublings++
			continue
		}
		s.doublings, s.seen = 0, s.tail
	}
}

// windowEnd returns the end of the window that begins at the tail. This is the end of a
// line, unless that is another window away; 0 if it has not arrived yet.
func (s *splitter) windowEnd(src string) int {
	size := s.window << s.doublings
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

// freezePart freezes a part of n, the only block in src from the tail on, if blocks of its
// kind can be cut. It reports whether they can.
func (s *splitter) freezePart(f *frozen, src string, n ast.Node) bool {
	if n == nil || n.PreviousSibling() != nil || n.NextSibling() != nil {
		return false
	}
	text := src[s.tail:min(len(src), s.tail+s.window)]
	switch n.(type) {
	case *ast.Paragraph:
		s.freeze(f, cut{start: s.tail, end: s.tail + breakPoint(text)}, nil)
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

// headerOf returns a table with the header in the first two lines at src[at:].
// It returns nil if they are too long to be parsed with each part.
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

// breakPoint returns the offset at which a long paragraph is cut: before a word,
// because text that begins with a letter is a paragraph; else between two characters
// that stand alone.
func breakPoint(text string) int {
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
		if before, _ := utf8.DecodeLastRuneInString(text[:i]); standsAlone(r) && standsAlone(before) {
			return i
		}
	}
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// standsAlone reports whether a character is certainly not part of a longer grapheme
// cluster, as marks, emoji and flags may be.
func standsAlone(r rune) bool {
	return unicode.IsDigit(r) || unicode.IsLetter(r) && (r < 0x300 || ideographic(r))
}
