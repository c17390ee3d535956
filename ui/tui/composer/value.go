package composer

import (
	"slices"
	"strings"
)

// Value returns the prompt: chips expanded, control characters left out. Read back by
// SetValue it means the same: a chip that would begin a command gets a space in
// front.
func (m *Model) Value() string { return value(m.units) }

func value(units []unit) string {
	if begun(units) {
		return Plain(whole(units))
	}
	return whole(units)
}

// begun reports whether a chip stands at the beginning.
func begun(units []unit) bool { return len(units) > 0 && units[0].kind == chip }

// whole returns what is sent of units.
func whole(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		if u.kind == chip {
			b.WriteString(u.text) // clean since it was pasted
			continue
		}
		b.WriteString(clean(u.text))
	}
	return b.String()
}

// typed returns value without chips.
func typed(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		if u.kind != chip {
			b.WriteString(clean(u.text))
		}
	}
	return b.String()
}

// Plain returns text as a prompt and nothing else: what would make it a command or a
// line for the shell gets a space in front.
func Plain(text string) string {
	if text != "" && (text[0] == '/' || text[0] == '!') {
		return " " + text
	}
	return text
}

// inline sets how much text SetValue puts in as such: an editor or the history
// may bring back more than a paste shows, but no key shall become slow.
const inline = 64 << 10

// SetValue replaces the text; undo brings the old one back. Very long text
// becomes a chip, and chips that are still in it stay: an editor is given all that
// they hold.
func (m *Model) SetValue(s string) {
	m.stopSearch(false)
	m.set(revised(m.units, normal(s)))
	m.start()
}

// SetPlain sets the value to what is a prompt and nothing else, such as the words of
// a server or a model.
func (m *Model) SetPlain(s string) { m.SetValue(Plain(clean(normal(s)))) }

// revised returns s as units: with the chips of old that are still in it, or with a new
// one for what stands in the place of them.
func revised(old []unit, s string) []unit {
	first := slices.IndexFunc(old, func(u unit) bool { return u.kind == chip })
	if first < 0 {
		return written(s)
	}
	var units []unit
	rest, last := s, first
	for i, u := range old {
		if u.kind != chip {
			continue
		}
		last = i
		if before, after, found := around(rest, u.text); found {
			units, rest = append(append(units, written(before)...), u), after
		}
	}
	if units != nil {
		return append(units, written(rest)...)
	}
	head, tail := text(old[:first]), text(old[last+1:])
	inner, starts := strings.CutPrefix(s, head)
	inner, ends := strings.CutSuffix(inner, tail)
	if starts && ends && isLarge(inner) {
		return append(append(written(head), newChip(inner)), written(tail)...)
	}
	return written(s)
}

// around returns what stands before and after text in s. At its end, line ends may
// have got lost.
func around(s, text string) (before, after string, found bool) {
	if before, after, found = strings.Cut(s, text); found {
		return before, after, true
	}
	text = strings.TrimRight(text, "\n")
	return strings.TrimSuffix(s, text), "", text != "" && strings.HasSuffix(s, text)
}

func written(s string) []unit {
	if s = normal(s); len(s) > inline {
		return []unit{newChip(s)}
	}
	return split(s)
}

// Len returns how many bytes the prompt has.
func (m *Model) Len() int {
	n := 0
	for _, u := range m.units {
		n += len(u.text)
	}
	return n
}
