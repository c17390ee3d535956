// Package diffview renders diffs: each line with its number and sign, in the colors of its
// language, on the tint of its side, and with the changed words of a line emphasized. A diff
// looks the same wherever it is shown.
package diffview

import (
	"cmp"
	"strconv"
	"strings"

	"parley/tools/diff"
	"parley/ui/markdown"
	"parley/ui/textwrap"
)

// A diffLine is one line of a diff.
type diffLine struct {
	sign    byte   // '+', '-', ' '; 0 for a line about the diff itself
	line    int    // number in the new file, or in the old one for a removed line; 0 if unknown
	oldLine int    // number in the old file; 0 for an added line or if unknown
	text    string // without the sign
	file    string // file of the following lines, if this line names it
}

// A Diff is a parsed diff: its first lines, and the counts of all lines.
type Diff struct {
	File           string // file of the first changes; its name decides the language
	Added, Removed int
	Dropped        int // number of lines beyond the limit

	changes []diffLine
}

// hunkGap separates two hunks of one file.
const hunkGap = "⋯"

// Read reads at most limit lines of a unified diff; 0 means no limit. It omits the file name if
// there is only one file, because the title names it.
func Read(text string, limit int) (p Diff) {
	inFile, files := false, 0
	for l := range diff.Lines(text) {
		switch l.Kind {
		case diff.Added, diff.Removed, diff.Context:
			p.add(diffLine{sign: byte(l.Kind), line: cmp.Or(l.New, l.Old), oldLine: l.Old, text: l.Text()}, limit)
		case diff.Hunk:
			if inFile {
				p.add(diffLine{text: hunkGap}, limit)
			}
			inFile = true
		case diff.NewName:
			files++
			inFile = false
			p.add(diffLine{text: l.File, file: l.File}, limit)
		case diff.Note:
			p.add(diffLine{text: l.Raw}, limit)
		}
	}
	if files == 1 && p.changes[0].sign == 0 {
		p.File, p.changes = p.changes[0].file, p.changes[1:]
	}
	return p
}

// add counts a change, and stores it while there is room.
func (p *Diff) add(c diffLine, limit int) {
	switch c.sign {
	case '+':
		p.Added++
	case '-':
		p.Removed++
	}
	if limit > 0 && len(p.changes) == limit {
		p.Dropped++
		return
	}
	p.changes = append(p.changes, c)
}

// Len returns the number of lines that Render can show.
func (p *Diff) Len() int { return len(p.changes) }

// Texts appends the texts of the lines, in order.
func (p *Diff) Texts(to []string) []string {
	for _, c := range p.changes {
		to = append(to, c.text)
	}
	return to
}

// IsSplit reports whether old and new are side by side at a width.
func (p *Diff) IsSplit(width int) bool { return width >= minSplitWidth && p.Removed > 0 }

// A View says how a diff is rendered.
type View struct {
	Styles *Styles
	Width  int  // in cells
	Wrap   bool // wrap long lines instead of truncating them
}

const (
	minSplitWidth     = 120     // least width with old and new side by side
	codeTab           = 4       // cells between tab stops
	maxHighlightBytes = 2 << 10 // longest line that is highlighted and compared word by word
	MaxClipBytes      = 8 << 10 // bytes of a truncated line that are measured
)

// A diffRow is a line of a diff while it is rendered.
type diffRow struct {
	diffLine
	body        string      // the text without tabs
	code        []codePiece // the body, if it is a line of a file
	counterpart *diffRow    // the paired line on the other side; nil for none
}

// side returns the side of the diff that the row belongs to.
func (r *diffRow) side() diffSide {
	switch r.sign {
	case '+':
		return sideAdded
	case '-':
		return sideRemoved
	}
	return sideBoth
}

// Render returns the first lines of a diff, at most most of them: number, sign, text. Old and
// new are side by side if the width allows it and lines were removed.
func (p *Diff) Render(v View, most int) (lines []string) {
	shown := p.changes[:min(most, len(p.changes))]
	rows := p.rows(shown, v)
	last := 0
	for _, c := range shown {
		last = max(last, c.line, c.oldLine)
	}
	digits := len(strconv.Itoa(last))
	if p.IsSplit(v.Width) {
		return splitView{v, digits, (v.Width - 2) / 2}.render(rows)
	}
	for i := range rows {
		lines = rows[i].render(lines, digits, v)
	}
	return lines
}

