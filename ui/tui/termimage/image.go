// Package termimage shows images in terminals that support kitty's graphics
// protocol with Unicode placeholders. An image is uploaded once under a number. In
// cells with U+10EEEE whose color is the number, and whose diacritics give row and
// column, the terminal draws that part of the image. Such cells can be scrolled,
// truncated and overwritten like any others. A renderer that knows only cells
// requires this; sixel and kitty's own placements do not provide it.
//
//	Fit ──► Upload, written once, past the renderer ──► Cells, in the view ──► Forget
package termimage

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// MaxSide is the maximum number of rows or columns of an image, the number of
// available diacritics.
const MaxSide = 297

// Supported reports whether the terminal, according to its environment, draws
// placeholders. kitty does since version 0.28, Ghostty since 1.0. Others support
// the protocol but show placeholders as boxes (WezTerm, Konsole, iTerm2, Warp).
// Multiplexers pass graphics through only if configured to, so Supported returns
// false in one. A user who has configured tmux may say so; Upload then goes
// through ansi.TmuxPassthrough.
func Supported(getenv func(string) string) bool {
	if !narrow() {
		return false
	}
	term := getenv("TERM")
	for _, multiplexer := range []string{"TMUX", "STY", "ZELLIJ"} {
		if getenv(multiplexer) != "" {
			return false
		}
	}
	if strings.HasPrefix(term, "tmux") || strings.HasPrefix(term, "screen") {
		return false
	}
	return slices.Contains([]string{"xterm-kitty", "xterm-ghostty"}, term) || getenv("TERM_PROGRAM") == "ghostty"
}

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
	data := base64.StdEncoding.EncodeToString(png)
	var b strings.Builder
	b.Grow(len(data) + len(data)/kitty.MaxChunkSize*16 + 64)
	keys := fmt.Sprintf("a=T,U=1,f=100,i=%d,c=%d,r=%d,", id, cols, rows)
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
