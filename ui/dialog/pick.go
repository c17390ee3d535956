package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/safe"
	"parley/ui/theme"
)

// An Item is one row of a Picker.
type Item struct {
	Title   string
	Detail  string // right of the titles
	Right   string // such as a price; at the right edge
	Key     string // binding, at the right edge
	Value   string // what PickedMsg tells
	Why     string // why it is Dim, such as "set OPENAI_API_KEY"; stands before Detail
	Dim     bool   // cannot be used at the moment
	Current bool   // in use; it is selected at the start
	Pinned  bool   // stands before the others, while nothing is typed
}

// PickedMsg says what was chosen. Kind is the picker's. Arg is what was written
// behind the first word, if the picker splits Words.
type PickedMsg struct{ Kind, Value, Arg string }

// A Picker is a list of items that shrinks to what matches as one types.
type Picker struct {
	base
	list
	Words bool // only the first word filters; what follows it is an argument

	kind, title string
	items       []Item // as they are shown
	lower       []lowered
	hits        []hit
	query       field
	wide        int // cells of the widest title
}

// lowered are the texts of an item in lower case.
type lowered struct{ title, detail string }

// Pick asks to choose one of items.
func Pick(kind, title string, items []Item, th *theme.Theme) *Picker {
	p := &Picker{base: newBase(th), kind: kind, title: title}
	p.take(items)
	p.at = max(slices.IndexFunc(p.items, func(i Item) bool { return i.Current }), 0)
	return p
}

// SetItems puts other items in the place of those there are, as they become
// known. What is typed stays, and the selected one selected.
func (p *Picker) SetItems(items []Item) {
	if p.over {
		return
	}
	selected := ""
	if p.at < len(p.hits) {
		selected = p.items[p.hits[p.at].item].Value
	}
	p.view = ""
	p.take(items)
	p.at = max(slices.IndexFunc(p.hits, func(h hit) bool { return p.items[h.item].Value == selected }), 0)
}

// take makes items ready to be shown.
func (p *Picker) take(items []Item) {
	p.items, p.lower, p.wide = slices.Clone(items), make([]lowered, len(items)), 0
	slices.SortStableFunc(p.items, func(a, b Item) int { return pinnedFirst(a.Pinned, b.Pinned) })
	for i := range p.items {
		item := &p.items[i]
		item.Title, item.Key = safe.Line(item.Title), safe.Line(item.Key)
		item.Detail, item.Right = safe.Line(item.Detail), safe.Line(item.Right)
		if item.Dim && item.Why != "" {
			item.Detail = strings.TrimSuffix(safe.Line(item.Why)+" · "+item.Detail, " · ")
		}
		p.lower[i] = lowered{strings.ToLower(item.Title), strings.ToLower(item.Detail)}
		p.wide = max(p.wide, cells(item.Title)+len(pinSign(item.Pinned)))
	}
	p.filter()
}

// pinnedFirst compares for sorting.
func pinnedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// pinSign stands before what is pinned.
func pinSign(pinned bool) string {
	if pinned {
		return "* "
	}
	return ""
}

// filter finds what matches: titles by letters in their order, the best first,
// then details that hold the query as it is.
func (p *Picker) filter() {
	p.at, p.top, p.hits = 0, 0, p.hits[:0]
	wanted, _ := p.words()
	phrase := strings.ToLower(wanted)
	query := strings.ReplaceAll(phrase, " ", "")
	var titled, detailed []int
	for i, lower := range p.lower {
		switch {
		case query == "":
			p.hits = append(p.hits, hit{item: i})
		case subsequence(query, lower.title):
			titled = append(titled, i)
		case strings.Contains(lower.detail, phrase):
			detailed = append(detailed, i)
		}
	}
	p.hits = append(p.hits, ranked(query, titled, func(i int) string { return p.items[i].Title })...)
	for _, i := range detailed {
		p.hits = append(p.hits, hit{item: i})
	}
}

