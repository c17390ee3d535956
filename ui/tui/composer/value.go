package composer

import (
	"slices"
	"strings"
)

// Written is like Value; during a search it returns the text before the search.
func (m *Recall) Written() string { return value(m.written()) }

// Draft returns the text to store as the draft. It is Written, but the original draft while an
// unchanged prompt of the history is shown.
func (m *Recall) Draft() string {
	units, h := m.written(), &m.history
	if own := h.drafts[0].units; h.steps > 0 && len(own) > 0 && text(units) == h.prompts[len(h.prompts)-h.steps] {
		units = own
	}
	return value(units)
}

// written returns the units of the prompt; during a search, those before the search.
func (m *Recall) written() []Unit {
	if m.search != nil {
		return m.search.savedText.units
	}
	return m.editor.Units
}

func value(units []Unit) string {
	if startsWithChip(units) {
		return EscapeCommand(promptText(units))
	}
	return promptText(units)
}

// startsWithChip reports whether units begin with a chip.
func startsWithChip(units []Unit) bool { return len(units) > 0 && units[0].Kind == KindChip }

// promptText returns the text of units as it is sent.
func promptText(units []Unit) string {
	var b strings.Builder
	for _, u := range units {
		if u.Kind == KindChip {
			b.WriteString(u.Text) // already clean: it was pasted
			continue
		}
		b.WriteString(stripControl(u.Text))
	}
	return b.String()
}

// textWithoutChips returns the value without chips, and without the @ before a pasted
// address: only text typed by the user may cause a request.
func textWithoutChips(units []Unit) string {
	var b strings.Builder
	for i, u := range units {
		if u.pasted && u.Text == "@" && beginsAddress(units[i+1:]) {
			b.WriteByte(' ')
			continue
		}
		if u.Kind != KindChip {
			b.WriteString(stripControl(u.Text))
		}
	}
	return b.String()
}

// beginsAddress reports whether units begin with a web address, possibly quoted.
func beginsAddress(units []Unit) bool {
	var b strings.Builder
	for _, u := range units[:min(len(units), len(`"https://`))] {
		b.WriteString(u.Text)
	}
	text := strings.ToLower(strings.TrimLeft(b.String(), `"'`))
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "https:/")
}

// EscapeCommand returns text as a plain prompt: text that would be a command or a shell line
// gets a leading space.
func EscapeCommand(text string) string {
	if text != "" && (text[0] == '/' || text[0] == '!') {
		return " " + text
	}
	return text
}

// maxInlineBytes is the maximum number of bytes that SetValue inserts as text. An editor
// or the history may return more than a paste shows, but keys must not become slow.
const maxInlineBytes = 64 << 10

// SetValue replaces the text; undo restores it. Very long text becomes a chip.
// Chips whose text is still in s remain, because an editor gets their full text.
func (m *Model) SetValue(s string) {
	m.Recall.stopSearch(false)
	m.editor.set(mergeChips(m.editor.Units, normalize(s)))
	m.resetTransient()
}

// SetPromptText sets the value to a plain prompt, for text from a server or a model.
func (m *Model) SetPromptText(s string) { m.SetValue(EscapeCommand(stripControl(normalize(s)))) }

// mergeChips returns s as units, with the chips of old whose text is still in s, or with a
// new chip for the text in their place.
func mergeChips(old []Unit, s string) []Unit {
	first := slices.IndexFunc(old, func(u Unit) bool { return u.Kind == KindChip })
	if first < 0 {
		return unitsOf(s)
	}
	var units []Unit
	rest, last := s, first
	for i, u := range old {
		if u.Kind != KindChip {
			continue
		}
		last = i
		if before, after, found := cutChip(rest, u.Text); found {
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

// cutChip returns the parts of s before and after text. Line ends at the end of
// text may be missing in s.
func cutChip(s, text string) (before, after string, found bool) {
	if before, after, found = strings.Cut(s, text); found {
		return before, after, true
	}
	text = strings.TrimRight(text, "\n")
	return strings.TrimSuffix(s, text), "", text != "" && strings.HasSuffix(s, text)
}

func unitsOf(s string) []Unit {
	if s = normalize(s); len(s) > maxInlineBytes {
		return []Unit{newChip(s)}
	}
	return Split(s)
}

// Len returns the length of the prompt in bytes.
func (m *Model) Len() int {
	n := 0
	for _, u := range m.editor.Units {
		n += len(u.Text)
	}
	return n
}
