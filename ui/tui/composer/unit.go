package composer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// A Unit is one step of the cursor, and the text deleted by one backspace: a
// grapheme cluster, a line end, or a chip.
type Unit struct {
	Text    string // text in the prompt
	display string // displayed text; "" if it is the same as text
	width   int32  // in cells, if the row is wide enough
	Kind    UnitKind
	pasted  bool // not typed; see textWithoutChips
}

// A UnitKind tells units of text, the zero kind, from others.
type UnitKind uint8

const (
	kindChar    UnitKind = iota
	KindNewline          // ends a line
	KindChip             // a large paste, shown by a label
)

// tab is displayed for a tab. There are no tab stops, because the text moves
// with every key.
const tab = "    "

// Split splits text into units. Lines must end in "\n".
func Split(text string) []Unit {
	units := make([]Unit, 0, len(text))
	for text != "" {
		u := first(text)
		units = append(units, u)
		text = text[len(u.Text):]
	}
	return units
}

func first(text string) Unit {
	switch c := text[0]; {
	case c == '\n':
		return Unit{Text: text[:1], Kind: KindNewline}
	case c >= ' ' && c < 0x7f && (len(text) == 1 || text[1] < utf8.RuneSelf):
		return Unit{Text: text[:1], width: 1}
	}
	cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	u := Unit{Text: cluster, display: visibleForm(cluster)}
	u.width = int32(ansi.StringWidth(u.display))
	if u.display == cluster {
		u.display = ""
	}
	return u
}

// visibleForm returns the displayed form of a character. An invisible character is
// displayed as its code point, because the user would otherwise send it unseen.
func visibleForm(cluster string) string {
	if cluster == "\t" {
		return tab
	}
	s, dropped := sanitize.Counted(cluster)
	if dropped == 0 && ansi.StringWidth(s) > 0 {
		return s
	}
	var b strings.Builder
	for _, r := range cluster {
		if s := sanitize.Text(string(r)); ansi.StringWidth(s) > 0 {
			b.WriteString(s)
			continue
		}
		fmt.Fprintf(&b, "<U+%04X>", r)
	}
	return b.String()
}

// joins reports whether a and b, side by side, form one grapheme cluster, such as a
// letter and a combining mark, or the halves of a flag.
func joins(a, b Unit) bool {
	if a.Kind != kindChar || b.Kind != kindChar || len(a.Text) == 1 && len(b.Text) == 1 {
		return false
	}
	cluster, _ := ansi.FirstGraphemeCluster(a.Text+b.Text, ansi.GraphemeWidth)
	return cluster != a.Text
}

// IsSpace reports whether u is a space or a tab.
func IsSpace(u Unit) bool { return u.Text == " " || u.Text == "\t" }

// cells returns the width of u in rows of width cells.
func (u Unit) cells(width int) int { return min(int(u.width), width) }

// draw returns the displayed text of u in at most width cells.
func (u Unit) draw(width int) string {
	s := u.Text
	if u.display != "" {
		s = u.display
	}
	if int(u.width) > width {
		s = ansi.Truncate(s, width, "…")
	}
	return s
}

// stripControl returns text as it is sent: valid UTF-8 without control characters
// other than line end and tab.
func stripControl(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// normalize returns text with the line ends and encoding that the editor requires.
func normalize(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

// Pastes larger than these sizes become chips. As text they would push
// everything else off the screen and slow down every key.
const (
	chipBytes = 2 << 10
	chipLines = 20
)

func isLargePaste(text string) bool {
	return len(text) > chipBytes || strings.Count(text, "\n") >= chipLines
}

func newChip(text string) Unit {
	text = stripControl(text)
	label := chipLabel(text)
	return Unit{Text: text, display: label, width: int32(ansi.StringWidth(label)), Kind: KindChip}
}

// chipLabel returns the label of a chip for text.
func chipLabel(text string) string {
	if lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; lines > 1 {
		return fmt.Sprintf("[pasted %d lines]", lines)
	}
	if len(text) < 999_950 { // units as in format.Size
		return fmt.Sprintf("[pasted %.1f KB]", float64(len(text))/1e3)
	}
	return fmt.Sprintf("[pasted %.1f MB]", float64(len(text))/1e6)
}
