package diffview_test

import (
	"strings"
	"testing"

	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

// With 24 bits a changed line has a tint from its number to its end, and changed words a stronger
// one. With 256 colors, on a dark background, only number and sign are tinted.
func TestTints(t *testing.T) {
	d := diffview.Read("@@ -41,1 +41,1 @@\n-a := b(c)\n+a := b(d)\n", 0)
	for name, tt := range map[string]struct {
		theme *theme.Theme
		want  string
	}{
		"24 bits": {theme.Dark(), "\x1b[38;2;122;126;135;48;2;22;48;31m  41 \x1b[m\x1b[1;38;2;143;203;155;48;2;22;48;31m+ \x1b[m\x1b[38;2;230;228;223;48;2;22;48;31ma := b(\x1b[m" +
			"\x1b[38;2;230;228;223;48;2;31;81;50md\x1b[m\x1b[38;2;230;228;223;48;2;22;48;31m)" + strings.Repeat(" ", 24) + "\x1b[m"},
		"256 colors": {theme.Dark().Indexed(), "\x1b[38;5;255;48;5;22m  41 \x1b[m\x1b[1;38;5;255;48;5;22m+ \x1b[m\x1b[38;5;114ma := b(\x1b[m\x1b[1;4;38;5;114;4md\x1b[m\x1b[38;5;114m)\x1b[m"},
		"none":       {theme.Plain(), "\x1b[2m  41 \x1b[m\x1b[1m+ \x1b[ma := b(\x1b[1;4;4md\x1b[m)"},
	} {
		lines := d.Render(diffview.View{Styles: diffview.NewStyles(tt.theme), Width: 40}, d.Len())
		if got := lines[1]; got != tt.want {
			t.Errorf("%s: %q\nwant %q", name, got, tt.want)
		}
	}
}