// Rows returns the rows of each line, as Render does, but with old and new always below each other.
func (p *Diff) Rows(v View) [][]string {
	last, all := 0, make([][]string, len(p.changes))
	for _, c := range p.changes {
		last = max(last, c.line, c.oldLine)
	}
	for i, r := range p.rows(p.changes, v) {
		all[i] = r.render(nil, len(strconv.Itoa(last)), v)
	}
	return all
}

// Line appends one line of a file as in a diff, with its number, of a number of digits; 0 for no
// number. scanner splits it into tokens; nil for none.
func (v View) Line(lines []string, sign byte, number, digits int, text string, scanner *markdown.Scanner) []string {
	r := diffRow{diffLine: diffLine{sign: sign, line: number}, body: textwrap.ExpandTabs(Visible(text, v.Wrap), codeTab)}
	tokens := []markdown.Token{{Text: r.body}}
	if scanner != nil && len(r.body) <= maxHighlightBytes {
		tokens = scanner.Line(r.body)
	}
	r.code = pieces(tokens)
	return r.render(lines, digits, v)
}

// rows returns the shown lines, highlighted, with the words emphasized that differ between
// paired lines.
func (p *Diff) rows(shown []diffLine, v View) []diffRow {
	rows := make([]diffRow, len(shown))
	file := p.File
	was, is := markdown.NewScanner(file), markdown.NewScanner(file)
	for i, c := range shown {
		r := &rows[i]
		if c.file != "" {
			file = c.file
		}
		if c.sign == 0 {
			was, is = markdown.NewScanner(file), markdown.NewScanner(file)
		}
		r.diffLine, r.body = c, textwrap.ExpandTabs(Visible(c.text, v.Wrap), codeTab)
		if c.sign == 0 {
			continue
		}
		tokens := []markdown.Token{{Text: r.body}}
		if len(r.body) <= maxHighlightBytes && c.sign != '+' {
			tokens = was.Line(r.body)
		}
		if len(r.body) <= maxHighlightBytes && c.sign != '-' {
			tokens = is.Line(r.body)
		}
		r.code = pieces(tokens)
	}
	work := wordsWork
	for from := 0; from < len(rows); {
		minus, plus, size := changedRun(rows[from:])
		pairLines(minus, plus, &work)
		from += max(size, 1)
	}
	return rows
}

// Visible returns the part of a line that can be visible: the beginning, unless it wraps.
func Visible(text string, wraps bool) string {
	if wraps || len(text) <= MaxClipBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxClipBytes], "")
}

// changedRun returns the removed lines at the start of rows, the added lines after them, and
// the number of both together.
func changedRun(rows []diffRow) (minus, plus []diffRow, size int) {
	gone := 0
	for gone < len(rows) && rows[gone].sign == '-' {
		gone++
	}
	size = gone
	for size < len(rows) && rows[size].sign == '+' {
		size++
	}
	return rows[:gone], rows[gone:size], size
}

// pairWindow is how many added lines a removed line is compared with.
const pairWindow = 4

// pairLines pairs removed and added lines, in order, as counterparts.
func pairLines(minus, plus []diffRow, work *int) {
	next := 0
	for i := range minus {
		for j := next; j < min(next+pairWindow, len(plus)); j++ {
			was, is, ok := changedWords(minus[i].body, plus[j].body, work)
			if !ok {
				continue
			}
			minus[i].counterpart, plus[j].counterpart = &plus[j], &minus[i]
			minus[i].code, plus[j].code = emphasize(minus[i].code, was), emphasize(plus[j].code, is)
			next = j + 1
			break
		}
	}
}

// inset is the indentation of a line, if there is room for it.
func (v View) inset() string {
	if v.Width < minInsetWidth {
		return ""
	}
	return "  "
}

// minInsetWidth is the least width with an indentation.
const minInsetWidth = 40

