package format

// A Part is text under a heading.
type Part struct {
	Title  string
	Note   string // shown after the title
	Source string // text to copy for the part
	Lines  []Line

	Verbatim bool // front ends without a screen show Source
	Patch    bool // Lines are those of the unified diff Source; a screen shows it as a diff

	// Render returns lines of at most width cells, shown on a screen instead of Lines. Front ends
	// without a screen show Source then. nil means that Lines are shown.
	Render func(width int) []string
}

// A Line is one line of a Part.
type Line struct {
	Sign string // shown before Text in its own color, such as "+"; "" for none
	Text string // without a line break
	Full string // complete text, of any number of lines, if Text is abbreviated; else ""
}

// String returns the text of l with its sign.
func (l Line) String() string {
	if l.Sign == "" {
		return l.Text
	}
	return l.Sign + " " + l.Text
}
