package dialog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

// A paged is a displayed line: a heading, a line of a part, or one line of its unfolded text.
type paged struct {
	text       string   // sanitized
	part, line int      // indexes; line is titleLine for a heading and blankLine for the blank line above it
	fold       byte     // '+' can be unfolded, '-' begins an unfolded line, ' ' otherwise
	sign       string   // prefix of text with its own color; "" for none
	rows       []string // of a line of a diff; nil for others
}

const (
	titleLine = -1
	blankLine = -2
)

func (l paged) heading() bool { return l.line == titleLine }

// full returns the complete text of an abbreviated line; "" if the line is complete.
func (p *Pager) full(l paged) string {
	if l.line < 0 {
		return ""
	}
	return p.parts[l.part].Lines[l.line].Full
}

// A pageRow is a piece of a line that fits the width of the pager.
type pageRow struct {
	line, from, to int
	styled         string // the whole row, of a diff
}

// layOut wraps all lines to the width.
func (p *Pager) layOut() {
	width := max(p.width-signWidth, 1)
	if p.layoutWidth == width {
		return
	}
	p.collectLines(width)
	p.layoutWidth, p.rows, p.view = width, p.rows[:0], ""
	for i, l := range p.lines {
		for at, row := range l.rows {
			p.rows = append(p.rows, pageRow{i, min(at, 1) * len(l.text), len(l.text) + 1, row})
		}
		for from := 0; l.rows == nil; {
			to := rowEnd(l.text, from, width)
			p.rows = append(p.rows, pageRow{i, from, to, ""})
			if from = to; from >= len(l.text) || l.heading() {
				break
			}
		}
	}
	p.selected = max(min(p.selected, len(p.rows)-1), 0)
}

// collectLines collects the displayed lines.
func (p *Pager) collectLines(width int) {
	p.lines = p.lines[:0]
	for i := range p.parts {
		part := &p.parts[i]
		var diff [][]string
		if part.Patch {
			diff = readPatch(part, width, p.theme)
		} else if part.Render != nil {
			part.Lines = nil
			for _, line := range part.Render(width) {
				part.Lines = append(part.Lines, format.Line{Text: line})
			}
		}
		if i > 0 {
			p.lines = append(p.lines, paged{part: i - 1, line: blankLine, fold: ' '})
		}
		p.lines = append(p.lines, paged{text: sanitize.Line(part.Title), part: i, line: titleLine, fold: ' '})
		for j, l := range part.Lines {
			switch {
			case j < len(diff):
				p.lines = append(p.lines, paged{text: l.Text, part: i, line: j, fold: ' ', rows: diff[j]})
			case l.Full == "":
				p.lines = append(p.lines, paged{text: sanitize.Line(l.String()), part: i, line: j, fold: ' ', sign: l.Sign})
			case !p.open[[2]int{i, j}]:
				p.lines = append(p.lines, paged{text: sanitize.Line(l.String()), part: i, line: j, fold: '+', sign: l.Sign})
			default:
				fold := byte('-')
				for text := range strings.SplitSeq(l.Full, "\n") {
					p.lines = append(p.lines, paged{text: sanitize.Line(text), part: i, line: j, fold: fold})
					fold = ' '
				}
			}
		}
	}
}

// maxPatchLines is the maximum number of lines of a diff on a page.
const maxPatchLines = 10_000

// readPatch sets the lines of a part to those of its diff, and returns the rows of each. A source that is no diff, such
// as a line about a binary file, stays as it is.
func readPatch(part *format.Part, width int, th *theme.Theme) [][]string {
	d := diffview.Read(sanitize.Text(part.Source), maxPatchLines)
	if d.Len() == 0 {
		return nil
	}
	part.Lines = nil
	for _, text := range d.Texts(nil) {
		part.Lines = append(part.Lines, format.Line{Text: text})
	}
	if d.Dropped > 0 {
		part.Lines = append(part.Lines, format.Line{Text: "⋯ " + format.Plural(d.Dropped, "more line")})
	}
	return d.Rows(diffview.View{Styles: diffview.NewStyles(th), Width: width, Wrap: true})
}

// rowEnd returns the end of a row of at most width cells that begins at from. A row ends after a
// space in its second half, else inside a word.
func rowEnd(text string, from, width int) int {
	size, _ := textwrap.Fit(text[from:], width)
	end := from + size
	if end == len(text) {
		return end
	}
	if text[end] == ' ' {
		return end + 1 // the space at the end of the row is invisible
	}
	if at := from + strings.LastIndexByte(text[from:end], ' ') + 1; at > from+(end-from)/2 {
		return at
	}
	return end
}

// place returns the part and line under the cursor, and the index of the cursor's row in that line.
func (p *Pager) place() (part, line, row int) {
	if len(p.rows) == 0 {
		return 0, titleLine, 0
	}
	at := p.rows[min(p.selected, len(p.rows)-1)].line
	l := p.lines[at]
	return l.part, l.line, p.selected - p.firstRow(l.part, l.line)
}

// firstRow returns the index of the first row of a line; -1 if there is none.
func (p *Pager) firstRow(part, line int) int {
	return slices.IndexFunc(p.rows, func(r pageRow) bool { return p.lines[r.line].part == part && p.lines[r.line].line == line })
}

