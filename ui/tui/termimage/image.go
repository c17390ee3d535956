// Package termimage shows images in terminals that speak kitty's graphics
// protocol, with Unicode placeholders: an image is uploaded once under a number,
// and where cells of text hold U+10EEEE in a color that is the number, with
// diacritics that say row and column, the terminal draws that part of it. Such
// cells scroll, are cut off and overwritten like any others, which a renderer that
// knows only cells needs; sixel and kitty's own placements have none of that.
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

// MaxSide sets how many rows or columns an image can have: there are so many
// diacritics, and no more.
const MaxSide = 297

// Supported reports whether the terminal, by its environment, draws placeholders.
// kitty has since version 0.28, Ghostty since 1.0; others speak the protocol but
// show placeholders as boxes (WezTerm, Konsole, iTerm2, Warp). Multiplexers have
// to be told to pass graphics through, so within one the answer is no: a user
// who has told tmux may say so, and Upload goes through ansi.TmuxPassthrough then.
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

// narrow reports whether a placeholder counts as one cell to those who lay out
// lines. In East Asian locales they take what is of no certain width for two,
// which the terminal does not.
func narrow() bool { return ansi.StringWidth(string(kitty.Placeholder)) == 1 }

// Upload returns what gives the terminal an image under a number from 1 on, to
// be drawn in so many cells; it keeps its proportions within them. Another upload
// of the number replaces the image. Numbers are shared by all programs in the
// window. The terminal does not answer. An image that cannot be drawn is "".
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
		data, keys = data[n:], "" // later chunks have these two keys only
	}
	return b.String()
}

// Cells returns the lines of cells in which the terminal draws the image. Each
// cell names its row and column, so that a renderer may write any of them alone.
func Cells(id uint32, cols, rows int) []string {
	if id == 0 || !drawable(cols, rows) {
		return nil
	}
	lines := make([]string, rows)
	high := ""
	if id>>24 != 0 { // what three bytes of color do not hold
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

// Forget returns what removes an image from the terminal and its memory.
func Forget(id uint32) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b_Ga=d,d=I,i=%d,q=2\x1b\\", id)
}

// The size of a cell in pixels that Fit takes for granted.
const cellWidth, cellHeight = 8, 16

// Fit returns how many cells an image of w by h pixels takes within so many, in
// its proportions as near as cells allow, at least one, and not enlarged; 0, 0 if
// there is no image or no room.
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
