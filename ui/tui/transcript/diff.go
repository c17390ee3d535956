package transcript

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"parley/tools/diff"
	"parley/ui/format"
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

// A unifiedDiff is a parsed diff: its first maxDiffLines lines, and the counts of all lines.
type unifiedDiff struct {
	file           string // file of the first changes
	changes        []diffLine
	dropped        int // number of lines beyond maxDiffLines
	added, removed int
}

// maxDiffLines is the maximum number of rendered lines of a diff. The details view of
// the call shows all.
const maxDiffLines = 500

// hunkGap separates two hunks of one file.
const hunkGap = "⋮"

// readDiff reads a unified diff. It omits the file name if there is only one file,
// because the title names it.
func readDiff(text string) (p unifiedDiff) {
	inFile, files := false, 0
	for l := range diff.Lines(text) {
		switch l.Kind {
		case diff.Added, diff.Removed, diff.Context:
			p.add(diffLine{sign: byte(l.Kind), line: cmp.Or(l.New, l.Old), oldLine: l.Old, text: l.Text()})
		case diff.Hunk:
			if inFile {
				p.add(diffLine{text: hunkGap})
			}
			inFile = true
		case diff.NewName:
			files++
			inFile = false
			p.add(diffLine{text: l.File, file: l.File})
		case diff.Note:
			p.add(diffLine{text: l.Raw})
		}
	}
	if files == 1 && p.changes[0].sign == 0 {
		p.file, p.changes = p.changes[0].file, p.changes[1:]
	}
	return p
}

// add counts a change, and stores it while there is room.
func (p *unifiedDiff) add(c diffLine) {
	switch c.sign {
	case '+':
		p.added++
	case '-':
		p.removed++
	}
	if len(p.changes) == maxDiffLines {
		p.dropped++
		return
	}
	p.changes = append(p.changes, c)
}

const (
	minSplitWidth     = 120     // least width with old and new side by side
	maxHighlightBytes = 2 << 10 // longest line that is highlighted and compared word by word
	maxClipBytes      = 8 << 10 // bytes of a truncated line that are measured
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

// render returns the lines of a diff: number, sign, text. Old and new are side by side if the
// width allows it and lines were removed.
func (b *unifiedDiff) render(p renderContext) []string {
	shown := b.changes
	if !p.open && len(shown) > foldDiff {
		shown = shown[:foldDiff]
	}
	rows := b.rows(shown, p)
	last := 0
	for _, c := range shown {
		last = max(last, c.line, c.oldLine)
	}
	digits := len(strconv.Itoa(last))
	var lines []string
	if p.width >= minSplitWidth && b.removed > 0 {
		lines = splitView{p, digits, (p.width - 2) / 2}.render(rows)
	} else {
		for i := range rows {
			lines = rows[i].render(lines, digits, p)
		}
	}
	switch left := b.dropped + len(b.changes) - len(shown); {
	case left > 0 && p.open:
		lines = append(lines, p.styler.apply(roleFaint, textwrap.Truncate(fmt.Sprintf("… %d more line%s (enter)", left, format.PluralSuffix(left)), p.width)))
	case left > 0:
		lines = append(lines, p.foldNote(left, "more"))
	}
	return lines
}

// rows returns the shown lines, highlighted, with the words emphasized that differ between
// paired lines.
func (b *unifiedDiff) rows(shown []diffLine, p renderContext) []diffRow {
	rows := make([]diffRow, len(shown))
	file := b.file
	was, is := markdown.NewScanner(file), markdown.NewScanner(file)
	for i, c := range shown {
		r := &rows[i]
		if c.file != "" {
			file = c.file
		}
		if c.sign == 0 {
			was, is = markdown.NewScanner(file), markdown.NewScanner(file)
		}
		r.diffLine, r.body = c, expandTabs(visiblePart(c.text, p), codeTab)
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
		r.code = p.styler.pieces(r.side(), tokens)
	}
	work := wordsWork
	for from := 0; from < len(rows); {
		minus, plus, size := changedRun(rows[from:])
		pairLines(minus, plus, &work)
		from += max(size, 1)
	}
	return rows
}

// visiblePart returns the part of a line that can be visible.
func visiblePart(text string, p renderContext) string {
	if p.open || len(text) <= maxClipBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxClipBytes], "")
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

// render appends the row. Unfolded, a long line is wrapped instead of cut.
func (r *diffRow) render(lines []string, digits int, p renderContext) []string {
	if r.sign == 0 {
		return r.renderRemark(lines, digits, p)
	}
	room := p.width - digits - 3
	if digits == 0 {
		room++
	}
	if room < 1 {
		return append(lines, p.styler.apply(signRoles[r.side()], textwrap.Truncate(string(r.sign)+r.body, p.width)))
	}
	number := numberColumn(r.line, digits)
	for i, part := range r.renderParts(room, p) {
		if i > 0 {
			number = strings.Repeat(" ", len(number))
		}
		lines = append(lines, p.styler.apply(roleFaint, number)+part)
	}
	return lines
}

// renderRemark appends a line about the diff itself.
func (r *diffRow) renderRemark(lines []string, digits int, p renderContext) []string {
	margin := strings.Repeat(" ", digits+1)
	parts := []string{textwrap.Truncate(r.body, max(p.width-len(margin), 1))}
	if p.open {
		parts = textwrap.Line(nil, r.body, max(p.width-len(margin), 1))
	}
	for _, part := range parts {
		lines = append(lines, p.styler.apply(roleFaint, textwrap.Truncate(margin+part, p.width)))
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

// renderParts returns sign and text in lines with room cells of text. Lines on a
// background are padded to the full width.
func (r *diffRow) renderParts(room int, p renderContext) []string {
	s := r.side()
	texts := []string{textwrap.Truncate(r.body, room)}
	if p.open {
		texts = textwrap.Line(nil, r.body, room)
	}
	parts := make([]string, len(texts))
	at, sign := 0, string(r.sign)
	for i, t := range texts {
		kept, end := t, ""
		if !strings.HasPrefix(r.body[at:], t) {
			if begin, ok := strings.CutSuffix(t, textwrap.Ellipsis); ok && !p.open {
				kept, end = begin, textwrap.Ellipsis
			} else { // wrapping removed spaces
				at += len(r.body[at:]) - len(strings.TrimLeft(r.body[at:], " "))
			}
		}
		line := make([]codePiece, 1, len(r.code)+3)
		line[0] = codePiece{text: sign + " ", role: signRoles[s]}
		line = slicePieces(line, r.code, at, at+len(kept))
		line = append(line, codePiece{text: end, role: signRoles[s]})
		if p.styler.hasBackground[s] {
			line = append(line, codePiece{text: strings.Repeat(" ", max(0, room-textwrap.Width(t))), role: signRoles[s]})
		}
		parts[i] = p.styler.codeLine(s, line...)
		at, sign = at+len(kept), " "
	}
	return parts
}

// A splitView renders old lines on the left and new lines on the right.
type splitView struct {
	context renderContext
	digits  int
	half    int // cells of a half
}

func (v splitView) render(rows []diffRow) (lines []string) {
	for from := 0; from < len(rows); {
		minus, plus, size := changedRun(rows[from:])
		if size == 0 {
			r := &rows[from]
			from++
			if r.sign == 0 {
				lines = r.renderRemark(lines, v.digits, v.context)
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
		line += v.context.styler.apply(roleFaint, "│")
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
	p := v.context
	p.width = v.half
	return side.render(nil, v.digits, p)
}
