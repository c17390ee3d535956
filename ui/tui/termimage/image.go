// Package termimage shows images in terminals. In a view, an image is cells with
// U+10EEEE whose color is the number of the image, and whose diacritics give row and
// column: the Unicode placeholders of kitty's graphics protocol. Such cells can be
// scrolled, truncated and overwritten like any others. kitty draws them itself after an
// upload. For iTerm2's images and sixel, the renderer draws Strips in their places.
// Other terminals get half blocks.
//
//	Detect, Fit ──► Upload, written once, past the renderer ──► Cells, in the view ──► Forget
//	            ──► Strips, given to the renderer ──► Cells, in the view
//	            ──► HalfBlocks, in the view
package termimage

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// MaxSide is the maximum number of rows or columns of an image, the number of
// available diacritics.
const MaxSide = 297

// narrow reports whether layout counts a placeholder as one cell. In East Asian
// locales it counts characters of ambiguous width as two, unlike the terminal.
func narrow() bool { return ansi.StringWidth(string(kitty.Placeholder)) == 1 }

// Upload returns the sequence that uploads an image under a number, from 1, to be
// drawn within cols by rows cells; it keeps its proportions. Another upload under
// the number replaces the image. Numbers are shared by all programs in the
// window. The terminal does not answer. Upload returns "" for an image that
// cannot be drawn.
func Upload(id uint32, png []byte, cols, rows int) string {
	if id == 0 || len(png) == 0 || !drawable(cols, rows) {
		return ""
	}
	return transmit(fmt.Sprintf("a=T,U=1,f=100,i=%d,c=%d,r=%d,", id, cols, rows), png)
}

// transmit returns kitty's sequence for a PNG, in chunks.
func transmit(keys string, png []byte) string {
	data := base64.StdEncoding.EncodeToString(png)
	var b strings.Builder
	b.Grow(len(data) + len(data)/kitty.MaxChunkSize*16 + 64)
	for data != "" {
		n := min(len(data), kitty.MaxChunkSize)
		more := 0
		if n < len(data) {
			more = 1
		}
		fmt.Fprintf(&b, "\x1b_G%sq=2,m=%d;%s\x1b\\", keys, more, data[:n])
		data, keys = data[n:], "" // later chunks have only these two keys
	}
	return b.String()
}

// Cells returns the lines of cells in which the terminal draws the image. Each cell
// contains its row and column, so that a renderer may write any of them separately.
func Cells(id uint32, cols, rows int) []string {
	if id == 0 || !drawable(cols, rows) {
		return nil
	}
	lines := make([]string, rows)
	high := ""
	if id>>24 != 0 { // the byte that does not fit into the three bytes of a color
		high = string(kitty.Diacritic(int(id >> 24)))
	}
	for row := range lines {
		var b strings.Builder
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm", id>>16&0xff, id>>8&0xff, id&0xff)
		for col := range cols {
			b.WriteRune(kitty.Placeholder)
			b.WriteRune(kitty.Diacritic(row))
			b.WriteRune(kitty.Diacritic(col))
			b.WriteString(high)
		}
		b.WriteString("\x1b[39m")
		lines[row] = b.String()
	}
	return lines
}

// Forget returns the sequence that removes an image from the terminal and its memory.
func Forget(id uint32) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b_Ga=d,d=I,i=%d,q=2\x1b\\", id)
}

// Assumed size of a cell in pixels, for Fit.
const cellWidth, cellHeight = 8, 16

// Fit returns the number of cells for an image of w by h pixels within maxCols
// and maxRows. It keeps the proportions as closely as cells allow, uses at least
// one cell, and does not enlarge the image. It returns 0, 0 if there is no image
// or no space.
func Fit(w, h, maxCols, maxRows int) (cols, rows int) {
	maxCols, maxRows = min(maxCols, MaxSide), min(maxRows, MaxSide)
	if w < 1 || h < 1 || maxCols < 1 || maxRows < 1 {
		return 0, 0
	}
	across, down := float64(w)/cellWidth, float64(h)/cellHeight
	part := min(1, float64(maxCols)/across, float64(maxRows)/down)
	cells := func(n float64, most int) int { return max(1, min(int(n*part+0.5), most)) }
	return cells(across, maxCols), cells(down, maxRows)
}

func drawable(cols, rows int) bool {
	return cols > 0 && rows > 0 && cols <= MaxSide && rows <= MaxSide
}
