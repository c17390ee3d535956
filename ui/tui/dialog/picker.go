package dialog

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// An Item is one row of a Picker.
type Item struct {
	Title       string
	Detail      string   // right of the titles, where there are no columns
	Cells       []string // under the picker's Columns
	Key         string   // binding, at the right edge
	Value       string   // what PickedMsg tells
	Unavailable string   // why it is Dim, such as "set OPENAI_API_KEY"; stands in the place of Cells and Detail
	State       string   // behind the title, such as "as typed"
	Note        string   // between the title and Cells, in pieces with " · " between them: where there is little room, the last go first
	Keywords    string   // what it is found by as well, and which is not shown; other names of a command
	Group       string   // what it stands under while nothing is typed

	Disabled bool // cannot be used at the moment
	Current  bool // in use; it is selected at the start
	Pinned   bool // stands before the others, with a sign
	Hidden   bool // shown if asked for, or if nothing else matches
	Exact    bool // of an argument: its beginning does not stand for it
}

// A Column is what Cells of this place are about. Where there is little room,
// words give way to letters, which the foot explains: "tools thinking" is "T R"
// with Letters tools T, vision V, thinking R.
type Column struct {
	Name    string
	Left    bool        // aligned to the left
	Letters [][2]string // words that cells consist of, and the letter for each
}

// What a Picker says. Only PickedMsg ends it.
type (
	// PickedMsg reports what was chosen. Arg is what was written
	// behind the first word, if the picker splits Words.
	PickedMsg struct{ Value, Arg string }
	// PinMsg reports that an item is to be a favorite, or no longer.
	PinMsg struct {
		Value string
		On    bool
	}
	// HideMsg reports that an item is not to be listed, or is again.
	HideMsg struct {
		Value string
		On    bool
	}
	// MovedMsg reports what is selected now.
	MovedMsg struct{ Value string }
)

// A Picker is a list of items that shrinks to what matches as one types.
type Picker struct {
	base
	selectList
	Columns     []Column
	Favorites   bool                                       // items can be marked as favorites and hidden
	NotifyMoves bool                                       // MovedMsg tells of each selection
	FreeItem    func(typed string) (item Item, first bool) // makes an item of what is typed and no item is called; none if its Value is ""

	commands bool                      // the first word filters, what follows it is an argument; see preselect
	argsOf   func(command string) Args // with commands: what may follow it, by its Value; nil: anything

	title   string
	query   textField
	message string // why enter chose nothing; "" once another key was pressed
	itemSet
	argSet
}

// An itemSet is the items to choose from, those of them that match, and the room
// that they take.
type itemSet struct {
	items        []Item // as they are shown
	args         []Item // what may follow a command; the item that FreeItem made
	index        fuzzy.Index
	hits         []fuzzy.Hit // of items, or behind their end of args
	words        fuzzy.Query
	showHidden   bool              // hidden ones are shown
	hidden       int               // items that are
	rows         int               // of all that is not, headings included
	titleWidth   int               // cells of the widest title, with columns of those in sight; see measureRows
	widestTitle  int               // cells of the widest title in sight, if there are columns
	noteWidth    int               // cells of the widest Note in sight
	cellWidths   []int             // cells of the widest cell in sight of each column
	groupReasons map[string]string // by group: what all of it lack
}

// An argSet is the command whose arguments are completed.
type argSet struct {
	completing      bool // args are listed
	argIndex        fuzzy.Index
	argTitleWidth   int
	argCommand      string // its Value
	argCommandTitle string
	offered         Args
	paths           pathSet
}

// Pick asks to choose one of items.
func Pick(title string, items []Item, th *theme.Theme) *Picker {
	p := &Picker{base: newBase(th), title: title}
	p.setItems(items)
	p.selectCurrent()
	return p
}

// Commands asks for a command of items, and for an argument behind it, of those
// that args has for the command's Value; nil: anything may follow.
func Commands(title string, items []Item, args func(command string) Args, th *theme.Theme) *Picker {
	p := &Picker{base: newBase(th), title: title, commands: true, argsOf: args}
	p.setItems(items)
	return p
}

// selectCurrent selects what is in use.
func (p *Picker) selectCurrent() {
	p.selected = max(slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Current }), 0)
}

