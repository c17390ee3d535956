package textwrap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/uitest"
)

func TestLine(t *testing.T) {
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
		{"spaces at the end that fit", "日  ", 4, []string{"日  "}},
		{"wide characters", "日本語", 4, []string{"日本", "語"}},
		{"wider than the line", "日本", 1, []string{"日", "本"}},
		{"a cluster stays whole", "ae\u0301e\u0301", 2, []string{"ae\u0301", "e\u0301"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := textwrap.Line(nil, c.in, c.width)
			if !slices.Equal(got, c.want) {
				t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
			}
			if glue(got) != glue([]string{c.in}) {
				t.Errorf("Line(%q, %d) = %q lost something", c.in, c.width, got)
			}
		})
	}
}

// glue joins lines without their spaces.
func glue(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, ""), " ", "")
}

// Measuring agrees with x/ansi. No line is wider than requested, and no
// character is lost.
func FuzzLines(f *testing.F) {
	for _, s := range uitest.Hostile(100) {
		f.Add(s, 7)
	}
	f.Add("\x1b[1mbold\x1b[m ─── … é e\u0301 ☁\ufe0f 1\ufe0f\u20e3 ↔\ufe0f", 3)
	f.Add("\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\ \x1b]8;;u\aL\x1b]8;;\a", 4)
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width < 2 || width > 200 || len(s) > 4000 {
			t.Skip()
		}
		s = sanitize.Line(s)
		if got, want := textwrap.Width(s), ansi.StringWidth(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
		for rest := s; rest != ""; {
			n, cells := textwrap.Fit(rest, width)
			if n == 0 || cells > width || cells != ansi.StringWidth(rest[:n]) {
				t.Fatalf("Fit(%q, %d) = %d, %d", rest, width, n, cells)
			}
			char, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
			if size, cells := textwrap.Cluster(rest); size != len(char) || cells != ansi.StringWidth(char) {
				t.Fatalf("Cluster(%q) = %d, %d, want %d, %d", rest, size, cells, len(char), ansi.StringWidth(char))
			}
			rest = rest[n:]
		}
		lines := textwrap.Line(nil, s, width)
		for _, line := range append(lines, textwrap.Truncate(s, width)) {
			if w := ansi.StringWidth(line); w > width {
				t.Errorf("a row of Line or Truncate(%q, %d) has %d cells: %q", s, width, w, line)
			}
		}
		if glue(lines) != glue([]string{s}) {
			t.Errorf("Line(%q, %d) = %q lost something", s, width, lines)
		}
	})
}

// Each row of a quote has the mark; text around it is broken as usual.
func TestQuoted(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two\n> three four\n>five six\n\n> ", 8, "one two|> three|> four|>five|six||> "},
		{"> one\ttwo", 9, "> one|> two"},
		{"> ab", 1, "> a|> b"},
		{"> ab", 0, "> a|> b"},
		{"", 5, ""},
	} {
		if got := strings.Join(textwrap.Quoted(c.text, "> ", c.width), "|"); got != c.want {
			t.Errorf("%q in %d cells: got %s, want %s", c.text, c.width, got, c.want)
		}
	}
}