// words are what filters and what is an argument.
func (p *Picker) words() (filter, arg string) {
	filter = strings.TrimSpace(p.query.text)
	if p.Words {
		filter, arg, _ = strings.Cut(filter, " ")
	}
	return filter, strings.TrimSpace(arg)
}

// SetSize gives the width and the most rows.
func (p *Picker) SetSize(width, height int) { p.resize(width, height) }

// Height depends on the items and not on what matches, so that the screen does
// not jump while one types.
func (p *Picker) Height() int { return min(max(len(p.items), 1)+2, p.height) }

func (p *Picker) visible() int { return contentRows(p.Height()) }

// Update moves, types, and chooses.
func (p *Picker) Update(msg tea.Msg) tea.Cmd {
	if p.over {
		return nil
	}
	p.view = ""
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && is(key, p.Keys.Close):
		return p.answer(ClosedMsg{Typed: p.query.text})
	case ok && is(key, p.Keys.Accept):
		return p.accept()
	case p.move(msg, p.Keys, len(p.hits), p.visible()):
	case p.query.key(msg, p.Keys):
		p.filter()
	}
	return nil
}

// accept answers with the selected item. Where nothing matches, what was written
// was meant for something else, and is handed back.
func (p *Picker) accept() tea.Cmd {
	if p.at >= len(p.hits) {
		return p.answer(ClosedMsg{Typed: p.query.text, Accepted: true})
	}
	_, arg := p.words()
	return p.answer(PickedMsg{Kind: p.kind, Value: p.items[p.hits[p.at].item].Value, Arg: arg})
}

// View draws the items around the selected one.
func (p *Picker) View() string {
	if p.view != "" {
		return p.view
	}
	visible := p.visible()
	p.follow(p.at, len(p.hits), visible)
	var rows []string
	for i := p.top; i < min(p.top+visible, len(p.hits)); i++ {
		rows = append(rows, p.row(p.hits[i], i == p.at))
	}
	if len(rows) == 0 {
		rows = append(rows, p.theme.Dim.Render(ansi.Truncate("  no match", p.width, "…")))
	}
	pairs := []string{first(p.Keys.Accept), "choose", first(p.Keys.Close), "close", "type", "to filter"}
	if len(p.hits) == 0 {
		pairs = pairs[2:]
	}
	foot := p.hint(p.theme.Dim, pairs...)
	p.view = frame(p.Height(), p.titleLine(), rows, foot)
	return p.view
}

func (p *Picker) titleLine() string {
	count := fmt.Sprint(len(p.items))
	if len(p.hits) < len(p.items) {
		count = fmt.Sprintf("%d of %d", len(p.hits), len(p.items))
	}
	return p.queried(p.title, count, &p.query)
}

// Cursor stands behind the query.
func (p *Picker) Cursor() (x, y int, ok bool) {
	return p.behind(p.title, &p.query), 0, p.Height() > 2
}

// row draws an item: sign, title, detail, and what stands at the right if there
// is room.
func (p *Picker) row(h hit, selected bool) string {
	item := p.items[h.item]
	look := p.theme.Text
	switch {
	case selected:
		look = p.theme.Strong
	case item.Dim:
		look = p.theme.Faint
	}
	detail := item.Detail
	if item.Current {
		detail = strings.TrimPrefix(detail+" · current", " · ")
	}
	pin := pinSign(item.Pinned)
	line := p.sign(selected) + p.theme.Accent.Render(pin) + mark(item.Title, h.marks, look, p.theme)
	if detail != "" {
		pad := max(min(p.wide, p.width/2)-cells(pin)-cells(item.Title), 0) + 2
		line += strings.Repeat(" ", pad) + p.theme.Dim.Render(detail)
	}
	right := strings.TrimSpace(item.Right + "  " + item.Key)
	room := p.width - cells(right)
	if right == "" || ansi.StringWidth(line) > room-2 && room < p.width/2 {
		return ansi.Truncate(line, p.width, "…")
	}
	line = ansi.Truncate(line, max(room-2, 0), "…")
	return ansi.Truncate(padded(line, room)+p.theme.Faint.Render(right), p.width, "")
}
