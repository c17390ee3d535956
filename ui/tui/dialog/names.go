package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/fuzzy"
	"parley/ui/textwrap"
)

// nameMatch is the quality of a match of the query; a better match is greater.
type nameMatch int

const (
	byDescription nameMatch = iota // the query matches the description, or letters of a name
	byPrefix                       // the query is a prefix of one of its names
	byName                         // the query is one of its names
)

// namesOf returns the name of a command and its aliases.
func namesOf(item *Item) []string {
	return append([]string{item.Title}, strings.Fields(item.Keywords)...)
}

// begins reports whether name begins with typed, ignoring case.
func begins(name, typed string) bool {
	return len(name) >= len(typed) && strings.EqualFold(name[:len(typed)], typed)
}

// nameMatchOf returns the best match of typed with an item.
func nameMatchOf(item *Item, typed string) nameMatch {
	how := byDescription
	for _, name := range namesOf(item) {
		switch {
		case typed == "":
		case strings.EqualFold(name, typed):
			return byName
		case begins(name, typed):
			how = byPrefix
		}
	}
	return how
}

// typedAlias returns the first alias of a command that begins with wanted. It returns "" if the
// command's own name does, or wanted is empty.
func typedAlias(item *Item, wanted string) string {
	names := namesOf(item)
	if i := slices.IndexFunc(names, func(name string) bool { return begins(name, wanted) }); i > 0 {
		return names[i]
	}
	return ""
}

// preselect selects the command that the query names, with its argument. Otherwise it selects nothing
// until the user presses an arrow key: enter must not run a command that matched only by its
// description.
func (p *Picker) preselect() {
	p.list.selected = -1
	if len(p.items) == 0 {
		return
	}
	wanted, arg := p.split()
	if p.elsewhere() != "" {
		return
	}
	names := make([][]string, len(p.items))
	for i := range p.items {
		names[i] = namesOf(&p.items[i])
	}
	at, _ := fuzzy.Named(wanted, names)
	if at < 0 || arg != "" && nameMatchOf(&p.items[at], wanted) != byName {
		return // "/the file is" may be a message
	}
	p.list.selected = slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return h.Item == at })
	if arg == "" || !p.arg.listsArgs() {
		return
	}
	if i := p.argument(arg); i >= 0 {
		p.list.selected = slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return h.Item == len(p.items)+i })
	}
}

// elsewhere says what the query does if it is the name of another program's command; "" if it is not.
func (p *Picker) elsewhere() string {
	wanted, _ := p.split()
	if p.Elsewhere == nil || slices.ContainsFunc(p.items, func(i Item) bool { return nameMatchOf(&i, wanted) == byName }) {
		return ""
	}
	return p.Elsewhere(wanted)
}

// argument returns the index of the argument with the name arg or, failing that, the prefix arg;
// -1 for none.
func (p *Picker) argument(arg string) int {
	names := make([][]string, len(p.args))
	for i := range p.args {
		item := &p.args[i]
		title := strings.TrimPrefix(item.Title, p.arg.argCommand.Title+" ")
		if item.Exact && !strings.EqualFold(title, arg) && item.Value != arg {
			continue
		}
		names[i] = []string{title, item.Value}
	}
	at, _ := fuzzy.Named(arg, names)
	return at
}

// namedAlike returns the commands whose names begin with the typed one.
func namedAlike(p *Picker) (titles []string) {
	wanted, _ := p.split()
	for _, h := range p.hits {
		if h.Item < len(p.items) && nameMatchOf(p.item(h), wanted) == byPrefix {
			titles = append(titles, p.item(h).Title)
		}
	}
	return titles
}

// noMatchReason returns why enter had no effect.
func (p *Picker) noMatchReason() string {
	wanted, _ := p.split()
	like, down := namedAlike(p), keyDown.String()
	switch {
	case wanted == "":
		return down + " select a command"
	case len(like) > 1:
		return "Several: " + strings.Join(like, ", ") + " · " + down + " select"
	}
	why := "Unknown command /" + printableRow(wanted)
	if sendsAgain(p) {
		why += AgainSends
	}
	return why + " · " + down + " select one of these"
}

// AgainSends tells the user that pressing enter again sends the line, which names no command.
const AgainSends = " · enter again sends it as text"

// sendsAgain reports whether pressing enter again accepts the query as text: it is not a prefix
// of any command name.
func sendsAgain(p *Picker) bool {
	wanted, _ := p.split()
	return p.IsMessage && !p.hasSelection() && wanted != "" && len(namedAlike(p)) == 0
}

// matchedByDescription reports whether the command of a hit matches only by its description.
func (p *Picker) matchedByDescription(h fuzzy.Hit) bool {
	wanted, _ := p.split()
	return p.commands && wanted != "" && h.Item < len(p.items) && nameMatchOf(p.item(h), wanted) == byDescription
}

// promoteExact puts the item whose title equals the query first, even if it is hidden. If there is
// none, it inserts the item that FreeItem makes from the query.
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
	p.arg.argIndex = indexItems(p.args)
	at := len(p.hits)
	if front {
		at = 0
	}
	p.hits = slices.Insert(p.hits, at, fuzzy.Hit{Item: len(p.items)})
}

