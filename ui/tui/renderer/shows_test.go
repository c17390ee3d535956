package renderer

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/uitest/vt"
)

// terminal is a terminal emulator with the test that it reports failures to.
type terminal struct {
	*vt.Terminal
	t    testing.TB
	w, h int
}

func newTerminal(t testing.TB, w, h int) *terminal { return &terminal{vt.New(w, h), t, w, h} }

func (v *terminal) resize(w, h int) {
	v.w, v.h = w, h
	v.Resize(w, h)
}

// shows fails unless the terminal shows content, as Bubble Tea would draw it.
// Clusters that terminals draw differently may have any look, as long as they
// stay in their place.
func (v *terminal) shows(content string) {
	v.t.Helper()
	want := uv.NewScreenBuffer(v.w, v.h)
	want.Method = ansi.GraphemeWidth
	uv.NewStyledString(content).Draw(want, want.Bounds())
	for y := range v.h {
		for x := 0; x < v.w; x++ {
			c := want.CellAt(x, y)
			if link := c.Link.Params + c.Link.URL; !utf8.ValidString(link) || strings.ContainsFunc(link, unicode.IsControl) {
				c.Link = uv.Link{} // links are not compared
			}
			if !v.Clusters && utf8.RuneCountInString(c.Content) > 1 {
				for to := x + max(c.Width, 1); x < to; x++ {
					if got := v.Cell(x, y).Text; got != " " && !strings.Contains(c.Content, got) {
						v.t.Fatalf("%q at column %d of row %d, where %q is", got, x, y, c.Content)
					}
				}
				x--
				continue
			}
			got, wanted := seen(v.Cell(x, y)), seen(vt.Cell{Text: c.Content, Style: c.Style, Link: c.Link})
			if got != wanted {
				v.t.Fatalf("at column %d of row %d:\n got %+v\nwant %+v\nof %q", x, y, got, wanted, strings.Split(content, "\n")[y])
			}
		}
	}
	if v.Pen != (vt.Cell{}) || v.Margins() {
		v.t.Fatalf("the pen is left as %+v, margins: %v", v.Pen, v.Margins())
	}
	v.right()
}

// right fails if forbidden output was written.
func (v *terminal) right() {
	v.t.Helper()
	if len(v.Wrong) > 0 {
		v.t.Fatal(strings.Join(v.Wrong, "\n"))
	}
}

// seen returns the visible properties of a cell.
func seen(c vt.Cell) vt.Cell {
	switch {
	case c.Text == "": // second column of a wide character
		return vt.Cell{}
	case c.Text == " " && c.Style.Attrs&(uv.AttrReverse|uv.AttrStrikethrough) == 0 && c.Style.Underline == 0 && c.Link == (uv.Link{}):
		c.Style = uv.Style{Bg: c.Style.Bg}
	}
	return c
}
