package composer

import (
	"slices"
	"strings"
)

// A buffer is text under a cursor, with undo, redo and a kill ring. Every change
// goes through splice.
type buffer struct {
	units     []unit
	cur       int // index of the unit after the cursor; len(units) at the end
	undos     []edit
	redos     []edit // undone changes, until the next change
	undoUnits int    // total units of all undos
	group     int    // group of the current changes, which are undone together; 0 for none
	groups    int    // number of groups so far
	kills     [][]unit
	yanked    int // index of the last yanked kill, from the end of kills
	changes   int // number of changes so far
}

// An edit is a change with the data to undo it.
type edit struct {
	at             int
	removed, added []unit
	cur            int  // cursor before the change
	typing         bool // further typing extends the edit
	group          int
}

// Limits of the undo list, in changes and in units of all changes, and of the kill ring.
const (
	maxUndo      = 500
	maxUndoUnits = 500_000
	maxKills     = 20
)

func (e edit) units() int { return len(e.removed) + len(e.added) }

// text returns the text of units.
func text(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		b.WriteString(u.text)
	}
	return b.String()
}

// replace replaces the units from i to j, and puts the cursor after the new
// ones. Characters that combine at the seams become one unit.
func (b *buffer) replace(i, j int, units []unit) {
	before := b.cur
	at, end, added := b.joinSeams(i, j, units)
	behind := 0 // bytes of added up to the end of the requested units
	for _, u := range b.units[at:i] {
		behind += len(u.text)
	}
	for _, u := range units {
		behind += len(u.text)
	}
	removed := slices.Clone(b.units[at:end])
	b.splice(at, end, added)
	b.cur = at
	for ; behind > 0; b.cur++ {
		behind -= len(b.units[b.cur].text)
	}
	b.record(edit{at: at, removed: removed, added: added, cur: before})
}

// splice replaces units without any side effect on cursor or undo.
func (b *buffer) splice(i, j int, units []unit) {
	b.units = slices.Replace(b.units, i, j, units...)
	b.changes++
}

// joinSeams widens a replacement until no characters combine at its seams.
func (b *buffer) joinSeams(i, j int, units []unit) (at, end int, added []unit) {
	added = slices.Clone(units)
	next := append(slices.Clone(firstUnit(added)), firstUnit(b.units[j:])...)
	if i > 0 && len(next) > 0 && joins(b.units[i-1], next[0]) {
		i--
		run := 0
		for run < len(added) && added[run].kind == kindChar {
			run++
		}
		added = append(split(b.units[i].text+text(added[:run])), added[run:]...)
	}
	for len(added) > 0 && j < len(b.units) && joins(added[len(added)-1], b.units[j]) {
		last := added[len(added)-1]
		added = append(added[:len(added)-1], split(last.text+b.units[j].text)...)
		j++
	}
	return i, j, added
}

func firstUnit(units []unit) []unit { return units[:min(1, len(units))] }

// record adds a change to the undo list. Typing within a word is one change.
func (b *buffer) record(e edit) {
	b.redos = nil
	e.group = b.group
	e.typing = len(e.removed) == 0 && len(e.added) == 1 && e.added[0].kind == kindChar && !isSpace(e.added[0])
	if n := len(b.undos); n > 0 && e.typing {
		last := &b.undos[n-1]
		if last.typing && last.group == e.group && last.at+len(last.added) == e.at {
			last.added = append(last.added, e.added...)
			b.undoUnits++
			return
		}
	}
	b.undos = append(b.undos, e)
	b.undoUnits += e.units()
	drop := 0
	for len(b.undos)-drop > maxUndo || b.undoUnits > maxUndoUnits && drop < len(b.undos)-1 {
		b.undoUnits -= b.undos[drop].units()
		drop++
	}
	b.undos = slices.Delete(b.undos, 0, drop)
}

// beginUndoGroup groups all changes until endUndoGroup.
func (b *buffer) beginUndoGroup() {
	b.groups++
	b.group = b.groups
}

func (b *buffer) endUndoGroup() { b.group = 0 }

// splitUndo begins a new undo group if one is open.
func (b *buffer) splitUndo() {
	if b.group != 0 {
		b.beginUndoGroup()
	}
}