// goTo puts the cursor on the given row of a line.
func (p *Pager) goTo(part, line, row int) {
	i := p.firstRow(part, line)
	if i < 0 {
		i, row = 0, 0
	}
	p.selected = max(min(i+row, len(p.rows)-1), 0)
}

// show puts the cursor on the row of a line that contains the byte at offset.
func (p *Pager) show(line, offset int) {
	for i, r := range p.rows {
		if r.line == line && r.from <= offset && (offset < r.to || p.lines[line].heading()) {
			p.selected = i
			return
		}
	}
}

// wholeLine returns the full text of a line; for a heading, the text of its part.
func (p *Pager) wholeLine(at int) string {
	l := p.lines[at]
	if l.line < 0 {
		return p.parts[l.part].Source
	}
	return cmp.Or(p.full(l), p.parts[l.part].Lines[l.line].String())
}

// found returns the offset of query in text, -1 for no match. An upper-case letter in query makes
// it case-sensitive.
func found(text, query string) int {
	if !strings.ContainsFunc(query, unicode.IsUpper) {
		if lower := strings.ToLower(text); len(lower) == len(text) { // otherwise offsets would differ
			text = lower
		}
	}
	return strings.Index(text, query)
}

func (p *Pager) visible() int { return p.rowsAbove(1) }

func (p *Pager) draw() (rows, inBand []string, foot string) {
	p.layOut()
	visible := p.visible()
	p.scrollTo(p.selected, len(p.rows), visible)
	for i := p.top; i < min(p.top+visible, len(p.rows)); i++ {
		rows = append(rows, ansi.Truncate(p.row(i), p.width, ""))
	}
	rows = append(rows, make([]string, max(visible-len(rows), 0))...)
	return rows, []string{p.titleLine(p.title, p.positionText(visible))}, p.foot()
}

// positionText returns the note and the position of the last visible row in percent.
func (p *Pager) positionText(visible int) string {
	where := p.note
	if len(p.rows) > visible {
		where = format.Join(" · ", where, percent(min(p.top+visible, len(p.rows)), len(p.rows)))
	}
	return where
}

// foot returns the query, the result of the last key, or the key hints.
func (p *Pager) foot() string {
	switch {
	case p.typing:
		return p.theme.Accent.Render(ansi.Truncate("/"+p.query.visibleText(p.footWidth()-1), p.footWidth(), ""))
	case p.message != "":
		return p.theme.Warn.Render(ansi.Truncate(printableRow(p.message), p.footWidth(), "…"))
	}
	leave := "close"
	if p.Back != nil {
		leave = "back"
	}
	keys := []hint{keyClose.hint(leave)}
	if len(p.rows) > 0 {
		if l := p.lines[p.rows[p.selected].line]; p.full(l) != "" {
			does := "unfold"
			if p.open[[2]int{l.part, l.line}] {
				does = "fold"
			}
			keys = append(keys, keyAccept.hint(does))
		}
	}
	keys = append(keys, hint{"/", "search"})
	if p.lastQuery != "" {
		keys = append(keys, hint{"n/N", "next/previous match"})
	}
	keys = append(keys, hint{"y", "copy part"})
	for _, act := range p.Actions {
		keys = append(keys, hint{act.Key, act.Help})
	}
	keys = append(keys, keyNext.hint("next part"), hint{"Y", "copy line"})
	return p.keyHints(keys...)
}

// row returns the row with index i.
func (p *Pager) row(i int) string {
	r := p.rows[i]
	l := p.lines[r.line]
	sign := " "
	if i == p.selected {
		sign = p.theme.Accent.Render("›")
	}
	if l.heading() {
		return sign + " " + p.heading(l)
	}
	if l.rows != nil {
		return sign + " " + r.styled
	}
	fold := " "
	if r.from == 0 && l.fold != ' ' {
		fold = p.theme.Dim.Render(string(l.fold))
	}
	style := p.theme.Text
	if l.fold == '+' {
		style = p.theme.Dim
	}
	text, mark := l.text[r.from:r.to], ""
	if rest, ok := strings.CutPrefix(text, l.sign); ok && l.sign != "" && r.from == 0 {
		text, mark = rest, p.theme.Sign(l.sign).Render(l.sign)
	}
	return sign + fold + mark + p.highlighted(text, theme.NewSGR(style))
}

// heading returns the title of a part and its note, truncated.
func (p *Pager) heading(l paged) string {
	room := max(p.width-signWidth, 0)
	title := ansi.Truncate(l.text, room, "…")
	room -= textwrap.Width(title) + 1
	note := ansi.Truncate(printableRow(p.parts[l.part].Note), max(room, 0), "…")
	if note == "" {
		return p.theme.Strong.Render(title)
	}
	return p.theme.Strong.Render(title) + " " + p.theme.Faint.Render(note)
}

// highlighted returns text in the style plain, with matches of the query highlighted.
func (p *Pager) highlighted(text string, plain theme.SGR) string {
	if p.lastQuery == "" {
		return plain.Apply(text)
	}
	var marks []int
	for at := found(text, p.lastQuery); at >= 0; {
		for i := range p.lastQuery {
			marks = append(marks, at+i)
		}
		next := at + len(p.lastQuery)
		if at = found(text[next:], p.lastQuery); at >= 0 {
			at += next
		}
	}
	return highlight(text, marks, plain, matchSGR(p.theme))
}
