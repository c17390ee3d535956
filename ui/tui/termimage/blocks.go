package termimage

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
)

// HalfBlocks returns an image as at most rows lines of at most cols cells, for terminals
// without graphics: each cell shows two pixels, one above the other, in 24-bit colors.
// Transparent pixels show the terminal's background. It returns nil if data is not a PNG.
func HalfBlocks(data []byte, cols, rows int) (lines []string) {
	whole, err := png.Decode(bytes.NewReader(data))
	if err != nil || whole.Bounds().Empty() || cols < 1 || rows < 1 {
		return nil
	}
	size := whole.Bounds().Size()
	scale := min(float64(cols)/float64(size.X), float64(2*rows)/float64(size.Y), 1)
	small := image.NewNRGBA(image.Rect(0, 0, max(int(float64(size.X)*scale), 1), max(int(float64(size.Y)*scale), 1)))
	draw.BiLinear.Scale(small, small.Rect, whole, whole.Bounds(), draw.Src, nil)
	for y := 0; y < small.Rect.Dy(); y += 2 {
		var line strings.Builder
		for x := range small.Rect.Dx() {
			upper, lower := small.NRGBAAt(x, y), color.NRGBA{}
			if y+1 < small.Rect.Dy() {
				lower = small.NRGBAAt(x, y+1)
			}
			line.WriteString(halfBlock(upper, lower))
		}
		lines = append(lines, line.String()+"\x1b[m")
	}
	return lines
}

// visible is the minimum alpha of a visible pixel.
const visible = 128

// halfBlock returns one cell.
func halfBlock(upper, lower color.NRGBA) string {
	rgb := func(layer int, c color.NRGBA) string {
		return fmt.Sprintf("\x1b[%d;2;%d;%d;%dm", layer, c.R, c.G, c.B)
	}
	switch {
	case upper.A < visible && lower.A < visible:
		return "\x1b[m "
	case upper.A < visible:
		return "\x1b[m" + rgb(38, lower) + "▄"
	case lower.A < visible:
		return "\x1b[m" + rgb(38, upper) + "▀"
	}
	return rgb(38, upper) + rgb(48, lower) + "▀"
}
