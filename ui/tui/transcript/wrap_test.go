package transcript

import (
	"slices"
	"strings"
	"testing"

	"parley/ui/textwrap"
)

func TestFolds(t *testing.T) {
	const five = "one\ntwo\nthree\nfour\nfive"
	for _, c := range []struct {
		name string
		lay  func(string, int, int) ([]string, int)
		in   string
		n    int
		want string
		left int
	}{
		{"all of it", firstLines, five, 5, "one|two|three|four|five", 0},
		{"the head", firstLines, five, 2, "one|two", 3},
		{"the head but one", firstLines, five, 4, "one|two|three|four", 1},
		{"the tail", lastLines, five, 2, "four|five", 3},
		{"the tail but one", lastLines, five, 4, "two|three|four|five", 1},
		{"the whole tail", lastLines, five, 9, "one|two|three|four|five", 0},
		{"lines are cut in a head", firstLines, "0123456789abc", 2, "012345678…", 0},
		{"lines are wrapped in a flow", wrapText, "0123456789abc\nx\ny", 3, "0123456789|abc|x", 1},
		{"a flow ends within a line", wrapText, "0123456789abc\nx\ny", 1, "0123456789", 3},
		{"a flow that fits", wrapText, five, 5, "one|two|three|four|five", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, left := c.lay(c.in, 10, c.n)
			if got := strings.Join(lines, "|"); got != c.want || left != c.left {
				t.Errorf("got %q and %d left, want %q and %d", got, left, c.want, c.left)
			}
		})
	}
}

func TestUntab(t *testing.T) {
	for in, want := range map[string]string{
		"no tabs": "no tabs", "\tx": "        x", "ab\tx": "ab      x", "12345678\tx": "12345678        x", "日\tx": "日      x",
	} {
		if got := textwrap.ExpandTabs(in, 8); got != want {
			t.Errorf("untab(%q) = %q, want %q", in, got, want)
		}
	}
}

// A footer and a hint break after their dots, and keep numbers with their units. Only a part wider
// than a line is broken.
func TestRows(t *testing.T) {
	const footer = "demo/parley · 499 in · 17 out · 32 tok/s"
	tests := []struct {
		width int
		want  []string
	}{
		{80, []string{footer}},
		{25, []string{"demo/parley · 499 in ·", "17 out · 32 tok/s"}},
		{13, []string{"demo/parley ·", "499 in ·", "17 out ·", "32 tok/s"}},
		{8, []string{"demo/par", "ley ·", "499 in ·", "17 out ·", "32 tok/s"}},
	}
	for _, test := range tests {
		if got := breakAtDots(footer, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%d cells: got %q, want %q", test.width, got, test.want)
		}
	}
}
