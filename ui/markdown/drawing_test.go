package markdown

import (
	"strings"
	"testing"

	"parley/ui/theme"
)

// A code block in a language with drawings is drawn once it is closed, where the drawing fits, on screens that copy the source.
func TestDrawings(t *testing.T) {
	Drawings["drawn"] = func(source string, width int) []string {
		if width < 10 {
			return nil
		}
		return []string{"┌───┐", strings.TrimSpace(source)}
	}
	defer delete(Drawings, "drawn")
	for _, tt := range []struct {
		name, text string
		width      int
		marked     bool
		want       string
	}{
		{"closed", "```drawn\nx\n```\n\nafter", 20, true, "▏ ┌───┐\n▏ x\n\nafter"},
		{"closed at the end", "```drawn\nx\n```", 20, true, "▏ ┌───┐\n▏ x"},
		{"in a list", "- a\n  ~~~ drawn\n  x\n  ~~~\n", 20, true, "• a\n  ▏ ┌───┐\n  ▏ x"},
		{"open", "```drawn\nx\n", 20, true, "▏ drawn\n▏ x"},
		{"open in a list", "- a\n  ```drawn\n  x\n", 20, true, "• a\n  ▏ drawn\n  ▏ x"},
		{"too wide", "```drawn\nx\n```\n", 11, true, "▏ drawn\n▏ x"},
		{"too wide, first in a list", "- ```drawn\n  x\n  ```\n", 13, true, "• ▏ drawn\n  ▏ x"},
		{"copied as it is shown", "```drawn\nx\n```\n", 20, false, "  drawn\n  x"},
		{"another language", "```go\nx\n```\n", 20, true, "▏ go\n▏ x"},
	} {
		for _, step := range []int{1, len(tt.text)} {
			d := New(theme.Plain())
			if tt.marked {
				d.MarkCode()
			}
			for rest := tt.text; rest != ""; rest = rest[min(step, len(rest)):] {
				d.append(rest[:min(step, len(rest))])
				d.Lines(tt.width)
			}
			d.Finish()
			if got := sgr(strings.Join(d.Lines(tt.width), "\n")); got != tt.want {
				t.Errorf("%s, %d bytes at once:\n%s\nwant\n%s", tt.name, step, got, tt.want)
			}
			if code := d.Code(); len(code) != 1 || code[0].Text != "x\n" {
				t.Errorf("%s: code %+v", tt.name, code)
			}
		}
	}
}
