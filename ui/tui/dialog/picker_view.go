package dialog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"parley/ui/format"
	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// minHeadingRows is the minimum number of content rows for headings to be shown.
const minHeadingRows = 4

// minNoteWidth is the minimum width of a note, in cells.
const minNoteWidth = 8

// minNameCells is the minimum width of a title beside columns, in cells.
const minNameCells = 28

// stateCurrent follows the title of the current item.
const stateCurrent = " · current"

// wants ignores the query, so that the screen does not jump while the user types.
func (p *Picker) wants() (above, inBand int) {
	above = max(p.rows, 1) + p.aboutRows()
	if p.preview != nil {
		above += MaxPreview
	}
	return above, 1
}

func (p *Picker) visibleRows() int {
	list, _, _ := p.share()
	return list
}

// share divides the rows above the band between the list, the preview and the sentence.
func (p *Picker) share() (list, preview, about int) {
	if list = p.rowsAbove(1); list > minHeadingRows+p.aboutRows() {
		about = p.aboutRows()
	}
	if list -= about; p.preview != nil && list >= 2*minPreviewRows {
		preview = max(list-max(p.rows, minHeadingRows), list/2)
	}
	return list - preview, preview, about
}

// aboutRows returns the number of rows for the About of the selected item, or else for the note.
func (p *Picker) aboutRows() int {
	if p.Note != "" || len(p.items) > 0 && p.items[len(p.items)-1].About != "" {
		return 2
	}
	return 0
}

// hasGroups reports whether items are listed under group headings, which requires an empty query.
func (p *Picker) hasGroups() bool {
	return len(p.words) == 0 && len(p.items) > 0 && p.items[0].Group != "" && p.visibleRows() >= minHeadingRows
}

// headings returns the indexes of hits that follow a heading. The heading on the first content row
// stays in place when the rest scrolls.
func (p *Picker) headings() (at []int) {
	grouped := p.hasGroups()
	if !grouped && (len(p.Columns) == 0 || p.visibleRows() < minHeadingRows) {
		return nil
	}
	for i, h := range p.hits {
		if i == 0 || grouped && p.item(h).Group != p.item(p.hits[i-1]).Group {
			at = append(at, i)
		}
	}
	return at
}

// lineOf returns the line of a hit, counting headings.
func (p *Picker) lineOf(hit int) int {
	above, _ := slices.BinarySearch(p.headings(), hit+1)
	return hit + above
}

func (p *Picker) draw() (rows, inBand []string, foot string) {
	visible, preview, about := p.share()
	heads := p.headings()
	total := len(p.hits) + len(heads)
	at := p.lineOf(p.list.selected)
	p.list.scrollTo(at, total, visible)
	if len(heads) > 0 && p.list.top == at {
		p.list.top-- // otherwise the fixed heading would cover the selected item
	}
	above := 0 // headings above the first line
	for above < len(heads) && heads[above]+above < p.list.top {
		above++
	}
	hit := p.list.top - above
	from := max(hit, 0)
	t := p.table(p.hits[from:min(from+visible, len(p.hits))])
	for line := p.list.top; line < min(p.list.top+visible, total); line++ {
		switch {
		case above < len(heads) && heads[above] == hit:
			rows = append(rows, p.heading(p.item(p.hits[hit]), t, line == p.list.top))
			above++
		case line == p.list.top && len(heads) > 0: // the heading of the continued group
			rows = append(rows, p.heading(p.item(p.hits[hit]), t, true))
			hit++
		default:
			rows = append(rows, p.ground(p.row(p.hits[hit], hit == p.list.selected, t), hit == p.list.selected))
			hit++
		}
	}
	if len(rows) == 0 {
		rows = append(rows, p.theme.Dim.Render(ansi.Truncate("  No match", p.width, "…")))
	}
	if preview > 0 {
		rows = append(rows, p.previewLines(preview)...)
	}
	if about > 0 {
		text := p.Note
		if p.hasSelection() {
			text = cmp.Or(p.item(p.hits[p.list.selected]).About, text)
		}
		rows = append(rows, "", p.theme.Dim.Render(ansi.Truncate("  "+text, p.width, "…")))
	}
	return rows, []string{p.titleLine(t)}, p.foot(t)
}

func (p *Picker) titleLine(t table) string {
	listed := len(p.items)
	if !p.showHidden {
		listed -= p.hidden
	}
	count := fmt.Sprint(listed)
	if p.Noun != "" {
		count = format.Plural(listed, p.Noun)
	}
	switch {
	case p.arg.listsArgs():
		count = fmt.Sprint(len(p.hits))
	case len(p.hits) < listed:
		count = fmt.Sprintf("%d of %d", len(p.hits), listed)
	}
	left := p.inner() - textwrap.Width(p.title) - 2*queryGap - textwrap.Width(p.query.visibleText(p.inner()))
	if more := p.legend(t); more != "" && textwrap.Width(more+" · "+count) < left {
		count = more + " · " + count
	}
	return p.queryLine(p.title, count, &p.query)
}

