package dialog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// fewestLines sets how many rows of content it takes for headings to have room.
const fewestLines = 4

// stateCurrent stands behind what is in use.
const stateCurrent = " · current"

// SetSize gives the width and the most rows.
func (p *Picker) SetSize(width, height int) { p.resize(width, height) }

// Height depends on the items and not on what matches, so that the screen does
// not jump while one types.
func (p *Picker) Height() int { return min(max(p.rows, 1)+2, p.height) }

func (p *Picker) visible() int { return contentRows(p.Height()) }

// grouped reports whether items stand under headings: they do in their own order.
func (p *Picker) grouped() bool {
	return len(p.words) == 0 && len(p.items) > 0 && p.items[0].Group != "" && p.visible() >= fewestLines
}

// headed reports whether the first row of the content is a heading, which stays
// as the rest scrolls.
func (p *Picker) headed() bool {
	return p.grouped() || len(p.Columns) > 0 && p.visible() >= fewestLines
}

// headings returns the hits above which one stands.
func (p *Picker) headings() (at []int) {
	if !p.headed() {
		return nil
	}
	grouped := p.grouped()
	for i, h := range p.hits {
		if i == 0 || grouped && p.item(h).Group != p.item(p.hits[i-1]).Group {
			at = append(at, i)
		}
	}
	return at
}

// lineOf returns the line of a hit, headings counted.
func (p *Picker) lineOf(hit int) int {
	above, _ := slices.BinarySearch(p.headings(), hit+1)
	return hit + above
}

// View draws the items around the selected one.
func (p *Picker) View() string {
	if p.view != "" {
		return p.view
	}
	visible, heads := p.visible(), p.headings()
	total := len(p.hits) + len(heads)
	at := p.lineOf(p.at)
	p.follow(at, total, visible)
	if len(heads) > 0 && p.top == at {
		p.top-- // the selected one does not lie under the heading that stays
	}
	t := p.table()
	rows := make([]string, 0, visible)
	above := 0 // headings that lie above the first line
	for above < len(heads) && heads[above]+above < p.top {
		above++
	}
	hit := p.top - above
	for line := p.top; line < min(p.top+visible, total); line++ {
		switch {
		case above < len(heads) && heads[above] == hit:
			rows = append(rows, p.heading(p.item(p.hits[hit]), t, line == p.top))
			above++
		case line == p.top && len(heads) > 0: // the heading of what lies above stays
			rows = append(rows, p.heading(p.item(p.hits[hit]), t, true))
			hit++
		default:
			rows = append(rows, p.row(p.hits[hit], hit == p.at, t))
			hit++
		}
	}
	if len(rows) == 0 {
		rows = append(rows, p.theme.Dim.Render(ansi.Truncate("  no match", p.width, "…")))
	}
	p.view = frame(p.Height(), p.titleLine(), rows, p.foot(t))
	return p.view
}

func (p *Picker) titleLine() string {
	listed := len(p.items)
	if !p.all {
		listed -= p.hidden
	}
	count := fmt.Sprint(listed)
	switch {
	case p.completes():
		count = fmt.Sprint(len(p.hits))
	case len(p.hits) < listed:
		count = fmt.Sprintf("%d of %d", len(p.hits), listed)
	}
	taken := cells(p.title) + 2*queryGap + cells(p.query.shown(p.width)) + cells(" · "+count)
	if legend := p.legend(); legend != "" && taken+cells(legend) < p.width {
		count = legend + " · " + count
	}
	return p.queried(p.title, count, &p.query)
}

// legend returns what letters in the columns stand for, if there are any.
func (p *Picker) legend() string {
	var pairs []string
	t := p.table()
	for i, c := range p.Columns {
		if t.letters && t.wide[i] > 0 {
			for _, l := range c.Letters {
				pairs = append(pairs, l[1], l[0])
			}
		}
	}
	return join(pairs)
}

// Cursor stands behind the query.
func (p *Picker) Cursor() (x, y int, ok bool) {
	return p.behind(p.title, &p.query), 0, p.Height() > 2
}

// A table is the columns that there is room for.
type table struct {
	wide    []int // cells of each column; 0: it is left out
	letters bool  // columns show letters for words
	title   int   // cells of the titles

	text, strong, faint, dim, accent, found pen
}

