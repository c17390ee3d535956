package common

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// A row that fits by estimate also fits when measured.
func TestFits(t *testing.T) {
	for r := rune(' '); r < 0x30000; r++ {
		if r >= 0xd800 && r < 0xe000 || r == 0x1b {
			continue
		}
		row := string(r) + "\ufe0f" // wide if it can be an emoji
		for _, row := range []string{string(r), row, "a" + row} {
			if w := ansi.StringWidth(row); w > 0 && fits(row, w-1) {
				t.Errorf("%q of %d cells fits into %d", row, w, w-1)
			}
		}
	}
	for _, row := range []string{"demo · 3k", "› hi…", "∙ Working · 3 s", "\x1b[38;2;1;2;3m────\x1b[m", ""} {
		if w := ansi.StringWidth(row); !fits(row, w) {
			t.Errorf("%q of %d cells is measured", row, w)
		}
	}
}
