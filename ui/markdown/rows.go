package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A tableParser parses the table at the end of a paragraph. Unlike in GitHub's Markdown, a row
// may have more cells than the header, and a pipe in a code span or in math is text.
type tableParser struct{}

func (tableParser) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, src := p.Lines(), reader.Source()
	for i := 1; i < lines.Len(); i++ {
		line := lines.At(i)
		align := alignments(line.Value(src))
		if align == nil {
			continue
		}
		head := tableRow(src, lines.At(i-1))
		if head.ChildCount() != len(align) {
			return
		}
		table := extast.NewTable()
		table.Alignments = align
		table.SetPos(p.Pos())
		table.AppendChild(table, extast.NewTableHeader(head))
		for _, l := range lines.Sliced(i+1, lines.Len()) {
			table.AppendChild(table, tableRow(src, l))
		}
		p.Parent().InsertAfter(p.Parent(), p, table)
		if i == 1 {
			p.Parent().RemoveChild(p.Parent(), p)
			return
		}
		lines.SetSliced(0, i-1)
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(src))
	}
}

// alignments returns the column alignments set by a line under a header, or nil for any other line.
func alignments(line []byte) (columns []extast.Alignment) {
	s := strings.TrimSpace(string(line))
	if w, _ := util.IndentWidth(line, 0); w > 3 || strings.Trim(s, "-") == "" {
		return nil
	}
	for cell := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(s, "|"), "|"), "|") {
		cell = strings.TrimSpace(cell)
		middle, left := strings.CutPrefix(cell, ":")
		middle, right := strings.CutSuffix(middle, ":")
		if middle == "" || strings.Trim(middle, "-") != "" {
			return nil
		}
		switch {
		case left && right:
			columns = append(columns, extast.AlignCenter)
		case left:
			columns = append(columns, extast.AlignLeft)
		case right:
			columns = append(columns, extast.AlignRight)
		default:
			columns = append(columns, extast.AlignNone)
		}
	}
	return columns
}

// tableRow parses a line as a table row.
func tableRow(src []byte, line text.Segment) *extast.TableRow {
	row := extast.NewTableRow(nil)
	line = line.TrimLeftSpace(src)
	line = line.TrimRightSpace(src)
	start, end, math := line.Start, line.Stop, unclosedMath{}
	if start < end && src[start] == '|' {
		start++
	}
	for i := start; start < end; {
		if i < end && src[i] != '|' {
			if src[i] == '`' {
				i = codeEnd(src[:end], i)
			} else {
				i, _ = math.next(src[:end], i)
			}
			continue
		}
		i = min(i, end)
		cell := extast.NewTableCell()
		s := text.NewSegment(start, i)
		s = s.TrimLeftSpace(src)
		cell.Lines().Append(s.TrimRightSpace(src))
		row.AppendChild(row, cell)
		i++
		start = i
	}
	return row
}

// codeEnd returns the offset after the code span that begins at src[at], or after the backticks
// there if they do not begin one.
func codeEnd(src []byte, at int) int {
	run := func(i int) int {
		for i < len(src) && src[i] == '`' {
			i++
		}
		return i
	}
	opened := run(at)
	for i := opened; i < len(src); i++ {
		n := run(i)
		if n-i == opened-at {
			return n
		}
		i = max(i, n-1)
	}
	return opened
}
