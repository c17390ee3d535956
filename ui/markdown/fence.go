package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"parley/tools/sanitize"
)

// A fence is the opening line of a fenced code block at the top level.
type fence struct {
	char   byte
	length int
	indent int
	lang   string
	head   int // length of the opening line, in bytes
	seen   int // number of bytes searched for the end of the block
}

// openFence returns the fence of the block at the start of src. It returns nil if the
// opening line is incomplete or the block is closed.
func openFence(src string, lang string) *fence {
	f := &fence{head: strings.IndexByte(src, '\n') + 1, lang: lang}
	if f.head == 0 {
		return nil
	}
	for src[f.indent] == ' ' {
		f.indent++
	}
	f.char = src[f.indent]
	rest := strings.TrimLeft(src[f.indent:f.head], string(f.char))
	f.length = f.head - f.indent - len(rest)
	f.seen = f.head
	if _, closed := f.scan(src); closed {
		return nil
	}
	return f
}

// scan searches src for the end of the block. src begins with the opening line and consists
// of whole lines. It returns the length of the block in src, and whether the block is closed.
func (f *fence) scan(src string) (end int, closed bool) {
	for f.seen < len(src) {
		stop := f.seen + strings.IndexByte(src[f.seen:], '\n') + 1
		if stop == f.seen {
			break // the last line of a finished text may have no newline
		}
		closed := f.closedBy(src[f.seen:stop])
		f.seen = stop
		if closed {
			return stop, true
		}
	}
	return len(src), false
}

// closedBy reports whether a line closes the block.
func (f *fence) closedBy(line string) bool {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 {
		return false
	}
	rest := strings.TrimLeft(body, string(f.char))
	return len(body)-len(rest) >= f.length && blank(rest)
}

// mayClose reports whether an unfinished line could still close the block.
func (f *fence) mayClose(line string) bool {
	body := strings.TrimLeft(line, " ")
	return len(line)-len(body) <= 3 && blank(strings.TrimLeft(body, string(f.char)))
}

// language returns the first word of the info string of a code block in src.
func language(src string, n *ast.FencedCodeBlock) string {
	if n.Info == nil {
		return ""
	}
	info := src[n.Info.Segment.Start:n.Info.Segment.Stop]
	words := infoWords(info)
	if len(words) == 0 {
		return ""
	}
	return sanitize.Line(words[0])
}

// infoWords returns the words of an info string.
func infoWords(info string) []string {
	return strings.FieldsFunc(info, func(r rune) bool { return strings.ContainsRune(" \t,;:{}", r) })
}

// content returns a line without the indentation of the opening fence.
func (f *fence) content(line string) string {
	from, padding := f.inset(line)
	return strings.Repeat(" ", padding) + line[from:]
}

// inset returns the offset of a line's content, and the number of spaces before it that
// remain of a tab.
func (f *fence) inset(line string) (from, padding int) {
	if f.indent == 0 {
		return 0, 0
	}
	start := line[:min(len(line), f.indent)] // the indentation is at most that long
	pos, padding := util.IndentPositionPadding([]byte(start), 0, 0, f.indent)
	if pos < 0 {
		return max(0, util.FirstNonSpacePosition([]byte(start))), 0
	}
	return pos, padding
}