// completeArgs finds the matching arguments for the command in the query.
func (p *Picker) completeArgs() {
	command, arg := p.split()
	typed := strings.TrimPrefix(strings.TrimLeft(p.query.text, " "), "/")
	p.arg.paths.wanted = false
	if p.arg.of == nil || !strings.HasPrefix(typed, command+" ") {
		return
	}
	at := slices.IndexFunc(p.items, func(i Item) bool { return nameMatchOf(&i, command) == byName })
	if at < 0 {
		return
	}
	c := &p.items[at]
	another := p.arg.argCommand.Value != c.Value
	if another {
		p.arg.argCommand, p.arg.offered, p.arg.paths = *c, p.arg.of(c.Value), pathSet{}
	}
	p.arg.paths.wanted = p.arg.offered.Paths != nil
	if p.arg.paths.follow(strings.TrimLeft(typed[len(command):], " ")) || another {
		listArgs(p)
	}
	words := fuzzy.Parse(arg)
	p.words = slices.Concat(p.words, words) // highlights matches of both
	found := p.arg.argIndex.Find(nil, words, func(i int) bool { return !p.args[i].Hidden && i < len(p.arg.offered.Items) })
	if p.arg.completing = len(found)+len(p.arg.paths.known) > 0; p.arg.completing || p.arg.paths.wanted {
		p.hits = append(p.hits, fuzzy.Hit{Item: at})
	}
	for i := range p.arg.paths.known {
		p.hits = append(p.hits, fuzzy.Hit{Item: len(p.items) + len(p.arg.offered.Items) + i})
	}
	for _, h := range found {
		p.hits = append(p.hits, fuzzy.Hit{Item: h.Item + len(p.items), Score: h.Score})
	}
}

// listArgs prepares the arguments of the command for display.
func listArgs(p *Picker) {
	p.args = sanitizeItems(slices.Concat(p.arg.offered.Items, p.arg.paths.known))
	p.arg.argTitleWidth = 0
	for i := range p.args {
		p.args[i].Title = p.arg.argCommand.Title + " " + p.args[i].Title
		p.arg.argTitleWidth = max(p.arg.argTitleWidth, textwrap.Width(p.args[i].Title))
	}
	p.arg.argIndex = indexItems(p.args)
}

// Args holds the possible arguments of a command.
type Args struct {
	Items []Item
	Paths func(typed string) []Item // completes a path, on its own goroutine; nil if the command takes no path
}

// A pathSet holds the completions of a typed path.
type pathSet struct {
	wanted bool   // the command takes a path
	typed  string // the path typed so far
	known  []Item
	fresh  bool // known holds all completions of typed
	asking bool // a request is running
}

// follow sets the typed path, and reports whether items were removed from known.
func (s *pathSet) follow(typed string) (less bool) {
	before := len(s.known)
	s.fresh = s.fresh && s.typed == typed
	if s.typed = typed; !s.fresh {
		s.known = slices.DeleteFunc(s.known, func(i Item) bool { return !strings.HasPrefix(i.Value, typed) })
	}
	return len(s.known) < before
}

// pathsMsg delivers the completions of a path.
type pathsMsg struct {
	of             *Picker
	command, typed string
	found          []Item
}

// requestPaths requests the completions of the typed path, unless they are known or already requested.
func requestPaths(p *Picker) tea.Cmd {
	s := &p.arg.paths
	if !s.wanted || s.asking || s.fresh || p.done {
		return nil
	}
	s.asking = true
	msg, paths := pathsMsg{of: p, command: p.arg.argCommand.Value, typed: s.typed}, p.arg.offered.Paths
	return func() tea.Msg {
		msg.found = paths(msg.typed)
		return msg
	}
}

// onPaths handles completions. It ignores them if another path was typed meanwhile.
func onPaths(p *Picker, msg pathsMsg) {
	if msg.of != p || msg.command != p.arg.argCommand.Value {
		return
	}
	s := &p.arg.paths
	if s.asking = false; msg.typed != s.typed {
		return
	}
	selected, moved := p.Selected(), p.list.selected > 0
	s.known, s.fresh = msg.found, true
	listArgs(p)
	p.filter()
	if i := slices.IndexFunc(p.hits, func(h fuzzy.Hit) bool { return p.item(h).Value == selected }); moved && i >= 0 {
		p.list.selected = i
	}
}

// fill replaces the query with the selected row. If a command with listed arguments is selected,
// fill completes the common prefix of their paths, as shells do, or selects the first argument.
func fill(p *Picker) {
	if len(p.hits) == 0 {
		return
	}
	at := max(p.list.selected, 0)
	if (p.arg.completing || p.arg.paths.wanted) && at == 0 {
		if common := commonPath(p.arg.paths.known); len(common) > len(p.arg.paths.typed) {
			p.SetQuery(p.arg.argCommand.Title + " " + common)
		} else if p.arg.completing {
			p.list.selected = 1
		}
		return
	}
	item := p.item(p.hits[at])
	if n := p.hits[at].Item - len(p.items) - len(p.arg.offered.Items); p.commands && p.arg.completing && n >= 0 {
		p.SetQuery(p.arg.argCommand.Title + " " + p.arg.paths.known[n].Value) // no space: the path may continue
		return
	}
	p.SetQuery(item.Title + " ")
}

// commonPath returns the longest common prefix of paths.
func commonPath(paths []Item) string {
	if len(paths) == 0 {
		return ""
	}
	common := paths[0].Value
	for _, path := range paths[1:] {
		n := 0
		for n < min(len(common), len(path.Value)) && common[n] == path.Value[n] {
			n++
		}
		common = common[:n]
	}
	return strings.ToValidUTF8(common, "")
}

// split splits the query into the filter and the argument of a command.
func (p *Picker) split() (filter, arg string) {
	filter = strings.TrimSpace(p.query.text)
	if p.commands {
		filter, arg, _ = strings.Cut(strings.TrimPrefix(filter, "/"), " ")
	}
	return filter, strings.TrimSpace(arg)
}
