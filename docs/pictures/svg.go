package main

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// A cell of the drawing, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18.0
	margin     = 16.0
	fontSize   = 14
)

// paper is what a terminal has where no colour is said.
type paper struct{ text, ground color.Color }

var (
	dark  = paper{color.RGBA{0xe4, 0xe4, 0xe4, 0xff}, color.RGBA{0x16, 0x16, 0x16, 0xff}}
	light = paper{color.RGBA{0x26, 0x26, 0x26, 0xff}, color.RGBA{0xfc, 0xfc, 0xfc, 0xff}}
)

// draw makes a drawing of the text of a screen with its colours.
func draw(screen string, width int, onLight bool) string {
	p := dark
	if onLight {
		p = light
	}
	rows := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	cells := uv.NewScreenBuffer(width, len(rows))
	cells.Method = ansi.GraphemeWidth
	uv.NewStyledString(strings.Join(rows, "\n")).Draw(cells, cells.Bounds())
	w, h := float64(width)*cellWidth+2*margin, float64(len(rows))*cellHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="%d" xml:space="preserve"><rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n",
		w, h, w, h, fontSize, hex(p.ground))
	for y := range rows {
		for x := 0; x < width; {
			x += p.run(&b, cells, x, y, width)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// run draws the cells from x on that look the same, and returns how many.
func (p paper) run(b *strings.Builder, cells uv.ScreenBuffer, x, y, width int) int {
	first := cells.CellAt(x, y)
	if first == nil {
		return 1
	}
	var text strings.Builder
	n := 0
	isBlank := func(x int) bool {
		c := cells.CellAt(x, y)
		return c != nil && c.Content == " "
	}
	isGap := func(x int) bool { return isBlank(x) && (isBlank(x-1) || isBlank(x+1)) } // browsers draw one blank of several
	for x+n < width {
		c := cells.CellAt(x+n, y)
		if c == nil || c.Width == 0 || c.Style != first.Style || isGap(x+n) != isGap(x) {
			break
		}
		text.WriteString(c.Content)
		n += max(c.Width, 1)
	}
	if n == 0 {
		return 1
	}
	front, ground := p.colors(first.Style)
	left, top := margin+float64(x)*cellWidth, margin+float64(y)*cellHeight
	if ground != nil {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, float64(n)*cellWidth, cellHeight, hex(ground))
	}
	// Blanks at the ends would be drawn as nothing, and cost.
	said := strings.TrimRight(text.String(), " ")
	blank := len(said) - len(strings.TrimLeft(said, " "))
	said = said[blank:]
	if said == "" {
		return n
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`+"\n",
		left+float64(blank)*cellWidth, top+cellHeight*0.75, float64(ansi.StringWidth(said))*cellWidth, hex(front), attributes(first.Style), html.EscapeString(said))
	return n
}

// colors returns those of a cell; no ground is the paper's.
func (p paper) colors(s uv.Style) (front, ground color.Color) {
	front, ground = s.Fg, s.Bg
	if front == nil {
		front = p.text
	}
	if s.Attrs&uv.AttrReverse != 0 {
		if ground == nil {
			ground = p.ground
		}
		return ground, front
	}
	return front, ground
}

func attributes(s uv.Style) string {
	out := ""
	for _, a := range []struct {
		is   bool
		text string
	}{
		{s.Attrs&uv.AttrBold != 0, ` font-weight="bold"`},
		{s.Attrs&uv.AttrItalic != 0, ` font-style="italic"`},
		{s.Attrs&uv.AttrFaint != 0, ` fill-opacity="0.6"`},
		{s.Underline != 0, ` text-decoration="underline"`},
		{s.Attrs&uv.AttrStrikethrough != 0, ` text-decoration="line-through"`},
	} {
		if a.is {
			out += a.text
		}
	}
	return out
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