// render appends the row. Lines on a background are padded to the full width.
func (r *diffRow) render(lines []string, digits int, v View) []string {
	side, gutter, sign := r.side(), v.inset()+numberColumn(r.line, digits), string(r.sign)
	if r.sign == 0 {
		gutter, sign = strings.Repeat(" ", len(gutter)), ""
	}
	room := v.Width - len(gutter) - len(sign) - 1
	if room < 1 {
		return append(lines, v.Styles.line(side, codePiece{text: textwrap.Truncate(sign+r.body, v.Width), look: mark}))
	}
	texts := []string{textwrap.Truncate(r.body, room)}
	if v.Wrap {
		texts = textwrap.Line(nil, r.body, room)
	}
	at := 0
	for _, t := range texts {
		kept, end := t, ""
		if !strings.HasPrefix(r.body[at:], t) {
			if begin, ok := strings.CutSuffix(t, textwrap.Ellipsis); ok && !v.Wrap {
				kept, end = begin, textwrap.Ellipsis
			} else { // wrapping removed spaces
				at += len(r.body[at:]) - len(strings.TrimLeft(r.body[at:], " "))
			}
		}
		line := make([]codePiece, 2, len(r.code)+4)
		line[0], line[1] = codePiece{text: gutter, look: number}, codePiece{text: sign, look: mark}
		if gutter != "" && sign != "" {
			line[1].text += " "
		}
		if r.sign == 0 {
			line = append(line, codePiece{text: t, look: number})
		} else {
			line = slicePieces(line, r.code, at, at+len(kept))
			line = append(line, codePiece{text: end, look: mark})
		}
		if v.Styles.fills[side] {
			line = append(line, codePiece{text: strings.Repeat(" ", max(0, room-textwrap.Width(t)))})
		}
		lines = append(lines, v.Styles.line(side, line...))
		at, gutter = at+len(kept), strings.Repeat(" ", len(gutter))
		if r.sign != 0 {
			sign = "↪"
		}
	}
	return lines
}

// numberColumn returns a line number, right-aligned, and the space after it; "" if digits is 0.
func numberColumn(n, digits int) string {
	if digits == 0 {
		return ""
	}
	number := ""
	if n > 0 {
		number = strconv.Itoa(n)
	}
	return strings.Repeat(" ", max(0, digits-len(number))) + number + " "
}

// A splitView renders old lines on the left and new lines on the right.
type splitView struct {
	view   View
	digits int
	half   int // cells of a half
}

func (v splitView) render(rows []diffRow) (lines []string) {
	for from := 0; from < len(rows); {
		minus, plus, size := changedRun(rows[from:])
		if size == 0 {
			r := &rows[from]
			from++
			if r.sign == 0 {
				lines = r.render(lines, v.digits, v.view)
				continue
			}
			lines = v.renderPair(lines, r, r)
			continue
		}
		from += size
		for len(minus) > 0 || len(plus) > 0 {
			var left, right *diffRow
			if len(minus) > 0 && (minus[0].counterpart == nil || len(plus) > 0 && plus[0].counterpart == &minus[0]) {
				left = &minus[0]
			}
			if len(plus) > 0 && (plus[0].counterpart == nil || plus[0].counterpart == left) {
				right = &plus[0]
			}
			if left != nil {
				minus = minus[1:]
			}
			if right != nil {
				plus = plus[1:]
			}
			lines = v.renderPair(lines, left, right)
		}
	}
	return lines
}

// renderPair appends the lines of a row; either side may be missing.
func (v splitView) renderPair(lines []string, left, right *diffRow) []string {
	l, r := v.renderHalf(left, false), v.renderHalf(right, true)
	for i := range max(len(l), len(r)) {
		line := strings.Repeat(" ", v.half)
		if i < len(l) {
			line = l[i] + strings.Repeat(" ", max(0, v.half-textwrap.Width(l[i])))
		}
		line += v.view.Styles.rule
		if i < len(r) {
			line += " " + r[i]
		}
		lines = append(lines, line)
	}
	return lines
}

// renderHalf returns one side of a row.
func (v splitView) renderHalf(r *diffRow, is bool) []string {
	if r == nil {
		return nil
	}
	side := *r
	if !is && r.sign == ' ' {
		side.line = r.oldLine
	}
	view := v.view
	view.Width = v.half
	return side.render(nil, v.digits, view)
}
