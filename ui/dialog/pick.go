package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sahilm/fuzzy"

	"parley/ui/safe"
	"parley/ui/theme"
)

// An Item is one row of a Picker.
type Item struct {
	Title   string
	Detail  string // right of the titles
	Key     string // binding, at the right edge
	Value   string // what PickedMsg tells
	Dim     bool   // cannot be used at the moment
	Current bool   // in use; it is selected at the start
}

// PickedMsg says what was chosen. Kind is the picker's. Arg is what was written
// behind the first word, if the picker splits Words.
type PickedMsg struct{ Kind, Value, Arg string }

// A Picker is a list of items that shrinks to what matches as one types.
type Picker struct {
	base
	Words bool // only the first word filters; what follows it is an argument
	scroll
	kind, title string
	items       []Item // as they are shown
	lower       []string
	hits        []hit
	query       field
	at          int // index of the selected hit
	wide        int // cells of the widest title
}

// A hit is an item that matches; marks are the bytes of its title that do.
type hit struct {
	item  int
	marks []int
}

// Pick asks to choose one of items.
func Pick(kind, title string, items []Item, th *theme.Theme) *Picker {
	p := &Picker{base: newBase(th), kind: kind, title: title, items: make([]Item, len(items)), lower: make([]string, len(items))}
	for i, item := range items {
		item.Title, item.Detail, item.Key = safe.Line(item.Title), safe.Line(item.Detail), safe.Line(item.Key)
		p.items[i] = item
		p.lower[i] = strings.ToLower(item.Detail)
		p.wide = max(p.wide, ansi.StringWidth(item.Title))
	}
	p.filter()
	for i, item := range p.items {
		if item.Current {
			p.at = i
			break
		}
	}
	return p
}

// filter finds what matches: titles by letters in their order, the best first,
// then details that hold the query as it is.
func (p *Picker) filter() {
	p.at, p.top, p.hits = 0, 0, p.hits[:0]
	wanted, _ := p.words()
	query := strings.ReplaceAll(wanted, " ", "")
	if query == "" {
		for i := range p.items {
			p.hits = append(p.hits, hit{item: i})
		}
		return
	}
	found := make([]bool, len(p.items))
	matches := fuzzy.FindFromNoSort(query, titles(p.items))
	slices.SortStableFunc(matches, func(a, b fuzzy.Match) int { return b.Score - a.Score })
	for _, m := range matches {
		found[m.Index] = true
		p.hits = append(p.hits, hit{m.Index, m.MatchedIndexes})
	}
	phrase := strings.ToLower(wanted)
	for i, detail := range p.lower {
		if !found[i] && strings.Contains(detail, phrase) {
			p.hits = append(p.hits, hit{item: i})
		}
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

type titles []Item

func (t titles) String(i int) string { return t[i].Title }
func (t titles) Len() int            { return len(t) }

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
	case p.move(msg):
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

// move changes the selection as a scroll does its top.
func (p *Picker) move(msg tea.Msg) bool {
	sel := scroll{p.at}
	if !sel.key(msg, p.Keys, len(p.hits), 1) {
		return false
	}
	if k, ok := msg.(tea.KeyPressMsg); ok && p.visible() > 2 {
		switch page := p.visible() - 1; {
		case is(k, p.Keys.PageUp):
			sel.top = p.at - page
		case is(k, p.Keys.PageDown):
			sel.top = p.at + page
		}
	}
	sel.fit(len(p.hits), 1)
	p.at = sel.top
	return true
}

// View draws the items around the selected one.
func (p *Picker) View() string {
	if p.view != "" {
		return p.view
	}
	visible := p.visible()
	p.top = max(min(p.top, p.at), p.at-visible+1)
	p.fit(len(p.hits), visible)
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

const queryGap = 2

func (p *Picker) titleLine() string {
	title := ansi.Truncate(safe.Line(p.title), max(p.width/2, 1), "…")
	query := p.query.shown(p.width - ansi.StringWidth(title) - queryGap)
	count := fmt.Sprint(len(p.items))
	if len(p.hits) < len(p.items) {
		count = fmt.Sprintf("%d of %d", len(p.hits), len(p.items))
	}
	line := p.theme.Strong.Render(title)
	if query != "" {
		line += strings.Repeat(" ", queryGap) + p.theme.Accent.Render(query)
	}
	gap := p.width - ansi.StringWidth(line) - ansi.StringWidth(count)
	if gap < queryGap+1 { // the cursor wants a cell of its own
		return ansi.Truncate(line, p.width, "")
	}
	return line + strings.Repeat(" ", gap) + p.theme.Faint.Render(count)
}

// Cursor stands behind the query.
func (p *Picker) Cursor() (x, y int, ok bool) {
	title := ansi.Truncate(safe.Line(p.title), max(p.width/2, 1), "…")
	x = ansi.StringWidth(title) + queryGap
	x += ansi.StringWidth(p.query.shown(p.width - x))
	return min(x, max(p.width-1, 0)), 0, p.Height() > 2
}

// row draws an item: sign, title, detail, and the key if there is room.
func (p *Picker) row(h hit, selected bool) string {
	item := p.items[h.item]
	look := p.theme.Text
	sign := "  "
	switch {
	case selected:
		look, sign = p.theme.Strong, p.theme.Accent.Render("› ")
	case item.Dim:
		look = p.theme.Faint
	}
	detail := item.Detail
	if item.Current {
		detail = strings.TrimPrefix(detail+" · current", " · ")
	}
	line := sign + mark(item.Title, h.marks, look, p.theme)
	if detail != "" {
		pad := max(min(p.wide, p.width/2)-ansi.StringWidth(item.Title), 0) + 2
		line += strings.Repeat(" ", pad) + p.theme.Dim.Render(detail)
	}
	room := p.width - ansi.StringWidth(item.Key)
	if item.Key == "" || ansi.StringWidth(line) > room-2 && room < p.width/2 {
		return ansi.Truncate(line, p.width, "…")
	}
	line = ansi.Truncate(line, max(room-2, 0), "…")
	return ansi.Truncate(line+strings.Repeat(" ", max(room-ansi.StringWidth(line), 0))+p.theme.Faint.Render(item.Key), p.width, "")
}

// mark underlines the characters of title that begin at the bytes in marks.
func mark(title string, marks []int, look lipgloss.Style, th *theme.Theme) string {
	if len(marks) == 0 {
		return look.Render(title)
	}
	var out strings.Builder
	from := 0
	for _, at := range marks {
		if at < from {
			continue // a second rune of the same character
		}
		char, _ := ansi.FirstGraphemeCluster(title[at:], ansi.GraphemeWidth)
		if at > from {
			out.WriteString(look.Render(title[from:at]))
		}
		out.WriteString(underlined(th.Accent, char))
		from = at + len(char)
	}
	if from < len(title) {
		out.WriteString(look.Render(title[from:]))
	}
	return out.String()
}