// table makes room for the titles first; then columns are left out from the
// right. Words give way to letters before that.
func (p *Picker) table() table {
	least := min(p.wide, p.width*3/5)
	var t table
	for _, letters := range []bool{false, true} {
		t = table{wide: make([]int, len(p.Columns)), letters: letters, title: max(p.width-signWidth, 0)}
		full := false
		for i, c := range p.Columns {
			wide := cells(c.Name)
			if i < len(p.cellWide) {
				wide = max(wide, p.cellWide[i])
			}
			if letters && len(c.Letters) > 0 {
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
	if len(p.Columns) > 0 { // columns stand by the titles, not at the other side of a wide screen
		t.title = min(t.title, max(p.wide, p.width/4)+len(stateCurrent))
	}
	t.text, t.strong, t.faint = penOf(p.theme.Text), penOf(p.theme.Strong), penOf(p.theme.Faint)
	t.dim, t.accent, t.found = penOf(p.theme.Dim), penOf(p.theme.Accent), p.finding()
	return t
}

// cell writes text into a column: at the right, at the left, or as letters.
func (t table) cell(i int, c Column, text string) string {
	wide := t.wide[i]
	if t.letters && len(c.Letters) > 0 {
		words := strings.Fields(text)
		out := ""
		for _, l := range c.Letters {
			sign := " "
			if slices.Contains(words, l[0]) {
				sign = l[1]
			}
			out += sign
		}
		text = out
	}
	text = ansi.Truncate(text, wide, "…")
	space := strings.Repeat(" ", max(wide-cells(text), 0))
	if c.Left {
		return text + space
	}
	return space + text
}

// heading stands above the items of a group, and says why none of them can be
// used; the first row of the content names the columns as well.
func (p *Picker) heading(item *Item, t table, first bool) string {
	look := p.theme.Dim.Bold(true)
	name := ""
	if p.grouped() {
		name = strings.TrimSuffix(item.Group+" · "+p.why[item.Group], " · ")
	}
	if !first || len(p.Columns) == 0 {
		return look.Render(ansi.Truncate(name, p.width, "…"))
	}
	line := look.Render(padded(ansi.Truncate(name, t.title+signWidth, "…"), t.title+signWidth))
	for i, c := range p.Columns {
		if t.wide[i] == 0 {
			continue
		}
		head := t.cell(i, Column{Left: c.Left}, c.Name)
		if t.letters && len(c.Letters) > 0 {
			head = strings.Repeat(" ", t.wide[i])
		}
		line += strings.Repeat(" ", columnGap) + t.faint.write(head)
	}
	return ansi.Truncate(line, p.width, "…")
}

// row draws an item: sign, title, and what is said of it as far as there is room.
func (p *Picker) row(h hit, selected bool, t table) string {
	item := p.item(h)
	look, sign := t.text, "  "
	switch {
	case selected:
		look, sign = t.strong, t.accent.write("› ")
	case item.Dim:
		look = t.faint
	case p.onlyDescribed(h):
		look = t.dim
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
	line := sign + t.accent.write(pin) + mark(title, p.marks(h, title), look, t.found)
	if len(p.Columns) > 0 {
		return p.tabled(item, line+t.dim.write(state), t)
	}
	detail := strings.Trim(cmp.Or(item.Why, item.Detail)+state, " ·")
	if detail != "" {
		wide := p.wide
		if p.completes() {
			wide = max(wide, p.argWide)
		}
		pad := max(min(wide, p.width/2)-len(pin)-cells(title), 0) + columnGap
		line += strings.Repeat(" ", pad) + t.dim.write(detail)
	}
	key := p.key(item)
	room := p.width - cells(key)
	if key == "" || ansi.StringWidth(line) > room-columnGap && room < p.width/2 {
		return ansi.Truncate(line, p.width, "…")
	}
	line = ansi.Truncate(line, max(room-columnGap, 0), "…")
	return ansi.Truncate(padded(line, room)+t.faint.write(key), p.width, "")
}

// key returns the binding of an item; of several the first, where room is short.
func (p *Picker) key(item *Item) string {
	if one, _, several := strings.Cut(item.Key, ", "); several && cells(item.Key) > p.width/4 {
		return one
	}
	return item.Key
}

// tabled draws an item with its cells, or with what it lacks in their place. What
// all of a group lack stands in its heading.
func (p *Picker) tabled(item *Item, start string, t table) string {
	if item.Why != "" && !(p.grouped() && p.why[item.Group] != "") {
		why := ansi.Truncate(item.Why, p.whyRoom(item), "…")
		left := min(max(p.width-cells(why)-columnGap, 0), t.title+signWidth)
		start = padded(ansi.Truncate(start, left, "…"), left)
		return ansi.Truncate(start+strings.Repeat(" ", columnGap)+t.dim.write(why), p.width, "…")
	}
	var line strings.Builder
	line.WriteString(padded(ansi.Truncate(start, t.title+signWidth, "…"), t.title+signWidth))
	for i, c := range p.Columns {
		if t.wide[i] > 0 && i < len(item.Cells) {
			line.WriteString(strings.Repeat(" ", columnGap))
			line.WriteString(t.dim.write(t.cell(i, c, item.Cells[i])))
		}
	}
	return ansi.Truncate(strings.TrimRight(line.String(), " "), p.width, "…")
}

// whyRoom returns how many cells of a row may say what its item lacks: what the title
// leaves, but some in any case.
func (p *Picker) whyRoom(item *Item) int {
	const some = 12
	taken := signWidth + len(pinSign(item.Pinned)) + cells(item.Title) + columnGap
	return max(p.width-taken, min(some, p.width/2))
}

// marks returns the bytes of a title that match what is typed.
func (p *Picker) marks(h hit, title string) []int {
	switch {
	case len(p.words) == 0:
		return nil
	case h.item >= len(p.items):
		return p.argIndex.marks(h.item-len(p.items), title, p.words)
	}
	return p.index.marks(h.item, title, p.words)
}

// foot returns which keys work; where there is no room in its row, what is said of
// the selected item.
func (p *Picker) foot(t table) string {
	k := p.Keys
	if unsaid := p.unsaid(t); unsaid != "" {
		look := p.theme.Dim
		if p.said != "" || unsaid == p.item(p.hits[p.at]).Why {
			look = p.theme.Warn
		}
		return look.Render(ansi.Truncate(unsaid, p.width, "…"))
	}
	var pairs []string
	switch {
	case p.chosen():
		pairs = append(pairs, first(k.Accept), "choose")
	case len(p.hits) > 0:
		pairs = append(pairs, first(k.Down), "select")
	}
	if p.Keeps && len(p.hits) > 0 {
		pairs = append(pairs, first(k.Pin), "favourite", first(k.Trash), "hide")
	}
	if p.Keeps && p.hidden > 0 {
		show := fmt.Sprintf("show %d hidden", p.hidden)
		if p.all {
			show = fmt.Sprintf("leave out %d", p.hidden)
		}
		pairs = append(pairs, first(k.Details), show)
	}
	pairs = append(pairs, first(k.Close), "close")
	if p.commands {
		pairs = append(pairs, first(k.Next), "fill in")
	}
	return p.hint(p.theme.Dim, append(pairs, "type", "to filter")...)
}

// completes reports whether arguments of a command are listed.
func (p *Picker) completes() bool { return p.completing }

// unsaid returns what the selected item lacks or, without columns, what else is said of
// it, where its row or its heading has no room for that.
func (p *Picker) unsaid(t table) string {
	if p.said != "" || !p.chosen() {
		return p.said
	}
	item := p.item(p.hits[p.at])
	if len(p.Columns) == 0 {
		room := p.width - signWidth - max(min(p.wide, p.width/2), cells(item.Title)) - columnGap
		if key := p.key(item); key != "" {
			room -= cells(key) + columnGap
		}
		if said := cmp.Or(item.Why, item.Detail); cells(said) > room {
			return said
		}
		if item.Why != "" {
			return item.Detail
		}
		return ""
	}
	room, said := p.whyRoom(item), item.Why
	if common := p.why[item.Group]; p.grouped() && common != "" {
		room, said = t.title+signWidth, item.Group+" · "+common
	}
	if cells(said) <= room {
		return ""
	}
	return item.Why
}
