package llm

import (
	"slices"
	"strings"
)

// Breaks finds the empty lines between the texts of an answer. An empty line separates two texts if
// a call, a result or the beginning of another message is between them. Otherwise a text continues
// the previous one, since wire formats split texts at signatures, citations and thinking. The zero
// value is at the start of an answer.
type Breaks struct{ said, apart bool }

// Next takes the next part, or the first delta with text of one, and reports whether an empty line
// precedes its text.
func (b *Breaks) Next(p *Part) bool {
	switch p.Kind {
	case Call, Result:
		b.apart = true
	case Text:
		b.apart = b.apart || p.Begins
		if p.Text != "" {
			between := b.said && b.apart
			b.said, b.apart = true, false
			return between
		}
	}
	return false
}

// Break makes the next text begin after an empty line.
func (b *Breaks) Break() { b.apart = true }

// JoinedParts returns the parts of m. In an answer, each text that continues another is appended to
// it, even across thinking or a source, but not across an image or a file. The State of joined
// texts is dropped.
func (m Message) JoinedParts() []Part {
	parts, at, joined := m.Parts, -1, false // at: index of the text that may continue
	var text strings.Builder
	for i, p := range m.Parts {
		switch {
		case m.Role != RoleAssistant, p.Kind == Call, p.Kind == Result, p.Kind == Media:
			at = -1
		case p.Kind != Text:
		case at < 0 || p.Begins:
			at = i
			text = strings.Builder{}
		default:
			if !joined {
				parts, joined = slices.Clone(parts), true
			}
			if text.Len() == 0 {
				text.WriteString(parts[at].Text)
			}
			text.WriteString(p.Text)
			parts[at].Text, parts[at].State, parts[i] = text.String(), nil, Part{}
		}
	}
	if !joined {
		return parts
	}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Kind == "" })
}
