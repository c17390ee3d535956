package transcript

import (
	"fmt"
	"slices"
	"strings"
)

// least is a group's fewest calls.
const least = 3

// looks lists the tools that only look. Neighbouring calls of them are a group:
// while they run, one line each; once they are done, one line for all. Calls
// that did not succeed stay in sight.
var looks = map[string]struct{ did, what string }{
	"read": {"read", "file"},
	"list": {"listed", "folder"},
	"grep": {"searched for", "pattern"},
	"glob": {"looked for", "pattern"},
}

// A group stands before the calls that it is of, as an item of its own, which
// has no lines before they have all ended. Folded, it stands for those that are
// done.
type group struct {
	members     []*item
	ended, done int // how many of them
}

func (it *item) group() *group {
	g, _ := it.block.(*group)
	return g
}

// closed reports whether one line can stand for the calls.
func (g *group) closed() bool { return g.done >= least && g.ended == len(g.members) }

// count counts a call in or out.
func (g *group) count(s Status, by int) {
	if s > Running {
		g.ended += by
	}
	if s == Done {
		g.done += by
	}
}

// groupOf returns the group that a new call of a tool belongs to: that of the call
// before it in the same answer, or one that begins. Nil if the tool is not one
// that only looks.
func (m *Model) groupOf(name string) *item {
	if looks[name].did == "" {
		return nil
	}
	if n := len(m.items); n > 0 {
		if last := m.items[n-1]; last.of != nil && last.tag == m.tag {
			return last.of
		}
	}
	m.add(aNote, "", &group{})
	return m.items[len(m.items)-1]
}

// join makes a call one of a group.
func (m *Model) join(it, of *item) {
	if of == nil {
		return
	}
	it.of = of
	g := of.group()
	before := g.closed()
	if g.members = append(g.members, it); before {
		m.rejoin(of)
	}
}

// leave takes a call out of its group.
func (m *Model) leave(it *item) {
	if it.of == nil {
		return
	}
	g := it.of.group()
	g.members = slices.DeleteFunc(g.members, func(member *item) bool { return member == it })
	g.count(it.block.(*call).tool.Status, -1)
	m.rejoin(it.of)
}

// regroup counts a call anew whose status was another one before.
func (m *Model) regroup(it *item, was Status) {
	if it.of == nil {
		return
	}
	g := it.of.group()
	before := g.closed()
	g.count(was, -1)
	g.count(it.block.(*call).tool.Status, 1)
	if m.details != nil && m.details.of == it.of {
		m.details.stale = true
	}
	switch {
	case g.closed() != before:
		m.rejoin(it.of)
	case before:
		m.touch(it.of)
	}
}

// rejoin shows a group and its calls anew.
func (m *Model) rejoin(of *item) {
	m.touch(of)
	for _, member := range of.group().members {
		m.touch(member)
	}
	if m.browsing && m.items[m.cursor].of == of && m.hidden(m.items[m.cursor]) {
		m.point(slices.Index(m.items, of))
	}
}

// hidden reports whether a group stands for a call. One that was unfolded by
// itself stays in sight.
func (m *Model) hidden(it *item) bool {
	return it.of != nil && it.of.group().closed() && !m.open(it.of) &&
		it.fold != unfolded && it.block.(*call).tool.Status == Done
}

// vanishes reports whether an item loses all its lines under the eyes of a reader
// who has them at the top.
func (m *Model) vanishes(it *item, lines []string) bool {
	return !m.follow && len(lines) == 0 && len(it.lines) > 0 && m.items[m.top.item] == it &&
		(it.of != nil || it.group() != nil)
}

// joins reports whether an item goes on with the one before: the lines of a group
// stand together, but for what is unfolded. A blank row that a reader has at the
// top stays.
func (m *Model) joins(i int) bool {
	it := m.items[i]
	if it.of == nil || m.open(it) || !m.follow && m.top == (pos{i, -1}) {
		return it.joined
	}
	for i--; i > 0 && m.items[i].of == it.of && m.hidden(m.items[i]); i-- {
	}
	before := m.items[i]
	return (before == it.of || before.of == it.of) && len(m.lay(before)) == 1
}

func (g *group) lay(p page) (sign string, lines []string) {
	if !g.closed() {
		return "", nil
	}
	line := clip(g.sum(), p.width)
	room := p.width - cells(line) - 2
	line = p.ink.write(strong, line)
	if names := g.names(room + 1); !p.open && room > 0 && names != "" {
		line += p.ink.write(text, ": "+clip(names, room))
	}
	return p.ink.write(good, "✓"), []string{line}
}

// sum returns what was done, as in "read 3 files, listed 1 folder".
func (g *group) sum() string {
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
		look, n := looks[name], counts[name]
		if look.did == "" { // it got another name since
			look.did, look.what = name, "call"
		}
		parts = append(parts, fmt.Sprintf("%s %d %s%s", look.did, n, look.what, plural(n)))
	}
	return strings.Join(parts, ", ")
}

// names returns what was looked at, up to some bytes.
func (g *group) names(most int) string {
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
		if last = t.Title; b.Len() > most*4 { // bytes that certainly fill as many cells, or nearly
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

// texts returns nothing that the calls do not have.
func (g *group) texts(to []string) []string { return to }

// whole returns all that is known of the calls, one after the other.
func (g *group) whole() (all []*sheet) {
	for _, it := range g.members {
		all = append(all, it.block.(*call).whole()...)
	}
	return all
}
