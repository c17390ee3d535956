package termimage

import (
	"fmt"
	"image"
	"strings"
)

// Print returns a PNG of w by h pixels for the lines of a terminal, in at most cols by rows cells; "" if the protocol
// draws none.
func Print(p Protocol, png []byte, w, h, cols, rows int) string {
	if cols, rows = Fit(w, h, cols, rows); cols == 0 {
		return ""
	}
	var b strings.Builder
	switch p {
	case Kitty:
		return transmit(fmt.Sprintf("a=T,f=100,c=%d,r=%d,", cols, rows), png) + "\n"
	case Blocks:
		for _, line := range HalfBlocks(png, cols, rows) {
			b.WriteString(line + "\n")
		}
	case ITerm, Sixel:
		cell := CellSize()
		if cell.X == 0 || cell.Y == 0 {
			cell = image.Pt(10, 20)
		}
		s := NewStrips(p, png, cols, rows, cell)
		if s == nil {
			return ""
		}
		// First there have to be lines: a strip in the last line could scroll. A cursor would erase its cell.
		fmt.Fprintf(&b, "\x1b[?25l%s\x1b[%dA", strings.Repeat("\n", rows+1), rows+1)
		for row := range rows {
			fmt.Fprintf(&b, "\x1b7%s\x1b8\n", s.Append(nil, row, 0, cols))
		}
		b.WriteString("\x1b[?25h")
	}
	return b.String()
}
