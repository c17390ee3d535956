package renderer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// pictureRow returns a row of cells of picture 1.
func pictureRow(row, cols int) string {
	var b strings.Builder
	b.WriteString("\x1b[38;2;0;0;1m")
	for col := range cols {
		fmt.Fprintf(&b, "%c%c%c", kitty.Placeholder, kitty.Diacritic(row), kitty.Diacritic(col))
	}
	return b.String() + "\x1b[39m"
}

type drawnByTerminal uint32

func (id drawnByTerminal) Picture() (uint32, Picture) { return uint32(id), Picture{} }

// Pictures are drawn after the text of their row. What stands is not sent again; what an overlay uncovers is.
func TestPictures(t *testing.T) {
	if ansi.StringWidth(string(kitty.Placeholder)) != 1 {
		t.Skip("placeholders are two cells wide in this locale")
	}
	draw := func(b []byte, row, from, to int) []byte { return fmt.Appendf(b, "<%d:%d-%d>", row, from, to) }
	for _, fixed := range []bool{false, true} {
		var out bytes.Buffer
		s := on(&out, 20, 8)
		s.changePictures(func(all map[uint32]Picture) { all[1] = Picture{draw, fixed} })
		shows := func(what string, rows []string, want string) {
			t.Helper()
			out.Reset()
			s.show(strings.Join(rows, "\n"), 0, 7)
			var got []string
			for _, part := range strings.Split(out.String(), "<")[1:] {
				part, _, _ = strings.Cut(part, ">")
				got = append(got, part)
			}
			if strings.Join(got, " ") != want || strings.ContainsRune(out.String(), kitty.Placeholder) {
				t.Errorf("%s, fixed %t: drawn %q, want %q; all %q", what, fixed, got, want, out.String())
			}
		}
		a, b := "  "+pictureRow(0, 4), "  "+pictureRow(1, 4)
		shows("first", []string{"text", a, b, "one line", "two lines"}, "0:0-4 1:0-4")
		shows("other text", []string{"TEXT", a, b, "one line", "two lines"}, "")
		shows("an overlay", []string{"TEXT", "  " + ansi.Cut(pictureRow(0, 4), 0, 1) + "xx" + ansi.Cut(pictureRow(0, 4), 3, 4), b, "one line", "two lines"}, "")
		shows("no overlay", []string{"TEXT", a, b, "one line", "two lines"}, "0:1-3")
		moved, last := "", ""
		if fixed {
			moved, last = "0:0-4 1:0-4", "0:0-4"
		}
		shows("scrolled", []string{a, b, "one line", "two lines", ""}, moved)
		shows("half of it in the last row", []string{"", "", "", "", "", "", a, b}, last)
		shows("an unknown picture", []string{strings.ReplaceAll(a, "0;0;1m", "0;0;2m"), "", "", "", "", "", "", ""}, "")
		s.filter(nil, ForgetPicturesMsg{1})
		shows("a forgotten picture", []string{a, b, "", "", "", "", "", ""}, "")
		s.filter(nil, drawnByTerminal(1))
		out.Reset()
		if s.show("\n"+a, 0, 7); !strings.ContainsRune(out.String(), kitty.Placeholder) {
			t.Errorf("a picture of the terminal: %q", out.String())
		}
	}
}
