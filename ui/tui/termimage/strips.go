package termimage

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"sort"
	"strconv"

	"golang.org/x/image/draw"
)

// Strips draws an image as one strip per row of cells, for iTerm2's protocol and sixel. So rows can be
// scrolled, cut and covered like text.
type Strips struct {
	protocol Protocol
	img      image.Image
	cell     image.Point
	rows     [][]byte // sequences of whole rows
	cols     int
}

// NewStrips scales a PNG to cols by rows cells of a size in pixels. It returns nil if data is no PNG.
func NewStrips(p Protocol, data []byte, cols, rows int, cell image.Point) *Strips {
	whole, err := png.Decode(bytes.NewReader(data))
	if err != nil || whole.Bounds().Empty() || !drawable(cols, rows) {
		return nil
	}
	size, to := whole.Bounds().Size(), image.Pt(cols*cell.X, rows*cell.Y)
	scale := min(float64(to.X)/float64(size.X), float64(to.Y)/float64(size.Y))
	scaled := image.NewNRGBA(image.Rectangle{Max: to})
	part := image.Rect(0, 0, max(int(float64(size.X)*scale+0.5), 1), max(int(float64(size.Y)*scale+0.5), 1))
	draw.BiLinear.Scale(scaled, part, whole, whole.Bounds(), draw.Src, nil)
	s := &Strips{protocol: p, img: scaled, cell: cell, cols: cols}
	if p == Sixel {
		s.img = paletted(scaled)
	}
	for row := range rows {
		s.rows = append(s.rows, s.encode(nil, row, 0, cols))
	}
	return s
}

// Append appends the sequence that draws the cells [from, to) of a row at the cursor.
func (s *Strips) Append(b []byte, row, from, to int) []byte {
	switch {
	case row < 0 || row >= len(s.rows) || from < 0 || to > s.cols || from >= to:
		return b
	case from == 0 && to == s.cols:
		return append(b, s.rows[row]...)
	}
	return s.encode(b, row, from, to)
}

func (s *Strips) encode(b []byte, row, from, to int) []byte {
	area := image.Rect(from*s.cell.X, row*s.cell.Y, to*s.cell.X, (row+1)*s.cell.Y)
	if img, ok := s.img.(*image.Paletted); ok {
		return appendSixel(b, img, area)
	}
	var file bytes.Buffer
	_ = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&file, s.img.(*image.NRGBA).SubImage(area)) // to memory, of a valid size
	b = fmt.Appendf(b, "\x1b]1337;File=inline=1;size=%d;width=%d;height=1;preserveAspectRatio=0;doNotMoveCursor=1:", file.Len(), to-from)
	b = base64.StdEncoding.AppendEncode(b, file.Bytes())
	return append(b, '\a')
}

// paletted returns an image in at most 256 colors, mixed from its most frequent ones and a few of all kinds.
// Color 0 is transparent.
func paletted(img *image.NRGBA) *image.Paletted {
	type sum struct{ r, g, b, n int }
	alike := make([]sum, 1<<15) // by the upper bits of the color
	for i := 0; i < len(img.Pix); i += 4 {
		if r, g, b, a := int(img.Pix[i]), int(img.Pix[i+1]), int(img.Pix[i+2]), img.Pix[i+3]; a >= visible {
			c := &alike[r>>3<<10|g>>3<<5|b>>3]
			*c = sum{c.r + r, c.g + g, c.b + b, c.n + 1}
		}
	}
	sort.SliceStable(alike, func(i, j int) bool { return alike[i].n > alike[j].n })
	colors := color.Palette{color.NRGBA{}}
	const levels = 4
	for _, c := range alike[:255-levels*levels*levels] {
		if c.n > 0 {
			colors = append(colors, color.NRGBA{uint8(c.r / c.n), uint8(c.g / c.n), uint8(c.b / c.n), 255})
		}
	}
	for i := range levels * levels * levels {
		const step = 255 / (levels - 1)
		colors = append(colors, color.NRGBA{uint8(i / levels / levels * step), uint8(i / levels % levels * step), uint8(i % levels * step), 255})
	}
	out := image.NewPaletted(img.Rect, colors)
	draw.FloydSteinberg.Draw(out, out.Rect, img, image.Point{})
	return out
}

// appendSixel appends an area as sixels: bands of six pixels, color by color.
func appendSixel(b []byte, img *image.Paletted, area image.Rectangle) []byte {
	b = fmt.Appendf(b, "\x1bP0;1q\"1;1;%d;%d", area.Dx(), area.Dy())
	var defined [256]bool
	band := make([][]byte, 256) // sixels by color
	for y := area.Min.Y; y < area.Max.Y; y += 6 {
		clear(band)
		for dy := range min(6, area.Max.Y-y) {
			for x := range area.Dx() {
				c := img.ColorIndexAt(area.Min.X+x, y+dy)
				if c == 0 {
					continue
				}
				if band[c] == nil {
					band[c] = make([]byte, area.Dx())
				}
				band[c][x] |= 1 << dy
			}
		}
		for c, sixels := range band {
			if sixels == nil {
				continue
			}
			b = strconv.AppendInt(append(b, '#'), int64(c), 10)
			if !defined[c] {
				defined[c] = true
				red, green, blue, _ := img.Palette[c].RGBA()
				b = fmt.Appendf(b, ";2;%d;%d;%d#%d", (red*100+32767)/65535, (green*100+32767)/65535, (blue*100+32767)/65535, c)
			}
			b = append(appendRuns(b, bytes.TrimRight(sixels, "\x00")), '$')
		}
		b = append(b, '-')
	}
	return append(b[:len(b)-1], "\x1b\\"...)
}

// appendRuns appends sixels, with repeated ones as a count.
func appendRuns(b, sixels []byte) []byte {
	for i := 0; i < len(sixels); {
		n := 1
		for i+n < len(sixels) && sixels[i+n] == sixels[i] {
			n++
		}
		if n > 3 {
			b = strconv.AppendInt(append(b, '!'), int64(n), 10)
			b = append(b, sixels[i]+'?')
		} else {
			b = append(b, bytes.Repeat([]byte{sixels[i] + '?'}, n)...)
		}
		i += n
	}
	return b
}
