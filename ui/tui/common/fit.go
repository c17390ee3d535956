package common

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Truncate returns row, which may have styles, in at most width cells.
func Truncate(row string, width int) string {
	if fits(row, width) || ansi.StringWidth(row) <= width {
		return row
	}
	return ansi.Truncate(row, width, "")
}

// fits reports whether row is certain to take at most width cells. It estimates,
// because measuring every row of every frame would be most of its cost.
func fits(row string, width int) bool {
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\x1b' && strings.HasPrefix(row[i:], "\x1b["):
			for i += 2; i < len(row) && (row[i] < '@' || row[i] > '~'); i++ {
			}
		case c == '\x1b':
			return false
		case c < 0x80, c >= 0xc0 && c < 0xe0: // includes ·
			width--
		case c == 0xe2 && i+1 < len(row) && strings.IndexByte("\x80\x88\x94\x95", row[i+1]) >= 0: // … and ›, ∙, box-drawing lines
			width--
		case c >= 0xe0: // one or two cells wide
			width -= 2
		}
	}
	return width >= 0
}