// legend returns the meaning of the letters in the columns; "" if there are none.
func (p *Picker) legend(t table) string {
	var letters []hint
	for i, c := range p.Columns {
		if t.letters && t.wide[i] > 0 {
			for _, l := range c.Letters {
				letters = append(letters, hint{l[1], l[0]})
			}
		}
	}
	return joinHints(letters...)
}

// Cursor implements Dialog. The cursor is after the query.
func (p *Picker) Cursor() (x, y int, ok bool) {
	return p.queryCursor(p.title, &p.query)
}

// A table holds the widths of the columns.
type table struct {
	wide    []int // cells of each column; 0 if it is omitted
	letters bool  // columns show letters for words
	title   int   // cells of titles
	note    int   // cells of notes; 0 if there are none
	names   int   // cells of the widest command with its alias

	text, strong, faint, dim, accent, found theme.SGR
}

// table gives space to the titles first, then to notes, then to columns from left to right. It
// uses letters before it omits columns. A few values in the visible rows that are far wider than the others do not
// count, and are truncated.
func (p *Picker) table(visible []fuzzy.Hit) table {
	var titles, notes []int
	cells, names := make([][]int, len(p.Columns)), 0
	wanted, _ := p.split()
	for _, h := range visible {
		item := p.item(h)
		titles = append(titles, textwrap.Width(item.Title)+len(pinSign(item.Pinned)))
		notes = append(notes, textwrap.Width(item.Note))
		for i, cell := range item.Cells[:min(len(item.Cells), len(cells))] {
			cells[i] = append(cells[i], textwrap.Width(cell))
		}
		if alias := typedAlias(item, wanted); p.commands && alias != "" {
			names = max(names, textwrap.Width(item.Title+alias)+len(" ()"))
		}
	}
	widest := slices.Max(append(titles, 0))
	title, note := commonWidth(titles, minNameCells), commonWidth(notes, 3*minNoteWidth)
	least := min(title, max(p.width/2, minNameCells))
	var t table
	for _, letters := range []bool{false, true} {
		t = table{wide: make([]int, len(p.Columns)), letters: letters, title: max(p.width-signWidth, 0), names: names}
		if len(p.Columns) > 0 && note > 0 {
			if t.note = min(note, t.title-least-columnGap); t.note < minNoteWidth {
				t.note = 0
			} else {
				t.title -= t.note + columnGap
			}
		}
		full := false
		for i, c := range p.Columns {
			wide := commonWidth(cells[i], max(minNoteWidth, c.Least))
			if wide == 0 {
				continue // no visible row has a value
			}
			if wide = max(textwrap.Width(c.Name), wide); letters && len(c.Letters) > 0 {
				wide = len(c.Letters)
			}
			if full = full || t.title-wide-columnGap < least; !full {
				t.wide[i] = wide
				t.title -= wide + columnGap
			}
		}
		if !full {
			break
		}
	}
	if len(p.Columns) > 0 { // keep columns near the titles on a wide screen
		t.title = min(t.title, max(title, min(widest, p.width/2), p.width/4)+len(stateCurrent))
	}
	t.text, t.strong, t.faint = theme.NewSGR(p.theme.Text), theme.NewSGR(p.theme.Strong), theme.NewSGR(p.theme.Faint)
	t.dim, t.accent, t.found = theme.NewSGR(p.theme.Dim), theme.NewSGR(p.theme.Accent), matchSGR(p.theme)
	return t
}

// heading returns the heading of item's group, with the reason if none of its items can be chosen.
// On the first content row it also names the columns.
func (p *Picker) heading(item *Item, t table, first bool) string {
	style := p.theme.Dim.Bold(true)
	name := ""
	if p.hasGroups() {
		name = format.Join(" · ", item.Group, p.groupReasons[item.Group])
	}
	if !first || len(p.Columns) == 0 {
		return style.Render(ansi.Truncate(name, p.width, "…"))
	}
	start := t.title + signWidth
	if t.note > 0 {
		start += columnGap + t.note
	}
	line := style.Render(padRight(ansi.Truncate(name, start, "…"), start))
	for i, c := range p.Columns {
		if t.wide[i] == 0 {
			continue
		}
		head := t.cell(i, Column{Left: c.Left}, c.Name)
		if t.letters && len(c.Letters) > 0 {
			head = strings.Repeat(" ", t.wide[i])
		}
		line += strings.Repeat(" ", columnGap) + t.faint.Apply(head)
	}
	return ansi.Truncate(line, p.width, "…")
}