func TestWidthOfOurSequences(t *testing.T) {
	for _, s := range []string{
		"\x1b[1mbold\x1b[m", "\x1b[38;2;1;2;3mx\x1b[0m…", "\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\", "\x1b]8;;u\aL\x1b]8;;\a",
		"e\u0301\x1b[1m\u0301", "─│┃▎", "☁\ufe0f", "1\ufe0f\u20e3", "日本", "é", "\x1b[", "\x1b",
	} {
		if got, want := textwrap.Width(s), ansi.StringWidth(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCluster(t *testing.T) {
	for in, want := range map[string][2]int{"": {0, 0}, "ab": {1, 1}, "é!": {2, 1}, "e\u0301!": {3, 1}, "日本": {3, 2}, "👩\u200d🚒!": {11, 2}, "\u0301a": {2, 0}} {
		if size, width := textwrap.Cluster(in); size != want[0] || width != want[1] {
			t.Errorf("Cluster(%q) = %d, %d, want %v", in, size, width, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in          string
		width       int
		size, cells int
	}{
		{"abc", 5, 3, 3}, {"abc", 2, 2, 2}, {"abc", 0, 1, 1}, {"日本", 3, 3, 2}, {"日本", 1, 3, 2}, {"ae\u0301b", 2, 4, 2}, {"", 3, 0, 0}, {"—é…", 2, 5, 2},
	} {
		if size, cells := textwrap.Fit(c.in, c.width); size != c.size || cells != c.cells {
			t.Errorf("Fit(%q, %d) = %d, %d, want %d, %d", c.in, c.width, size, cells, c.size, c.cells)
		}
	}
}

func TestLines(t *testing.T) {
	got := textwrap.Lines("one two\n\nthree\n", 5)
	if want := []string{"one", "two", "", "three", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTrimLast(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "", "ab": "a", "ae\u0301": "a", "日本": "日", "a👩\u200d🚒": "a"} {
		if got := textwrap.TrimLast(in); got != want {
			t.Errorf("TrimLast(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestExpandTabs(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a b": "a b", "\t": "    ", "\tx\t": "    x   ", "abc\tx": "abc x", "abcd\tx": "abcd    x", "日\tx": "日  x",
		"a\t\tb": "a       b", "日本\tx\ty": "日本    x   y",
	} {
		if got := textwrap.ExpandTabs(in, 4); got != want {
			t.Errorf("ExpandTabs(%q, 4) = %q, want %q", in, got, want)
		}
	}
}

// Truncated text ends with an ellipsis, and no further character fits before it.
func TestTruncate(t *testing.T) {
	clusters := []string{"a", " ", "日", "e\u0301", "—"}
	texts := []string{""}
	for begin := 0; len(texts) < 4000; begin++ {
		for _, c := range clusters {
			texts = append(texts, texts[begin]+c)
		}
	}
	for _, s := range texts {
		for width := range 6 {
			want := s
			if ansi.StringWidth(s) > width {
				for want != "" && ansi.StringWidth(want) >= width {
					want = textwrap.TrimLast(want)
				}
				if width > 0 {
					want += textwrap.Ellipsis
				}
			}
			if got := textwrap.Truncate(s, width); got != want {
				t.Errorf("Truncate(%q, %d) = %q, want %q", s, width, got, want)
			}
			if got := textwrap.TruncateStyled(s, width); got != want {
				t.Errorf("TruncateStyled(%q, %d) = %q, want %q", s, width, got, want)
			}
			red, off := "\x1b[31m", "\x1b[m"
			if got := textwrap.TruncateStyled(red+s+off, width); ansi.Strip(got) != want {
				t.Errorf("TruncateStyled(%q, %d) = %q, want %q in red", red+s+off, width, got, want)
			}
		}
	}
}

// Each character has the width that x/ansi says, alone and between others.
func TestWidthOfCharacters(t *testing.T) {
	for r := rune(0xa0); r < 0x2600; r++ {
		if r == 0x370 {
			r = 0x2000
		}
		for _, s := range []string{string(r), "a" + string(r), string(r) + "\u0301", string(r) + "日", "—" + string(r) + "—"} {
			if got, want := textwrap.Width(s), ansi.StringWidth(s); got != want {
				t.Fatalf("Width(%q) = %d, want %d", s, got, want)
			}
			if size, width := textwrap.Cluster(s); width != ansi.StringWidth(s[:size]) {
				t.Fatalf("Cluster(%q) = %d, %d, want %d cells", s, size, width, ansi.StringWidth(s[:size]))
			}
		}
	}
}

func TestSequenceLen(t *testing.T) {
	for _, s := range []string{"\x1b", "\x1b7", "\x1b[m", "\x1b[1;31m", "\x1b[@", "\x1b[5~", "\x1b[12", "\x1b]8;;u\a", "\x1b]8;;u\x1b\\", "\x1b]8;;u", "\x1b]8;;u\x1b"} {
		more := s
		if strings.HasSuffix(s, "m") || strings.HasSuffix(s, "@") || strings.HasSuffix(s, "~") || strings.HasSuffix(s, "\a") || strings.HasSuffix(s, "\\") || s == "\x1b7" {
			more += "text~"
		}
		if got := textwrap.SequenceLen(more); got != len(s) {
			t.Errorf("SequenceLen(%q) = %d, want %d", more, got, len(s))
		}
	}
}
