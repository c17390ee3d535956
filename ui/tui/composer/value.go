package composer

import (
	"slices"
	"strings"
)

// Written is Value, but during a search what was written before.
func (m *Recall) Written() string { return value(m.written()) }

// Draft returns what is to be stored as the draft: Written, but while the history is looked at and
// nothing there was changed, what was written before.
func (m *Recall) Draft() string {
	units, h := m.written(), &m.history
	if own := h.drafts[0].units; h.steps > 0 && len(own) > 0 && text(units) == h.prompts[len(h.prompts)-h.steps] {
		units = own
	}
	return value(units)
}

// written returns the units of the prompt, without what a search shows in their place.
func (m *Recall) written() []unit {
	if m.search != nil {
		return m.search.savedText.units
	}
	return m.editor.units
}

func value(units []unit) string {
	if startsWithChip(units) {
		return EscapeCommand(promptText(units))
	}
	return promptText(units)
}

// startsWithChip reports whether a chip stands at the beginning.
func startsWithChip(units []unit) bool { return len(units) > 0 && units[0].kind == kindChip }

// promptText returns what is sent of units.
func promptText(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		if u.kind == kindChip {
			b.WriteString(u.text) // clean since it was pasted
			continue
		}
		b.WriteString(stripControl(u.text))
	}
	return b.String()
}

// textWithoutChips returns value without chips, and without the @ before an address that
// was pasted: only what the user wrote themselves makes a request.
func textWithoutChips(units []unit) string {
	var b strings.Builder
	for i, u := range units {
		if u.pasted && u.text == "@" && beginsAddress(units[i+1:]) {
			b.WriteByte(' ')
			continue
		}
		if u.kind != kindChip {
			b.WriteString(stripControl(u.text))
		}
	}
	return b.String()
}

// beginsAddress reports whether units begin with an address on the web, perhaps in quotes.
func beginsAddress(units []unit) bool {
	var b strings.Builder
	for _, u := range units[:min(len(units), len(`"https://`))] {
		b.WriteString(u.text)
	}
	text := strings.ToLower(strings.TrimLeft(b.String(), `"'`))
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "https:/")
}

// EscapeCommand returns text as a prompt and nothing else: what would make it a command or a
// line for the shell gets a leading space.
func EscapeCommand(text string) string {
	if text != "" && (text[0] == '/' || text[0] == '!') {
		return " " + text
	}
	return text
}

// maxInlineBytes sets how much text SetValue puts in as such: an editor or the history
// may bring back more than a paste shows, but no key shall become slow.
const maxInlineBytes = 64 << 10

// SetValue replaces the text; undo brings the old one back. Very long text
// becomes a chip, and chips that are still in it stay: an editor is given all that
// they hold.
func (m *Model) SetValue(s string) {
	m.Recall.stopSearch(false)
	m.editor.set(mergeChips(m.editor.units, normalize(s)))
	m.resetTransient()
}

// SetPromptText sets the value to what is a prompt and nothing else, such as the words of
// a server or a model.
func (m *Model) SetPromptText(s string) { m.SetValue(EscapeCommand(stripControl(normalize(s)))) }

// mergeChips returns s as units: with the chips of old that are still in it, or with a new
// one for what stands in the place of them.
func mergeChips(old []unit, s string) []unit {
	first := slices.IndexFunc(old, func(u unit) bool { return u.kind == kindChip })
	if first < 0 {
		return unitsOf(s)
	}
	var units []unit
	rest, last := s, first
	for i, u := range old {
		if u.kind != kindChip {
			continue
		}
		last = i
		if before, after, found := cutChip(rest, u.text); found {
			units, rest = append(append(units, unitsOf(before)...), u), after
		}
	}
	if units != nil {
		return append(units, unitsOf(rest)...)
	}
	head, tail := text(old[:first]), text(old[last+1:])
	inner, starts := strings.CutPrefix(s, head)
	inner, ends := strings.CutSuffix(inner, tail)
	if starts && ends && isLargePaste(inner) {
		return append(append(unitsOf(head), newChip(inner)), unitsOf(tail)...)
	}
	return unitsOf(s)
}

// cutChip returns what stands before and after text in s. At its end, line ends may
// have got lost.
func cutChip(s, text string) (before, after string, found bool) {
	if before, after, found = strings.Cut(s, text); found {
		return before, after, true
	}
	text = strings.TrimRight(text, "\n")
	return strings.TrimSuffix(s, text), "", text != "" && strings.HasSuffix(s, text)
}

func unitsOf(s string) []unit {
	if s = normalize(s); len(s) > maxInlineBytes {
		return []unit{newChip(s)}
	}
	return split(s)
}

// Len returns how many bytes the prompt has.
func (m *Model) Len() int {
	n := 0
	for _, u := range m.editor.units {
		n += len(u.text)
	}
	return n
}
