package composer

import (
	"slices"
	"strings"
)

// A Buffer is text under a cursor, with undo, redo and a kill ring. Every change
// goes through splice.
type Buffer struct {
	Units     []Unit
	Cursor    int // index of the unit after the cursor; len(Units) at the end
	undos     []edit
	redos     []edit // undone changes, until the next change
	undoUnits int    // total units of all undos
	group     int    // group of the current changes, which are undone together; 0 for none
	groups    int    // number of groups so far
	kills     [][]Unit
	yanked    int // index of the last yanked kill, from the end of kills
	changes   int // number of changes so far
}

// An edit is a change with the data to undo it.
type edit struct {
	at             int
	removed, added []Unit
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
func text(units []Unit) string {
	var b strings.Builder
	for _, u := range units {
		b.WriteString(u.Text)
	}
	return b.String()
}

// Replace replaces the units from i to j, and puts the cursor after the new
// ones. Characters that combine at the seams become one unit.
func (b *Buffer) Replace(i, j int, units []Unit) {
	before := b.Cursor
	at, end, added := b.joinSeams(i, j, units)
	behind := 0 // bytes of added up to the end of the requested units
	for _, u := range b.Units[at:i] {
		behind += len(u.Text)
	}
	for _, u := range units {
		behind += len(u.Text)
	}
	removed := slices.Clone(b.Units[at:end])
	b.splice(at, end, added)
	b.Cursor = at
	for ; behind > 0; b.Cursor++ {
		behind -= len(b.Units[b.Cursor].Text)
	}
	b.record(edit{at: at, removed: removed, added: added, cur: before})
}

// splice replaces units without any side effect on cursor or undo.
func (b *Buffer) splice(i, j int, units []Unit) {
	b.Units = slices.Replace(b.Units, i, j, units...)
	b.changes++
}

// joinSeams widens a replacement until no characters combine at its seams.
func (b *Buffer) joinSeams(i, j int, units []Unit) (at, end int, added []Unit) {
	added = slices.Clone(units)
	next := append(slices.Clone(firstUnit(added)), firstUnit(b.Units[j:])...)
	if i > 0 && len(next) > 0 && joins(b.Units[i-1], next[0]) {
		i--
		run := 0
		for run < len(added) && added[run].Kind == kindChar {
			run++
		}
		added = append(Split(b.Units[i].Text+text(added[:run])), added[run:]...)
	}
	for len(added) > 0 && j < len(b.Units) && joins(added[len(added)-1], b.Units[j]) {
		last := added[len(added)-1]
		added = append(added[:len(added)-1], Split(last.Text+b.Units[j].Text)...)
		j++
	}
	return i, j, added
}

func firstUnit(units []Unit) []Unit { return units[:min(1, len(units))] }

// record adds a change to the undo list. Typing within a word is one change.
func (b *Buffer) record(e edit) {
	b.redos = nil
	e.group = b.group
	e.typing = len(e.removed) == 0 && len(e.added) == 1 && e.added[0].Kind == kindChar && !IsSpace(e.added[0])
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

// BeginUndoGroup groups all changes until endUndoGroup.
func (b *Buffer) BeginUndoGroup() {
	b.groups++
	b.group = b.groups
}

// EndUndoGroup makes each later change an undo step of its own.
func (b *Buffer) EndUndoGroup() { b.group = 0 }

// splitUndo begins a new undo group if one is open.
func (b *Buffer) splitUndo() {
	if b.group != 0 {
		b.BeginUndoGroup()
	}
}

// Undo undoes the last change and all others of its group.
func (b *Buffer) Undo() {
	moveGroup(&b.undos, &b.redos, func(e edit) {
		b.undoUnits -= e.units()
		b.splice(e.at, e.at+len(e.added), e.removed)
		b.Cursor = e.cur
	})
}

// Redo repeats the last undone change and all others of its group.
func (b *Buffer) Redo() {
	moveGroup(&b.redos, &b.undos, func(e edit) {
		b.undoUnits += e.units()
		b.splice(e.at, e.at+len(e.removed), e.added)
		b.Cursor = e.at + len(e.added)
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

// Insert writes text at the cursor.
func (b *Buffer) Insert(text string) { b.Replace(b.Cursor, b.Cursor, Split(text)) }

// set replaces all units.
func (b *Buffer) set(units []Unit) {
	b.splitUndo()
	b.Replace(0, len(b.Units), units)
	b.splitUndo()
}

// load replaces all units without recording an undo.
func (b *Buffer) load(units []Unit, cur int) {
	b.Units, b.Cursor = slices.Clone(units), cur
	b.changes++
}

// kill removes the units from i to j and keeps them for yank. With join, it
// adds them to the last kill, at the side they come from.
func (b *Buffer) kill(i, j int, join bool) {
	killed := slices.Clone(b.Units[i:j])
	n := len(b.kills)
	switch {
	case !join || n == 0:
		b.pushKill(killed)
	case i < b.Cursor:
		b.kills[n-1] = append(killed, b.kills[n-1]...)
	default:
		b.kills[n-1] = append(b.kills[n-1], killed...)
	}
	if i < j {
		b.Replace(i, j, nil)
	}
}

// pushKill adds to the kill ring. The latest kill is kept regardless of its length.
func (b *Buffer) pushKill(killed []Unit) {
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
func (b *Buffer) yank() {
	b.yanked = 0
	b.putKill()
}

// yankPop, right after a yank, replaces the yanked text by the previous kill.
func (b *Buffer) yankPop() {
	if len(b.kills) == 0 {
		return
	}
	b.Undo()
	b.yanked = (b.yanked + 1) % len(b.kills)
	b.putKill()
}

func (b *Buffer) putKill() {
	if len(b.kills) == 0 {
		return
	}
	group := b.group
	b.BeginUndoGroup() // a separate change, even if it looks like typing
	b.Replace(b.Cursor, b.Cursor, b.kills[len(b.kills)-1-b.yanked])
	b.group = group
	b.splitUndo()
}

// Targets of cursor movements, as indexes.

func (b *Buffer) left() int  { return max(b.Cursor-1, 0) }
func (b *Buffer) right() int { return min(b.Cursor+1, len(b.Units)) }

// LineStart and lineEnd return the bounds of the line that contains i.
func (b *Buffer) LineStart(i int) int {
	for i > 0 && b.Units[i-1].Kind != KindNewline {
		i--
	}
	return i
}

func (b *Buffer) LineEnd(i int) int {
	for i < len(b.Units) && b.Units[i].Kind != KindNewline {
		i++
	}
	return i
}

// wordLeft returns the start of the word before the cursor. in reports whether a
// unit is part of a word.
func (b *Buffer) wordLeft(in func(Unit) bool) int {
	i := b.Cursor
	for i > 0 && !in(b.Units[i-1]) {
		i--
	}
	for i > 0 && in(b.Units[i-1]) {
		i--
	}
	return i
}

func (b *Buffer) wordRight(in func(Unit) bool) int {
	i := b.Cursor
	for i < len(b.Units) && !in(b.Units[i]) {
		i++
	}
	for i < len(b.Units) && in(b.Units[i]) {
		i++
	}
	return i
}
