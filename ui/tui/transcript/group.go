package transcript

import (
	"fmt"
	"slices"
	"strings"

	"parley/tools/act"
	"parley/ui/format"
	"parley/ui/textwrap"
)

// Consecutive calls of read-only tools form a group: one line each while they run, then one line for all. Calls that
// did not succeed stay visible.

// minGroup is the minimum number of calls in a closed group.
const minGroup = 3

// A group is an item before its calls. It has no lines until all calls have ended.
// Folded, it hides the successful ones.
type group struct {
	members     []*item
	ended, done int // number of ended and of successful members
}

func (it *item) asGroup() *group {
	g, _ := it.block.(*group)
	return g
}

// isClosed reports whether the group shows one line for its calls.
func (g *group) isClosed() bool { return g.done >= minGroup && g.ended == len(g.members) }

// countCall adds by, 1 or -1, to the counts for a call with status s.
func (g *group) countCall(s Status, by int) {
	if s > Running {
		g.ended += by
	}
	if s == Done {
		g.done += by
	}
}

// groupFor returns the group for a new call of a tool: the group of the preceding call in
// the same answer, or a new one. It returns nil for a tool whose calls are not grouped.
func (m *Blocks) groupFor(name string) *item {
	if act.FactsOf(name).Did == "" {
		return nil
	}
	if n := len(m.items); n > 0 {
		if last := m.items[n-1]; last.groupItem != nil && last.messageSeq == m.messageSeq {
			return last.groupItem
		}
	}
	m.addItem(kindNote, "", &group{})
	return m.items[len(m.items)-1]
}

// joinGroup adds a call to the group of; nil means no group.
func (m *Blocks) joinGroup(it, of *item) {
	if of == nil {
		return
	}
	it.groupItem = of
	g := of.asGroup()
	before := g.isClosed()
	if g.members = append(g.members, it); before {
		m.refreshGroup(of)
	}
}

// leaveGroup removes a call from its group.
func (m *Blocks) leaveGroup(it *item) {
	if it.groupItem == nil {
		return
	}
	g := it.groupItem.asGroup()
	g.members = slices.DeleteFunc(g.members, func(member *item) bool { return member == it })
	g.countCall(it.block.(*call).tool.Status, -1)
	m.refreshGroup(it.groupItem)
}

// regroup updates the counts for a call whose previous status was was.
func (m *Blocks) regroup(it *item, was Status) {
	if it.groupItem == nil {
		return
	}
	g := it.groupItem.asGroup()
	before := g.isClosed()
	g.countCall(was, -1)
	g.countCall(it.block.(*call).tool.Status, 1)
	switch {
	case g.isClosed() != before:
		m.refreshGroup(it.groupItem)
	case before:
		m.listener.itemChanged(it.groupItem)
	}
}

// refreshGroup marks a group and its calls as changed.
func (m *Blocks) refreshGroup(of *item) {
	m.listener.itemChanged(of)
	for _, member := range of.asGroup().members {
		m.listener.itemChanged(member)
	}
	m.listener.groupChanged(of)
}

// isHidden reports whether the group of a call hides it. A call unfolded by the user stays visible.
func (m *viewport) isHidden(it *item) bool {
	return it.groupItem != nil && it.groupItem.asGroup().isClosed() && !m.isOpen(it.groupItem) &&
		it.fold != foldOpen && it.block.(*call).tool.Status == Done
}

// losesLines reports whether the item at the top of the window loses all its lines to its group.
func (m *viewport) losesLines(it *item, lines []string) bool {
	return !m.follow && len(lines) == 0 && len(it.lines) > 0 && m.list.items[m.top.item] == it &&
		(it.groupItem != nil || it.asGroup() != nil)
}

