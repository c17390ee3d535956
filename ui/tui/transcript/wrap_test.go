package transcript

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"nothing", "", 5, []string{""}},
		{"short", "a b", 5, []string{"a b"}},
		{"at a space", "one two three", 8, []string{"one two", "three"}},
		{"a word that just fits", "one two", 3, []string{"one", "two"}},
		{"many spaces vanish at the edge", "one     two", 5, []string{"one", "two"}},
		{"and stay within", "a  b  c", 20, []string{"a  b  c"}},
		{"a long word is cut", "abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"after a short one", "ab cdefgh", 4, []string{"ab", "cdef", "gh"}},
		{"indentation stays", "    one two", 8, []string{"    one", "two"}},
		{"indentation wider than the line", "      one", 4, []string{"    ", "  on", "e"}},
		{"spaces at the end", "abc    ", 4, []string{"abc"}},
		{"wide characters", "日本語", 4, []string{"日本", "語"}},
		{"wider than the line", "日本", 1, []string{"日", "本"}},
		{"a cluster stays whole", "ae\u0301e\u0301", 2, []string{"ae\u0301", "e\u0301"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := wrapLine(nil, c.in, c.width)
			if !slices.Equal(got, c.want) {
				t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
			}
			if glue(got) != glue([]string{c.in}) {
				t.Errorf("wrap(%q, %d) = %q lost something", c.in, c.width, got)
			}
		})
	}
}

// glue joins lines without their spaces.
func glue(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, ""), " ", "")
}

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
		if got := expandTabs(in, 8); got != want {
			t.Errorf("untab(%q) = %q, want %q", in, got, want)
		}
	}
}

// Measuring agrees with x/ansi, and no line is wider than asked for or loses a
// character.
func FuzzLines(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, 7)
	}
	f.Add("\x1b[1mbold\x1b[m ─── … é e\u0301 ☁\ufe0f 1\ufe0f\u20e3 ↔\ufe0f", 3)
	f.Add("\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\ \x1b]8;;u\aL\x1b]8;;\a", 4)
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width < 2 || width > 200 || len(s) > 4000 {
			t.Skip()
		}
		s = sanitize.Line(s)
		if got, want := cells(s), ansi.StringWidth(s); got != want {
			t.Errorf("cells(%q) = %d, want %d", s, got, want)
		}
		lines := wrapLine(nil, s, width)
		for _, line := range append(lines, truncate(s, width)) {
			if w := ansi.StringWidth(line); w > width {
				t.Errorf("a line of wrap or clip(%q, %d) has %d cells: %q", s, width, w, line)
			}
		}
		if glue(lines) != glue([]string{s}) {
			t.Errorf("wrap(%q, %d) = %q lost something", s, width, lines)
		}
	})
}

func TestCellsOfOurSequences(t *testing.T) {
	for _, s := range []string{
		"\x1b[1mbold\x1b[m", "\x1b[38;2;1;2;3mx\x1b[0m…", "\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\", "\x1b]8;;u\aL\x1b]8;;\a",
		"e\u0301\x1b[1m\u0301", "─│┃▎", "☁\ufe0f", "1\ufe0f\u20e3", "日本", "é", "\x1b[", "\x1b",
	} {
		if got, want := cells(s), ansi.StringWidth(s); got != want {
			t.Errorf("cells(%q) = %d, want %d", s, got, want)
		}
	}
}

// A footer breaks behind its dots, and tears no number from its unit.
func TestRows(t *testing.T) {
	const footer = "demo/parley · 499 in · 17 out · 32 tok/s"
	tests := []struct {
		width int
		want  []string
	}{
		{80, []string{footer}},
		{25, []string{"demo/parley · 499 in ·", "17 out · 32 tok/s"}},
		{13, []string{"demo/parley ·", "499 in ·", "17 out ·", "32 tok/s"}},
		{8, nil},
	}
	for _, test := range tests {
		if got := breakAtDots(footer, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%d cells: got %q, want %q", test.width, got, test.want)
		}
	}
}
