package dialog

import (
	"slices"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// An Item is one row of a Picker.
type Item struct {
	Title       string
	Detail      string   // shown after the title, if the picker has no Columns
	Cells       []string // values for the picker's Columns
	Key         string   // key binding, shown at the right edge
	Value       string   // Value of the resulting Choice
	Unavailable string   // reason for Disabled, such as "set OPENAI_API_KEY"; shown instead of Cells
	State       string   // shown after the title, such as "as typed"
	Note        string   // shown between title and Cells, in pieces joined by " · "; the last are dropped if space is tight
	Keywords    string   // further words that match but are not shown; for a command, its aliases
	Group       string   // heading, shown while the query is empty
	About       string   // a sentence, shown below the rows while the item is selected

	Own      bool // the user set the value in the first cell
	Imposed  bool // something else decides that value, such as a flag
	Disabled bool // cannot be chosen now
	Current  bool // in use; selected at the start
	Pinned   bool // listed first, with a sign
	Hidden   bool // listed only on request, or if nothing else matches
	Exact    bool // for an argument: a prefix does not select it
}

// A Column is a column of Cells. If space is tight, words become letters, which the title line
// explains: "tools thinking" is "T R" with Letters tools T, vision V, thinking R.
type Column struct {
	Name    string
	Left    bool        // aligned to the left
	Signed  bool        // +n and −n have the colors of a diff
	Least   int         // cells that a wide value gets if the others are narrow; 0 for the default
	Letters [][2]string // words in the cells, and the letter for each
}

// A Choice is the chosen item. Arg is the argument of a command. Alias is the name by which the
// command was typed, "" for its own name.
type Choice struct{ Value, Arg, Alias string }

// A Picker is a list of items, filtered by a typed query.
type Picker struct {
	base
	compact
	Columns   []Column
	Noun      string // names the items in their number, such as "model"; "" for none
	Note      string // beside the title, if there is room: what holds for all items
	Chosen    func(Choice) tea.Cmd
	Marks     Marks
	Moved     func(value string)                         // called with the newly selected item, "" for none; may be nil
	Actions   []PageKey                                  // keys that act on the selected item while there is no filter; after / they type one
	IsMessage bool                                       // for commands: a second enter accepts an unknown name as text
	Elsewhere func(name string) string                   // for commands: says what the name of another program's command does; "" for others; may be nil
	FreeItem  func(typed string) (item Item, first bool) // makes an item from text that is no title; none if its Value is ""

	commands bool // the first word filters, the rest is an argument; see preselect

	title   string
	query   textField
	message string     // why enter chose nothing; "" after another key
	list    selectList // selects and scrolls in hits
	preview *itemDiff  // the diff of the selected item, shown if there is room; nil for none
	itemSet
	arg argSet
}

// An itemSet holds the items, the matching ones, and their widths.
type itemSet struct {
	items        []Item // sanitized
	args         []Item // arguments of a command, or the item of FreeItem
	index        fuzzy.Index
	hits         []fuzzy.Hit // matches; an index beyond items refers to args
	words        fuzzy.Query
	showHidden   bool              // hidden items are listed too
	hidden       int               // number of hidden items
	rows         int               // number of rows for an empty query, including headings
	titleWidth   int               // cells of the widest title
	groupReasons map[string]string // Unavailable shared by all items of a group; "" if they differ
}

// An argSet is the command whose arguments are being completed.
type argSet struct {
	of            func(command string) Args // returns the arguments of a command, by its Value
	completing    bool                      // args are listed
	argIndex      fuzzy.Index
	argTitleWidth int
	argCommand    Item
	offered       Args
	paths         pathSet
}

// Marks are the functions that mark or unmark a favorite or hidden item, and call SetItems; nil if unsupported.
type Marks struct {
	Pin, Hide func(value string, on bool) tea.Cmd
}

// Pick returns a picker for items.
func Pick(title string, items []Item, th *theme.Theme) *Picker {
	p := &Picker{base: newBase(th), title: title}
	p.content = p
	p.setItems(items)
	p.selectCurrent()
	return p
}

// Commands returns a picker for commands. args returns the arguments for the Value of a command.
func Commands(title string, items []Item, args func(command string) Args, th *theme.Theme) *Picker {
	p := &Picker{base: newBase(th), title: title, commands: true, arg: argSet{of: args}}
	p.content = p
	p.setItems(items)
	return p
}

// selectCurrent selects the current item, or the first one.
func (p *Picker) selectCurrent() {
	p.list.selected = max(slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Current }), 0)
}