// row returns the row of an item: sign, title, and the details that fit.
func (p *Picker) row(h fuzzy.Hit, selected bool, t table) string {
	item := p.item(h)
	plain, sign := t.text, "  "
	switch {
	case selected:
		plain, sign = t.strong, t.accent.Apply("› ")
	case item.Disabled:
		plain = t.faint
	case p.matchedByDescription(h):
		plain = t.dim
	}
	title, pin, state := item.Title, pinSign(item.Pinned), ""
	if item.Current {
		state = stateCurrent
	}
	if item.Hidden {
		state += " · hidden"
	}
	if item.State != "" {
		state += " · " + item.State
	}
	alias := ""
	if wanted, _ := p.split(); p.commands {
		if alias = typedAlias(item, wanted); alias != "" {
			alias = " (" + alias + ")"
		}
	}
	line := sign + t.accent.Apply(pin) + highlight(title, p.marks(h, title), plain, t.found) + t.dim.Apply(alias)
	if len(p.Columns) > 0 {
		return p.tableRow(item, line+t.dim.Apply(state), t)
	}
	detail, why := strings.Trim(cmp.Or(item.Detail, item.Unavailable)+state, " ·"), ""
	if item.Detail != "" && item.Unavailable != "" {
		why = " · " + item.Unavailable
	}
	if detail != "" {
		line = ansi.Truncate(line, signWidth+item.titleCells(p.width-signWidth), "…")
		wide := p.titleWidth
		if p.arg.listsArgs() {
			wide = max(wide, p.arg.argTitleWidth)
		}
		pad := max(min(max(wide, t.names), p.width/2)-len(pin)-textwrap.Width(title+alias), 0) + columnGap
		line += strings.Repeat(" ", pad) + t.dim.Apply(detail) + t.faint.Apply(why)
	}
	key := item.shownKey(p.width)
	room := p.width - textwrap.Width(key)
	if key == "" || ansi.StringWidth(line) > room-columnGap && room < p.width/2 {
		return ansi.Truncate(line, p.width, "…")
	}
	line = ansi.Truncate(line, max(room-columnGap, 0), "…")
	return ansi.Truncate(padRight(line, room)+t.faint.Apply(key), p.width, "")
}

// titleCells returns how many of width cells the title of a row may use. A short detail gets
// its space first, as it says more than the end of a long title.
func (i *Item) titleCells(width int) int {
	left := width - columnGap - textwrap.Width(i.Detail)
	if i.Detail == "" || i.Unavailable != "" || i.Key != "" || left < max(width/2, minNameCells) {
		return width
	}
	return left
}

// shownKey returns the keys of an item in a row of width cells, or only the first one if space is tight.
func (i *Item) shownKey(width int) string {
	if one, _, several := strings.Cut(i.Key, ", "); several && textwrap.Width(i.Key) > width/4 {
		return one
	}
	return i.Key
}

// tableRow returns the row of an item with its cells. An unavailable item without a note has the reason instead,
// unless the heading of its group shows it.
func (p *Picker) tableRow(item *Item, start string, t table) string {
	note, headed := item.Note, p.hasGroups() && p.groupReasons[item.Group] != ""
	if item.Disabled && headed {
		note = ""
	}
	if item.Unavailable != "" && item.Note == "" && !headed {
		why := ansi.Truncate(item.Unavailable, p.reasonWidth(item), "…")
		left := min(max(p.width-textwrap.Width(why)-columnGap, 0), t.title+signWidth)
		start = padRight(ansi.Truncate(start, left, "…"), left)
		return ansi.Truncate(start+strings.Repeat(" ", columnGap)+t.dim.Apply(why), p.width, "…")
	}
	var line strings.Builder
	line.WriteString(padRight(ansi.Truncate(start, t.title+signWidth, "…"), t.title+signWidth))
	if t.note > 0 {
		line.WriteString(strings.Repeat(" ", columnGap))
		line.WriteString(padRight(t.dim.Apply(wholePieces(note, t.note)), t.note))
	}
	for i, c := range p.Columns {
		if t.wide[i] > 0 && i < len(item.Cells) {
			line.WriteString(strings.Repeat(" ", columnGap))
			style := t.dim
			switch {
			case i == 0 && item.Own:
				style = t.accent
			case i == 0 && item.Imposed:
				style = theme.NewSGR(p.theme.Voice)
			case c.Signed && strings.HasPrefix(item.Cells[i], "+"):
				style = theme.NewSGR(p.theme.Good)
			case c.Signed && strings.HasPrefix(item.Cells[i], "−"):
				style = theme.NewSGR(p.theme.Bad)
			}
			line.WriteString(style.Apply(t.cell(i, c, item.Cells[i])))
		}
	}
	return ansi.Truncate(strings.TrimRight(line.String(), " "), p.width, "…")
}

// reasonWidth returns how many cells the reason for an unavailable item may use: those that the
// title leaves, but at least some.
func (p *Picker) reasonWidth(item *Item) int {
	const some = 12
	taken := signWidth + len(pinSign(item.Pinned)) + textwrap.Width(item.Title) + columnGap
	return max(p.width-taken, min(some, p.width/2))
}

// marks returns the byte offsets of the characters in a title that match the query.
func (p *Picker) marks(h fuzzy.Hit, title string) []int {
	switch {
	case len(p.words) == 0:
		return nil
	case h.Item >= len(p.items):
		return p.arg.argIndex.Marks(h.Item-len(p.items), title, p.words)
	}
	return p.index.Marks(h.Item, title, p.words)
}
