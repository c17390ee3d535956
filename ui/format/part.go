package format

// A Part is text under a heading, to read.
type Part struct {
	Title  string
	Note   string // after the title
	Source string // what is copied for the part
	Lines  []Line

	// Render returns the lines on a screen, of at most width cells, in the place of Lines; Source is
	// what is read without one. Nil: Lines are shown.
	Render func(width int) []string
}

// A Line is one line of a Part.
type Line struct {
	Sign string // before Text, in a color of its own, such as "+"; "" for none
	Text string // without a line break
	Full string // what Text abbreviates, of any number of lines; "" if Text is complete
}

// String returns the text of l with its sign.
func (l Line) String() string {
	if l.Sign == "" {
		return l.Text
	}
	return l.Sign + " " + l.Text
}