// SetQuery sets the query, as if it had been typed.
func (p *Picker) SetQuery(query string) {
	p.query.text, p.view = query, ""
	p.filter()
}

// Select selects the item with this value.
func (p *Picker) Select(value string) {
	if i := slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Value == value }); i >= 0 {
		p.list.selected = i
	}
}

// hasSelection reports whether an item is selected.
func (p *Picker) hasSelection() bool { return p.list.selected >= 0 && p.list.selected < len(p.hits) }

// Selected returns the value of the item that enter would choose; "" for none.
func (p *Picker) Selected() string {
	if !p.hasSelection() {
		return ""
	}
	return p.item(p.hits[p.list.selected]).Value
}

// SetItems replaces the items. The query stays. The selected item stays on the same row of the
// screen; if it is gone, the item in its place is selected.
func (p *Picker) SetItems(items []Item) {
	if p.done {
		return
	}
	selected, at, row := p.Selected(), p.list.selected, p.lineOf(p.list.selected)-p.list.top
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
	p.list.selected = slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Value == selected })
	if p.list.selected < 0 {
		p.list.selected = max(min(at, len(p.hits)-1), 0)
	}
	p.list.top = p.lineOf(p.list.selected) - row
}

// setItems sanitizes, sorts and filters items.
func (p *Picker) setItems(items []Item) {
	p.items, p.titleWidth, p.hidden, p.groupReasons = sanitizeItems(items), 0, 0, map[string]string{}
	sort.SliceStable(p.items, func(i, j int) bool { return pinnedFirst(p.items[i].Pinned, p.items[j].Pinned) < 0 })
	for i := range p.items {
		item := &p.items[i]
		p.titleWidth = max(p.titleWidth, textwrap.Width(item.Title)+len(pinSign(item.Pinned)))
		if item.Hidden {
			p.hidden++
		}
		if why, met := p.groupReasons[item.Group]; met && why != item.Unavailable || item.Pinned { // favorites share nothing else
			p.groupReasons[item.Group] = ""
		} else if !met {
			p.groupReasons[item.Group] = item.Unavailable
		}
	}
	p.index, p.arg.argCommand = fuzzy.Index{}, Item{}
	p.countRows()
	p.filter()
}

// countRows counts the rows for an empty query, including headings.
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

