package composer

import (
	"slices"
	"strings"
)

// A buffer is text under a cursor, with undo and a kill ring of one. Every
// change goes through replace.
type buffer struct {
	units  []unit
	cur    int // index of the unit behind the cursor; len(units) at the end
	undos  []edit
	weight int // of all undos
	kill   []unit
	touch  int // the first unit that changed since the rows were last laid out
}

// An edit is a change and its way back.
type edit struct {
	at             int
	removed, added []unit
	cur            int  // cursor before
	typing         bool // further typing joins it
}

// The past is bounded in changes, and in units that all of them hold.
const (
	maxUndo      = 500
	maxUndoUnits = 500_000
)

func (e edit) weight() int { return len(e.removed) + len(e.added) }

// text is what the units stand for.
func text(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		b.WriteString(u.text)
	}
	return b.String()
}

// replace puts units in the place of those from i to j, and the cursor behind
// them. Characters that join at the seams become one.
func (b *buffer) replace(i, j int, units []unit) {
	before := b.cur
	at, end, added := b.heal(i, j, units)
	behind := 0 // bytes of added that end with what was asked for
	for _, u := range b.units[at:i] {
		behind += len(u.text)
	}
	for _, u := range units {
		behind += len(u.text)
	}
	removed := slices.Clone(b.units[at:end])
	b.units = slices.Replace(b.units, at, end, added...)
	b.touch = min(b.touch, at)
	b.cur = at
	for ; behind > 0; b.cur++ {
		behind -= len(b.units[b.cur].text)
	}
	b.record(edit{at: at, removed: removed, added: added, cur: before})
}

// heal widens a replacement until nothing joins at its seams any more.
func (b *buffer) heal(i, j int, units []unit) (at, end int, added []unit) {
	added = slices.Clone(units)
	next := append(slices.Clone(head(added)), head(b.units[j:])...)
	if i > 0 && len(next) > 0 && joins(b.units[i-1], next[0]) {
		i--
		run := 0
		for run < len(added) && added[run].kind == char {
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

func head(units []unit) []unit { return units[:min(1, len(units))] }

// record remembers a change. Typing within a word is one change.
func (b *buffer) record(e edit) {
	e.typing = len(e.removed) == 0 && len(e.added) == 1 && e.added[0].kind == char && !isSpace(e.added[0])
	if n := len(b.undos); n > 0 && e.typing {
		last := &b.undos[n-1]
		if last.typing && last.at+len(last.added) == e.at {
			last.added = append(last.added, e.added...)
			b.weight++
			return
		}
	}
	b.undos = append(b.undos, e)
	b.weight += e.weight()
	drop := 0
	for len(b.undos)-drop > maxUndo || b.weight > maxUndoUnits && drop < len(b.undos)-1 {
		b.weight -= b.undos[drop].weight()
		drop++
	}
	b.undos = slices.Delete(b.undos, 0, drop)
}

// forget drops the undos.
func (b *buffer) forget() { b.undos, b.weight = nil, 0 }

// undo takes the last change back.
func (b *buffer) undo() {
	if len(b.undos) == 0 {
		return
	}
	e := b.undos[len(b.undos)-1]
	b.undos = b.undos[:len(b.undos)-1]
	b.weight -= e.weight()
	b.units = slices.Replace(b.units, e.at, e.at+len(e.added), e.removed...)
	b.touch = min(b.touch, e.at)
	b.cur = e.cur
}

// insert writes text at the cursor.
func (b *buffer) insert(text string) { b.replace(b.cur, b.cur, split(text)) }

// set replaces everything.
func (b *buffer) set(units []unit) { b.replace(0, len(b.units), units) }

// load replaces everything and leaves no trace in the undos.
func (b *buffer) load(units []unit, cur int) {
	b.units, b.cur, b.touch = slices.Clone(units), cur, 0
}

// cut removes the units from i to j and keeps them for yank. Cuts in a row
// (join) add up on the side they come from.
func (b *buffer) cut(i, j int, join bool) {
	killed := slices.Clone(b.units[i:j])
	switch {
	case !join:
		b.kill = killed
	case i < b.cur:
		b.kill = append(killed, b.kill...)
	default:
		b.kill = append(b.kill, killed...)
	}
	if i < j {
		b.replace(i, j, nil)
	}
}

// The places a cursor can go to, as indices.

func (b *buffer) left() int  { return max(b.cur-1, 0) }
func (b *buffer) right() int { return min(b.cur+1, len(b.units)) }

func (b *buffer) lineStart() int {
	i := b.cur
	for i > 0 && b.units[i-1].kind != newline {
		i--
	}
	return i
}

func (b *buffer) lineEnd() int {
	i := b.cur
	for i < len(b.units) && b.units[i].kind != newline {
		i++
	}
	return i
}

// wordLeft is the start of the word before the cursor; what a word is made of
// is the caller's.
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
