package transcript

import (
	"fmt"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// selectedBytes returns the selected byte range of a line.
func (m *mouse) selectedBytes(it *item, line int, text string) (from, to int) {
	c := &m.selection
	here := textPos{it.seq, line, 0}
	if _, picture := it.block.(*imageBlock); picture {
		return 0, 0
	}
	if c.isEmpty() || here.seq < c.from.seq || here.seq > c.to.seq {
		return 0, 0
	}
	to = len(plainText(text))
	if here.seq == c.from.seq && line <= c.from.line {
		if from = c.from.at; line < c.from.line {
			return 0, 0
		}
	}
	if here.seq == c.to.seq && line >= c.to.line {
		if to = min(to, c.to.at); line > c.to.line {
			return 0, 0
		}
	}
	return from, to
}

// selectedText returns the source of the selection, and its kind for the user.
func (m *mouse) selectedText() (text, what string) {
	c := m.selection
	var all strings.Builder
	for i, it := range m.list.items {
		if it.seq < c.from.seq || it.seq > c.to.seq {
			continue
		}
		piece := m.excerptOf(it)
		if strings.TrimSpace(piece) == "" {
			continue
		}
		if all.Len() > 0 {
			all.WriteString("\n")
			if !m.window.isJoined(i) {
				all.WriteString("\n")
			}
		}
		all.WriteString(strings.Trim(piece, "\n"))
	}
	n := strings.Count(all.String(), "\n") + 1
	if n == 1 {
		return all.String(), "selection"
	}
	return all.String(), fmt.Sprintf("selection of %d lines", n)
}

// excerptOf returns the source of the selected part of an item, or the text of its rows if
// the source does not contain it.
func (m *mouse) excerptOf(it *item) string {
	lines := m.window.linesOf(it)
	low, from, high, to := -1, 0, -1, 0
	for i, line := range lines {
		if a, b := m.selectedBytes(it, i, line); a < b {
			if low < 0 {
				low, from = i, a
			}
			high, to = i, b
		}
	}
	if low < 0 {
		return ""
	}
	rows, src := m.sourceRows(it)
	if text := quoteSource(src, sourceRanges(rows, src, low, from, high, to), it.isMarkdown()); text != "" {
		return text
	}
	var kept []string
	for i := low; i <= high; i++ {
		a, b := m.selectedBytes(it, i, lines[i])
		kept = append(kept, strings.TrimRight(plainText(lines[i])[a:b], " "))
	}
	return strings.Join(kept, "\n")
}

// foldNoteRow matches the beginning of a row written by foldNote.
var foldNoteRow = lazy.NewRegexp(`^… \d+ (more|earlier) line`)

// sourceRows returns the rows of an item without styles, and their source text in the same order.
func (m *mouse) sourceRows(it *item) (rows []string, src string) {
	for _, line := range m.window.linesOf(it) {
		row := plainText(line)
		if !it.isMarkdown() && foldNoteRow.MatchString(row) {
			row = ""
		}
		rows = append(rows, row)
	}
	b, ok := it.block.(*call)
	if !ok {
		return rows, strings.Join(it.texts(nil), "\n")
	}
	if b.parsedDiff().IsSplit(m.window.renderContext(it).width) {
		for i, row := range rows {
			rows[i] = leftHalf(row)
		}
	}
	texts := b.texts(nil) // name, title, status, and the rest
	title := strings.TrimRight(texts[0]+" "+strings.ReplaceAll(texts[1], lineBreak, "\n")+"  "+texts[2], " ")
	return rows, strings.Join(append([]string{title}, texts[3:]...), "\n")
}

// leftHalf returns the row of a diff without its right half, if both halves show the same line.
func leftHalf(row string) string {
	left, right, _ := strings.Cut(row, "│")
	was, is := strings.Fields(left), strings.Fields(right)
	if len(was) > 0 && len(is) > 0 && slices.Equal(was[1:], is[1:]) {
		return left
	}
	return row
}