// isJoined reports whether there is no blank row before item i. This holds between the lines
// of a group, unless an item is unfolded. A blank row at the top of the window stays.
func (m *viewport) isJoined(i int) bool {
	it := m.list.items[i]
	if it.groupItem == nil || m.isOpen(it) || !m.follow && m.top == (rowPos{i, -1}) {
		return it.continuesPrevious
	}
	for i--; i > 0 && m.list.items[i].groupItem == it.groupItem && m.isHidden(m.list.items[i]); i-- {
	}
	before := m.list.items[i]
	return (before == it.groupItem || before.groupItem == it.groupItem) && len(m.linesOf(before)) == 1
}

func (g *group) render(p renderContext) (sign string, lines []string) {
	if !g.isClosed() {
		return "", nil
	}
	if named := g.actions(p.width); !p.open && named != "" {
		return p.styler.apply(roleGood, "✓"), []string{p.styler.apply(roleText, named)}
	}
	line := textwrap.Truncate(g.countsByTool(), p.width)
	room := p.width - textwrap.Width(line) - 2
	line = p.styler.apply(roleStrong, line)
	if names := g.titles(room + 1); !p.open && room > 0 && names != "" {
		line += p.styler.apply(roleText, ": "+textwrap.Truncate(names, room))
	}
	return p.styler.apply(roleGood, "✓"), []string{line}
}

// actions returns verbs with the files and patterns of the calls, in order, as in `Listed
// . · read main.go, go.mod · searched "println"`. It returns "" if the text does not fit
// width cells or a call has no title.
func (g *group) actions(width int) string {
	var b strings.Builder
	var last struct{ did, title string }
	for _, it := range g.members {
		t := &it.block.(*call).tool
		did, title := act.FactsOf(t.Name).Did, t.Title
		if did == "searched" {
			title = `"` + title + `"`
		}
		switch {
		case t.Status != Done:
			continue
		case t.Title == "" || did == "" || b.Len() > 4*width: // a cell has at most about 4 bytes
			return ""
		case did != last.did && b.Len() > 0:
			b.WriteString(" · " + did + " " + title)
		case did != last.did:
			b.WriteString(format.Capital(did) + " " + title)
		case title != last.title:
			b.WriteString(", " + title)
		}
		last.did, last.title = did, title
	}
	if text := b.String(); textwrap.Width(text) <= width {
		return text
	}
	return ""
}

// countsByTool returns the number of successful calls by tool, as in "Read 3 files · listed 1 folder".
func (g *group) countsByTool() string {
	var order, parts []string
	counts := map[string]int{}
	for _, it := range g.members {
		t := &it.block.(*call).tool
		if t.Status != Done {
			continue
		}
		if counts[t.Name]++; counts[t.Name] == 1 {
			order = append(order, t.Name)
		}
	}
	for _, name := range order {
		facts, n := act.FactsOf(name), counts[name]
		if facts.Did == "" { // the call's name has changed since it joined
			facts.Did, facts.What = name, "call"
		}
		parts = append(parts, fmt.Sprintf("%s %d %s%s", facts.Did, n, facts.What, format.PluralSuffix(n)))
	}
	return format.Capital(strings.Join(parts, " · "))
}

// titles returns the titles of the calls, at most about 4*most bytes.
func (g *group) titles(most int) string {
	var b strings.Builder
	last := ""
	for _, it := range g.members {
		t := &it.block.(*call).tool
		if t.Status != Done || t.Title == "" || t.Title == last {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.Title)
		if last = t.Title; b.Len() > most*4 {
			break
		}
	}
	return b.String()
}

// source returns the titles of the calls.
func (g *group) source() (text, what string) {
	var titles []string
	for _, it := range g.members {
		t := &it.block.(*call).tool
		titles = append(titles, strings.TrimSpace(t.Name+" "+t.Title))
	}
	return strings.Join(titles, "\n"), "calls"
}

// texts adds nothing, because the calls add all texts.
func (g *group) texts(to []string) []string { return to }

// detailParts returns the parts of all calls.
func (g *group) detailParts() (all []*detailPart) {
	for _, it := range g.members {
		all = append(all, it.block.(*call).detailParts()...)
	}
	return all
}