// SetQuery writes query, as if it had been typed.
func (p *Picker) SetQuery(query string) {
	p.query.text, p.view = query, ""
	p.filter()
}

// hasSelection reports whether an item is selected.
func (p *Picker) hasSelection() bool { return p.selected >= 0 && p.selected < len(p.hits) }

// Selected returns the value of the item that enter would choose; "" for none.
func (p *Picker) Selected() string {
	if !p.hasSelection() {
		return ""
	}
	return p.item(p.hits[p.selected]).Value
}

// SetItems puts other items in the place of those there are, as they become
// known. What is typed stays, and the selected one selected, on its row of the
// screen; where it is gone, what came after it is.
func (p *Picker) SetItems(items []Item) {
	if p.done {
		return
	}
	selected, at, row := p.Selected(), p.selected, p.lineOf(p.selected)-p.top
	p.view = ""
	first := len(p.items) == 0
	p.setItems(items)
	switch {
	case p.commands && selected == "":
		return
	case first && len(p.words) == 0:
		p.selectCurrent()
		return
	}
	p.selected = slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Value == selected })
	if p.selected < 0 {
		p.selected = max(min(at, len(p.hits)-1), 0)
	}
	p.top = p.lineOf(p.selected) - row
}

// setItems makes items ready to be shown.
func (p *Picker) setItems(items []Item) {
	p.items, p.titleWidth, p.hidden, p.groupReasons = sanitizeItems(items), 0, 0, map[string]string{}
	slices.SortStableFunc(p.items, func(a, b Item) int { return pinnedFirst(a.Pinned, b.Pinned) })
	for i := range p.items {
		item := &p.items[i]
		p.titleWidth = max(p.titleWidth, textwrap.Width(item.Title)+len(pinSign(item.Pinned)))
		if item.Hidden {
			p.hidden++
		}
		if why, met := p.groupReasons[item.Group]; met && why != item.Unavailable || item.Pinned { // favorites have nothing else in common
			p.groupReasons[item.Group] = ""
		} else if !met {
			p.groupReasons[item.Group] = item.Unavailable
		}
	}
	p.index, p.argCommand = fuzzy.Index{}, ""
	p.countRows()
	p.filter()
}

// countRows finds how many rows all that can be listed takes, headings included.
func (p *itemSet) countRows() {
	group, some := "", false
	p.rows = 0
	for i := range p.items {
		item := &p.items[i]
		if item.Hidden && !p.showHidden {
			continue
		}
		if item.Group != group || !some && len(item.Cells) > 0 {
			p.rows++
		}
		group, some = item.Group, true
		p.rows++
	}
}

// sanitizeItems returns items as they can be shown.
func sanitizeItems(items []Item) []Item {
	items = slices.Clone(items)
	for i := range items {
		item := &items[i]
		for _, s := range []*string{&item.Title, &item.Detail, &item.Key, &item.Unavailable, &item.Group, &item.State, &item.Note} {
			if *s != "" {
				*s = printableRow(*s)
			}
		}
		if item.Cells = slices.Clone(item.Cells); !item.Disabled {
			item.Unavailable = ""
		}
		for j := range item.Cells {
			item.Cells[j] = printableRow(item.Cells[j])
		}
	}
	return items
}

func indexItems(items []Item) fuzzy.Index {
	x := fuzzy.New(len(items), func(i int) (title, also string) {
		item := &items[i]
		return item.Title, strings.Join(append(slices.Clip(item.Cells), item.Detail, item.Unavailable, item.Keywords), "\n")
	})
	for i := range items {
		if items[i].Disabled {
			x.Penalize(i)
		}
	}
	return x
}

// item returns what a hit is of.
func (p *itemSet) item(h fuzzy.Hit) *Item {
	if h.Item >= len(p.items) {
		return &p.args[h.Item-len(p.items)]
	}
	return &p.items[h.Item]
}

// filter finds what matches, and selects what enter is to choose.
func (p *Picker) filter() {
	p.selected, p.top, p.hits, p.completing = 0, 0, p.hits[:0], false
	p.find()
	if p.commands {
		p.preselect()
		return
	}
	p.promoteExact()
}