// undo undoes the last change and all others of its group.
func (b *buffer) undo() {
	moveGroup(&b.undos, &b.redos, func(e edit) {
		b.undoUnits -= e.units()
		b.splice(e.at, e.at+len(e.added), e.removed)
		b.cur = e.cur
	})
}

// redo repeats the last undone change and all others of its group.
func (b *buffer) redo() {
	moveGroup(&b.redos, &b.undos, func(e edit) {
		b.undoUnits += e.units()
		b.splice(e.at, e.at+len(e.removed), e.added)
		b.cur = e.at + len(e.added)
	})
}

// moveGroup moves the last edit, and all others of its group before it, from one list to the other, and calls do for each.
func moveGroup(from, to *[]edit, do func(edit)) {
	for group := -1; len(*from) > 0; {
		last := len(*from) - 1
		e := (*from)[last]
		if group >= 0 && (group == 0 || e.group != group) {
			return
		}
		group = e.group
		*from, *to = (*from)[:last], append(*to, e)
		do(e)
	}
}

// insert writes text at the cursor.
func (b *buffer) insert(text string) { b.replace(b.cur, b.cur, split(text)) }

// set replaces all units.
func (b *buffer) set(units []unit) {
	b.splitUndo()
	b.replace(0, len(b.units), units)
	b.splitUndo()
}

// load replaces all units without recording an undo.
func (b *buffer) load(units []unit, cur int) {
	b.units, b.cur = slices.Clone(units), cur
	b.changes++
}

// kill removes the units from i to j and keeps them for yank. With join, it
// adds them to the last kill, at the side they come from.
func (b *buffer) kill(i, j int, join bool) {
	killed := slices.Clone(b.units[i:j])
	n := len(b.kills)
	switch {
	case !join || n == 0:
		b.pushKill(killed)
	case i < b.cur:
		b.kills[n-1] = append(killed, b.kills[n-1]...)
	default:
		b.kills[n-1] = append(b.kills[n-1], killed...)
	}
	if i < j {
		b.replace(i, j, nil)
	}
}

// pushKill adds to the kill ring. The latest kill is kept regardless of its length.
func (b *buffer) pushKill(killed []unit) {
	b.kills = append(b.kills, killed)
	held, from := 0, len(b.kills)
	for from > max(len(b.kills)-maxKills, 0) {
		held += len(b.kills[from-1])
		if held > maxUndoUnits && from < len(b.kills) {
			break
		}
		from--
	}
	b.kills = slices.Delete(b.kills, 0, from)
}

// yank inserts the last kill.
func (b *buffer) yank() {
	b.yanked = 0
	b.putKill()
}

// yankPop, right after a yank, replaces the yanked text by the previous kill.
func (b *buffer) yankPop() {
	if len(b.kills) == 0 {
		return
	}
	b.undo()
	b.yanked = (b.yanked + 1) % len(b.kills)
	b.putKill()
}

func (b *buffer) putKill() {
	if len(b.kills) == 0 {
		return
	}
	group := b.group
	b.beginUndoGroup() // a separate change, even if it looks like typing
	b.replace(b.cur, b.cur, b.kills[len(b.kills)-1-b.yanked])
	b.group = group
	b.splitUndo()
}

// Targets of cursor movements, as indexes.

func (b *buffer) left() int  { return max(b.cur-1, 0) }
func (b *buffer) right() int { return min(b.cur+1, len(b.units)) }

// lineStart and lineEnd return the bounds of the line that contains i.
func (b *buffer) lineStart(i int) int {
	for i > 0 && b.units[i-1].kind != kindNewline {
		i--
	}
	return i
}

func (b *buffer) lineEnd(i int) int {
	for i < len(b.units) && b.units[i].kind != kindNewline {
		i++
	}
	return i
}

// wordLeft returns the start of the word before the cursor. in reports whether a
// unit is part of a word.
func (b *buffer) wordLeft(in func(unit) bool) int {
	i := b.cur
	for i > 0 && !in(b.units[i-1]) {
		i--
	}
	for i > 0 && in(b.units[i-1]) {
		i--
	}
	return i
}

func (b *buffer) wordRight(in func(unit) bool) int {
	i := b.cur
	for i < len(b.units) && !in(b.units[i]) {
		i++
	}
	for i < len(b.units) && in(b.units[i]) {
		i++
	}
	return i
}
