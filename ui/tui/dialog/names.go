package dialog

import (
	"slices"
	"strings"

	"parley/ui/fuzzy"
	"parley/ui/textwrap"
)

// nameMatch orders how far a row is named by what is typed.
type nameMatch int

const (
	byDescription nameMatch = iota // found by what is said of it, or by letters of its name
	byPrefix                       // typed begins one of its names
	byName                         // typed is one of its names
)

// nameMatchOf returns how typed names an item.
func nameMatchOf(item *Item, typed string) nameMatch {
	if typed == "" {
		return byDescription
	}
	names := append([]string{item.Title}, strings.Fields(item.Keywords)...)
	how := byDescription
	for _, name := range names {
		switch {
		case strings.EqualFold(name, typed):
			return byName
		case len(name) >= len(typed) && strings.EqualFold(name[:len(typed)], typed):
			how = byPrefix
		}
	}
	return how
}

// typedAlias returns the other name of a command that wanted begins; "" if it begins its
// own, or is empty.
func typedAlias(item *Item, wanted string) string {
	begins := func(name string) bool {
		return len(name) >= len(wanted) && strings.EqualFold(name[:len(wanted)], wanted)
	}
	if wanted == "" || begins(item.Title) {
		return ""
	}
	for alias := range strings.FieldsSeq(item.Keywords) {
		if begins(alias) {
			return alias
		}
	}
	return ""
}

// preselect selects the command that what is typed names, with the argument that
// is typed: enter must not run what was only found by its description. Without
// one nothing is selected before an arrow key.
func (p *Picker) preselect() {
	p.selected = -1
	if len(p.items) == 0 {
		return
	}
	wanted, arg := p.split()
	names := make([][]string, len(p.items))
	for i := range p.items {
		names[i] = append([]string{p.items[i].Title}, strings.Fields(p.items[i].Keywords)...)
	}
	at, _ := fuzzy.Named(wanted, names)
	if at < 0 || arg != "" && nameMatchOf(&p.items[at], wanted) != byName {
		return // "/the file is" may be a message
	}
	p.selected = slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return h.Item == at })
	if arg == "" || !p.listsArgs() {
		return
	}
	if i := p.argument(arg); i >= 0 {
		p.selected = slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return h.Item == len(p.items)+i })
	}
}

// argument returns the one that arg names: whole, or, where that is enough, by its
// beginning; below 0 for none.
func (p *Picker) argument(arg string) int {
	names := make([][]string, len(p.args))
	for i := range p.args {
		item := &p.args[i]
		title := strings.TrimPrefix(item.Title, p.argCommandTitle+" ")
		if item.Exact && !strings.EqualFold(title, arg) && item.Value != arg {
			continue
		}
		names[i] = []string{title, item.Value}
	}
	at, _ := fuzzy.Named(arg, names)
	return at
}

// noMatchReason returns why enter ran nothing.
func (p *Picker) noMatchReason() string {
	wanted, _ := p.split()
	var like []string
	for _, h := range p.hits {
		if h.Item < len(p.items) && nameMatchOf(p.item(h), wanted) == byPrefix {
			like = append(like, p.item(h).Title)
		}
	}
	down := p.Keys.Down.Help().Key
	switch {
	case wanted == "":
		return down + " select a command"
	case len(like) > 1:
		return "Several: " + strings.Join(like, ", ") + " · " + down + " select"
	}
	return "Unknown command /" + printableRow(wanted) + " · " + down + " select one of these"
}

// matchedByDescription reports whether what is typed does not name the command of a hit.
func (p *Picker) matchedByDescription(h fuzzy.Hit) bool {
	wanted, _ := p.split()
	return p.commands && wanted != "" && h.Item < len(p.items) && nameMatchOf(p.item(h), wanted) == byDescription
}

// promoteExact puts the item first that what is typed is the title of, also one that
// is hidden; without one, the item that Free makes of it where that belongs.
func (p *Picker) promoteExact() {
	typed := strings.TrimSpace(p.query.text)
	if typed == "" {
		return
	}
	i := slices.IndexFunc(p.items, func(item Item) bool { return strings.EqualFold(item.Title, typed) })
	if i >= 0 {
		p.hits = slices.DeleteFunc(p.hits, func(h fuzzy.Hit) bool { return h.Item == i })
		p.hits = slices.Insert(p.hits, 0, fuzzy.Hit{Item: i})
		return
	}
	if p.FreeItem == nil {
		return
	}
	item, front := p.FreeItem(typed)
	if item.Value == "" {
		return
	}
	p.args = sanitizeItems([]Item{item})
	p.argIndex = indexItems(p.args)
	at := len(p.hits)
	if front {
		at = 0
	}
	p.hits = slices.Insert(p.hits, at, fuzzy.Hit{Item: len(p.items)})
}

// completeArgs finds what may follow the command that is typed.
func (p *Picker) completeArgs() {
	command, arg := p.split()
	typed := strings.TrimPrefix(strings.TrimLeft(p.query.text, " "), "/")
	if p.argsOf == nil || !strings.HasPrefix(typed, command+" ") {
		return
	}
	at := slices.IndexFunc(p.items, func(i Item) bool { return strings.EqualFold(i.Title, command) })
	if at < 0 {
		return
	}
	if c := &p.items[at]; p.argCommand != c.Value {
		p.argCommand, p.argCommandTitle, p.args = c.Value, c.Title, sanitizeItems(p.argsOf(c.Value))
		p.argTitleWidth = 0
		for i := range p.args {
			p.args[i].Title = c.Title + " " + p.args[i].Title
			p.argTitleWidth = max(p.argTitleWidth, textwrap.Width(p.args[i].Title))
		}
		p.argIndex = indexItems(p.args)
	}
	words := fuzzy.Parse(arg)
	p.words = slices.Concat(p.words, words) // both are marked
	found := p.argIndex.Find(nil, words, func(i int) bool { return !p.args[i].Hidden })
	if p.completing = len(found) > 0; p.completing {
		p.hits = append(p.hits, fuzzy.Hit{Item: at})
	}
	for _, h := range found {
		p.hits = append(p.hits, fuzzy.Hit{Item: h.Item + len(p.items), Score: h.Score})
	}
}

// split returns what filters and what is an argument.
func (p *Picker) split() (filter, arg string) {
	filter = strings.TrimSpace(p.query.text)
	if p.commands {
		filter, arg, _ = strings.Cut(strings.TrimPrefix(filter, "/"), " ")
	}
	return filter, strings.TrimSpace(arg)
}