// find fills hits. What is hidden is found where nothing else is.
func (p *Picker) find() {
	wanted, _ := p.split()
	words := fuzzy.Parse(wanted)
	p.words = words
	if p.completeArgs(); p.paths.wanted {
		return // what is typed is no other command
	}
	shown := func(i int) bool { return p.showHidden || !p.items[i].Hidden }
	if len(p.words) == 0 {
		for i := range p.items {
			if shown(i) {
				p.hits = append(p.hits, fuzzy.Hit{Item: i})
			}
		}
		return
	}
	if p.index.IsZero() { // to look at a list takes no search
		p.index = indexItems(p.items)
	}
	from := len(p.hits)
	if p.completing {
		own := p.hits[0].Item
		any := shown
		shown = func(i int) bool { return i != own && any(i) }
	}
	p.hits = p.index.Find(p.hits, words, shown)
	if len(p.hits) == 0 {
		p.hits = p.index.Find(p.hits, words, func(i int) bool { return p.items[i].Hidden })
	}
	if p.commands { // of those that fit as well, the one of which most is typed
		slices.SortStableFunc(p.hits[from:], func(a, b fuzzy.Hit) int {
			if named := nameMatchOf(p.item(b), wanted) - nameMatchOf(p.item(a), wanted); named != 0 {
				return int(named)
			}
			if a.Score != b.Score {
				return b.Score - a.Score
			}
			return p.index.Len(a.Item) - p.index.Len(b.Item)
		})
	}
}

// Update moves, types, and chooses.
func (p *Picker) Update(msg tea.Msg) tea.Cmd {
	if p.done {
		return nil
	}
	p.view, p.message = "", ""
	before := p.Selected()
	cmd := tea.Batch(p.update(msg), requestPaths(p))
	if now := p.Selected(); p.NotifyMoves && !p.done && now != before {
		p.Say(MovedMsg{now})
	}
	return cmd
}

func (p *Picker) update(msg tea.Msg) tea.Cmd {
	if paths, ok := msg.(pathsMsg); ok {
		onPaths(p, paths)
		return nil
	}
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && key.Matches(press, p.Keys.Close):
		return p.answer(ClosedMsg{Typed: p.query.text})
	case ok && key.Matches(press, p.Keys.Accept):
		return p.accept()
	case ok && p.Favorites && key.Matches(press, p.Keys.Favorite):
		return p.itemCmd(func(i Item) tea.Msg { return PinMsg{i.Value, !i.Pinned} })
	case ok && p.Favorites && key.Matches(press, p.Keys.Hide):
		return p.itemCmd(func(i Item) tea.Msg { return HideMsg{i.Value, !i.Hidden} })
	case ok && p.Favorites && key.Matches(press, p.Keys.ShowHidden):
		p.showAll()
	case ok && p.commands && key.Matches(press, p.Keys.Fill):
		fill(p)
	case p.move(msg, p.Keys.ScrollKeys, len(p.hits), p.visibleRows()):
	case p.query.key(msg, p.Keys.FieldKeys):
		p.filter()
	}
	return nil
}

// itemCmd returns what is to become of the selected item, which SetItems then shows.
func (p *Picker) itemCmd(said func(Item) tea.Msg) tea.Cmd {
	if !p.hasSelection() {
		return nil
	}
	return p.Say(said(*p.item(p.hits[p.selected])))
}

// showAll shows what is hidden, or no longer.
func (p *Picker) showAll() {
	selected := p.Selected()
	p.showHidden = !p.showHidden
	p.countRows()
	p.filter()
	p.selected = max(slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Value == selected }), 0)
}

// accept answers with the selected item. Where no command matches, what was written was meant
// for something else, and is handed back; another list stays open.
func (p *Picker) accept() tea.Cmd {
	if p.commands && p.selected < 0 && (len(p.hits) > 0 || p.query.text == "") {
		p.message = p.noMatchReason()
		return nil
	}
	if !p.hasSelection() && !p.commands {
		return nil
	}
	if !p.hasSelection() {
		return p.answer(ClosedMsg{Typed: p.query.text, Accepted: true})
	}
	h := p.hits[p.selected]
	if h.Item >= len(p.items) && p.commands {
		return p.answer(PickedMsg{Value: p.argCommand, Arg: p.item(h).Value})
	}
	_, arg := p.split()
	return p.answer(PickedMsg{Value: p.item(h).Value, Arg: arg})
}