// sanitizeItems returns a sanitized copy of items.
func sanitizeItems(items []Item) []Item {
	items = slices.Clone(items)
	for i := range items {
		item := &items[i]
		for _, s := range []*string{&item.Title, &item.Detail, &item.Key, &item.Unavailable, &item.Group, &item.State, &item.Note, &item.About} {
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

// item returns the item of a hit.
func (p *itemSet) item(h fuzzy.Hit) *Item {
	if h.Item >= len(p.items) {
		return &p.args[h.Item-len(p.items)]
	}
	return &p.items[h.Item]
}

// filter finds the matching items and selects one.
func (p *Picker) filter() {
	p.list.selected, p.list.top, p.hits, p.arg.completing = 0, 0, p.hits[:0], false
	p.find()
	if p.commands {
		p.preselect()
		return
	}
	p.promoteExact()
}

// find sets hits. It includes hidden items only if nothing else matches.
func (p *Picker) find() {
	wanted, _ := p.split()
	words := fuzzy.Parse(wanted)
	p.words = words
	if p.completeArgs(); p.arg.paths.wanted {
		return // the query is a command with a path
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
	if p.index.IsZero() { // built at the first search
		p.index = indexItems(p.items)
	}
	from := len(p.hits)
	if p.arg.completing {
		own, isShown := p.hits[0].Item, shown
		shown = func(i int) bool { return i != own && isShown(i) }
	}
	p.hits = p.index.Find(p.hits, words, shown)
	if len(p.hits) == 0 {
		p.hits = p.index.Find(p.hits, words, func(i int) bool { return p.items[i].Hidden })
	}
	if p.commands { // of equal matches, the shortest comes first
		hits := p.hits[from:]
		sort.SliceStable(hits, func(i, j int) bool {
			a, b := hits[i], hits[j]
			if named := nameMatchOf(p.item(b), wanted) - nameMatchOf(p.item(a), wanted); named != 0 {
				return named < 0
			}
			if a.Score != b.Score {
				return a.Score > b.Score
			}
			return p.index.Len(a.Item) < p.index.Len(b.Item)
		})
	}
}

// handle handles keys that move, type or choose.
func (p *Picker) handle(msg tea.Msg) tea.Cmd {
	said := p.message
	p.message = ""
	if press, ok := msg.(tea.KeyPressMsg); ok && said != "" && sendsAgain(p) && pressed(press, keyAccept) {
		return p.leave(Left{Typed: p.query.text, Accepted: true, Again: true})
	}
	before := p.Selected()
	cmd := tea.Batch(p.update(msg), requestPaths(p))
	if now := p.Selected(); p.Moved != nil && !p.done && now != before {
		p.Moved(now)
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
	case ok && pressed(press, keyClose):
		return p.leave(Left{Typed: p.query.text})
	case ok && pressed(press, keyAccept):
		return p.accept()
	case ok && p.Marks.Pin != nil && pressed(press, keyShowHidden):
		p.showAll()
	case ok && p.Marks.Pin != nil && p.hasSelection() && pressed(press, keyFavorite):
		i := p.item(p.hits[p.list.selected])
		return p.Marks.Pin(i.Value, !i.Pinned)
	case ok && p.Marks.Pin != nil && p.hasSelection() && pressed(press, keyHide):
		i := p.item(p.hits[p.list.selected])
		return p.Marks.Hide(i.Value, !i.Hidden)
	case ok && p.hasSelection() && actionOf(p, press) != nil:
		return actionOf(p, press)()
	case ok && len(p.Actions) > 0 && p.query.text == "" && press.String() == "/":
		p.Actions = slices.DeleteFunc(p.Actions, PageKey.types)
	case ok && p.commands && pressed(press, keyFill):
		fill(p)
	case p.list.move(msg, scrollMode{}, len(p.hits), p.visibleRows()):
	case p.query.key(msg):
		p.filter()
	}
	return nil
}

// actionOf returns the action of a key; nil if it types.
func actionOf(p *Picker, press tea.KeyPressMsg) func() tea.Cmd {
	at := slices.IndexFunc(p.Actions, func(a PageKey) bool {
		return a.Key == press.String() || slices.ContainsFunc([]keyName{keyTrash, keyUndo}, func(n keyName) bool { return a.Key == n.String() && pressed(press, n) })
	})
	if at < 0 || p.query.text != "" && p.Actions[at].types() {
		return nil
	}
	return p.Actions[at].Do
}

// showAll toggles whether hidden items are shown.
func (p *Picker) showAll() {
	selected := p.Selected()
	p.showHidden = !p.showHidden
	p.countRows()
	p.filter()
	p.list.selected = 0
	p.Select(selected)
}

// accept answers with the selected item. If no command matches, or a query of several words matches
// only descriptions, it closes and returns the query to the root. A picker of other items stays open.
func (p *Picker) accept() tea.Cmd {
	switch _, arg := p.split(); {
	case p.elsewhere() != "":
		return p.leave(Left{Typed: p.query.text, Accepted: true})
	case p.hasSelection():
	case !p.commands:
		return nil
	case len(p.hits) == 0 && p.query.text != "", arg != "" && len(namedAlike(p)) == 0:
		return p.leave(Left{Typed: p.query.text, Accepted: true})
	default:
		p.message = p.noMatchReason()
		return nil
	}
	h := p.hits[p.list.selected]
	p.done = true
	if h.Item >= len(p.items) && p.commands {
		return p.Chosen(Choice{Value: p.arg.argCommand.Value, Arg: p.item(h).Value})
	}
	item := p.item(h)
	typed, arg := p.split()
	if !p.commands || !slices.Contains(strings.Fields(item.Keywords), typed) {
		typed = ""
	}
	return p.Chosen(Choice{Value: item.Value, Arg: arg, Alias: typed})
}
