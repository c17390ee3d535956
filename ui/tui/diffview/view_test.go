package diffview_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"parley/ui/markdown"
	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

// plain returns lines in the theme without colors, with changed words in brackets.
func plain(lines []string) []string {
	emphasized, sequence := regexp.MustCompile("\x1b\\[1;4;4m(.*?)\x1b\\[m"), regexp.MustCompile("\x1b\\[[0-9;]*m")
	var all []string
	for _, line := range lines {
		all = append(all, sequence.ReplaceAllString(emphasized.ReplaceAllString(line, "[$1]"), ""))
	}
	return all
}

func view(width int, wrap bool) diffview.View {
	return diffview.View{Styles: diffview.NewStyles(theme.Plain()), Width: width, Wrap: wrap}
}

const twoPlaces = "--- a/x.go\n+++ b/x.go\n@@ -8,4 +8,4 @@\n one\n-return a, b\n-gone\n+return a, c\n+x\n last\n@@ -99,1 +99,1 @@\n-\tf(1)\n\\ No newline at end of file\n+\tf(2)\n"

func TestRender(t *testing.T) {
	half := func(left, right string) string {
		brackets := 2 * strings.Count(left, "[")
		return left + strings.Repeat(" ", 59+brackets-lipgloss.Width(left)) + "│" + right
	}

	for _, tt := range []struct {
		name, diff string
		view       diffview.View
		want       []string
	}{
		{"a wide window has an indentation", twoPlaces, view(40, false), []string{
			"   8   one", "   9 - return a, [b]", "  10 - gone", "   9 + return a, [c]", "  10 + x", "  11   last", "     ⋯", "  99 -     f(1)", `     \ No newline at end of file`, "  99 +     f(2)",
		}},
		{"a narrow one has none", twoPlaces, view(39, false), []string{
			" 8   one", " 9 - return a, [b]", "10 - gone", " 9 + return a, [c]", "10 + x", "11   last", "   ⋯", "99 -     f(1)", `   \ No newline at end of file`, "99 +     f(2)",
		}},
		{"long lines are truncated", twoPlaces, view(14, false), []string{
			" 8   one", " 9 - return a…", "10 - gone", " 9 + return a…", "10 + x", "11   last", "   ⋯", "99 -     f(1)", `   \ No newl…`, "99 +     f(2)",
		}},
		{"or wrap", twoPlaces, view(14, true), []string{
			" 8   one", " 9 - return a,", "   ↪ [b]", "10 - gone", " 9 + return a,", "   ↪ [c]", "10 + x", "11   last", "   ⋯", "99 -     f(1)", `   \ No`, "   newline at", "   end of", "   file", "99 +     f(2)",
		}},
		{"no room for text", twoPlaces, view(5, true), []string{
			" one", "-ret…", "-gone", "+ret…", "+x", " last", "   ⋯", "-   …", `   \`, "   N", "   o", "   n", "   e", "   w", "   l", "   i", "   n", "   e", "   a", "   t", "   e", "   n", "   d", "   o", "   f", "   f", "   i", "   l", "   e", "+   …",
		}},
		{"too narrow for two sides", twoPlaces, view(119, false), []string{
			"   8   one", "   9 - return a, [b]", "  10 - gone", "   9 + return a, [c]", "  10 + x", "  11   last", "     ⋯", "  99 -     f(1)", `     \ No newline at end of file`, "  99 +     f(2)",
		}},
		{"two sides", twoPlaces, view(120, false), []string{
			half("   8   one", "    8   one"), half("   9 - return a, [b]", "    9 + return a, [c]"), half("  10 - gone", "   10 + x"), half("  11   last", "   11   last"),
			"     ⋯", half("  99 -     f(1)", ""), `     \ No newline at end of file`, half("", "   99 +     f(2)"),
		}},
		{"each side has its own numbers", "@@ -1,3 +8,2 @@\n-a\n-b\n c\n+d\n", view(120, false), []string{
			half("  1 - a", ""), half("  2 - b", ""), half("  3   c", "   8   c"), half("", "   9 + d"),
		}},
		{"paired lines are at the same height", "@@ -1,3 +1,4 @@\n-one\n-f(a)\n-three\n+new\n+newer\n+f(b)\n+end\n", view(120, false), []string{
			half("  1 - one", "   1 + new"), half("", "   2 + newer"), half("  2 - f([a])", "   3 + f([b])"), half("  3 - three", "   4 + end"),
		}},
		{"removed before its pair", "@@ -1,3 +1,1 @@\n-one\n-two\n-f(a)\n+f(b)\n", view(120, false), []string{
			half("  1 - one", ""), half("  2 - two", ""), half("  3 - f([a])", "   1 + f([b])"),
		}},
		{"a line is compared with four others", "@@ -1,1 +1,4 @@\n-f(a)\n+1\n+2\n+3\n+f(b)\n", view(50, false), []string{
			"  1 - f([a])", "  1 + 1", "  2 + 2", "  3 + 3", "  4 + f([b])",
		}},
		{"and not with the fifth", "@@ -1,1 +1,5 @@\n-f(a)\n+1\n+2\n+3\n+4\n+f(b)\n", view(50, false), []string{
			"  1 - f(a)", "  1 + 1", "  2 + 2", "  3 + 3", "  4 + 4", "  5 + f(b)",
		}},
		{"a line is paired once, in order", "@@ -1,2 +1,2 @@\n-f(a)\n-f(b)\n+f(c)\n+f(d)\n", view(50, false), []string{
			"  1 - f([a])", "  2 - f([b])", "  1 + f([c])", "  2 + f([d])",
		}},
		{"one side is higher", "@@ -1 +1 @@\n-a\n+" + strings.Repeat("b", 60) + "\n", view(120, true), []string{
			half("  1 - a", "   1 + "+strings.Repeat("b", 53)), half("", "     ↪ "+strings.Repeat("b", 7)),
		}},
		{"nothing was removed", "@@ -1,1 +1,2 @@\n a\n+b\n", view(120, false), []string{"  1   a", "  2 + b"}},
		{"two files", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n b\n", view(50, false), []string{"    x", "  1   a", "    y", "  1   b"}},
	} {
		d := diffview.Read(tt.diff, 0)
		if got := plain(d.Render(tt.view, d.Len())); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// Rows are those of Render below each other, also in a wide window.
func TestRows(t *testing.T) {
	d := diffview.Read(twoPlaces, 0)
	if got, want := slices.Concat(d.Rows(view(200, true))...), d.Render(view(119, true), 100); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := d.Rows(view(14, true)); len(got) != d.Len() || len(got[1]) != 2 {
		t.Errorf("got %q, want two rows for the second line", got)
	}
	if got := plain(d.Render(view(40, false), 2)); !slices.Equal(got, []string{"  8   one", "  9 - return a, b"}) {
		t.Errorf("the first two lines: %q", got)
	}
}

func TestRead(t *testing.T) {
	for limit, want := range map[int]diffview.Diff{
		0:  {File: "x.go", Added: 3, Removed: 3},
		11: {File: "x.go", Added: 3, Removed: 3},
		3:  {File: "x.go", Added: 3, Removed: 3, Dropped: 8},
	} {
		d := diffview.Read(twoPlaces, limit)
		if d.File != want.File || d.Added != want.Added || d.Removed != want.Removed || d.Dropped != want.Dropped || d.Len() != 10-want.Dropped {
			t.Errorf("at most %d: got %+v of %d lines, want %+v", limit, d, d.Len(), want)
		}
	}
	d := diffview.Read(twoPlaces, 3)
	if got, want := d.Texts([]string{"before"}), []string{"before", "one", "return a, b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got the texts %q, want %q", got, want)
	}
	for width, want := range map[int]bool{119: false, 120: true} {
		if added := diffview.Read("@@ -0,0 +1 @@\n+a\n", 0); d.IsSplit(width) != want || added.IsSplit(width) {
			t.Errorf("%d cells: split %v, and without removed lines %v", width, d.IsSplit(width), added.IsSplit(width))
		}
	}
}

// Only the beginning of a truncated line is read, in whole characters.
func TestVisible(t *testing.T) {
	most := strings.Repeat("x", diffview.MaxClipBytes)
	for _, tt := range []struct {
		name, text string
		wraps      bool
		want       string
	}{
		{"short", "é", false, "é"},
		{"just visible", most, false, most},
		{"too long", most + "y", false, most},
		{"within a character", most[1:] + "é", false, most[1:]},
		{"it wraps", most + "y", true, most + "y"},
	} {
		if got := diffview.Visible(tt.text, tt.wraps); got != tt.want {
			t.Errorf("%s: got %d bytes, want %d", tt.name, len(got), len(tt.want))
		}
	}
}

func TestLine(t *testing.T) {
	long := "// " + strings.Repeat("x", 2<<10)
	th := theme.Dark()
	for _, tt := range []struct {
		name           string
		sign           byte
		number, digits int
		text           string
		want           string
		colored        bool // as a comment
	}{
		{"a number", ' ', 7, 3, "\tx", "    7       x", false},
		{"a removed line", '-', 7, 1, "x", "  7 - x", false},
		{"no number yet", '+', 0, 2, "x", "     + x", false},
		{"no numbers", ' ', 7, 0, "xyz", "    xyz", false},
		{"a comment", ' ', 7, 1, "// x", "  7   // x", true},
		{"the longest that has colors", ' ', 7, 1, long[:2<<10], "  7   " + long[:33] + "…", true},
		{"longer", ' ', 7, 1, long[:2<<10+1], "  7   " + long[:33] + "…", false},
	} {
		if got := plain(view(40, false).Line([]string{"before"}, tt.sign, tt.number, tt.digits, tt.text, nil)); !slices.Equal(got, []string{"before", tt.want}) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		lines := diffview.View{Styles: diffview.NewStyles(th), Width: 40}.Line(nil, tt.sign, tt.number, tt.digits, tt.text, markdown.NewScanner("x.go"))
		comment := th.Syntax.Comment.Render(strings.TrimSuffix(tt.want[6:], "…"))
		if got := strings.Contains(lines[0], comment); got != tt.colored {
			t.Errorf("%s: %q has the color of comments: %v, want %v", tt.name, lines[0], got, tt.colored)
		}
	}
}

// Each side has the colors of its own file. A gap or another file begins anew.
func TestLanguage(t *testing.T) {
	th := theme.Dark()
	comment := func(text string) string { return th.Syntax.Comment.Render(text) }
	d := diffview.Read("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n // text\n--- a/x.go\n+++ b/x.go\n@@ -1,4 +1,2 @@\n-/*\n-was\n+is\n both\n-more\n@@ -9,3 +9,4 @@\n \n+/*\n+is\n both\n-was\n@@ -20,1 +20,1 @@\n after\n", 0)
	lines := d.Render(diffview.View{Styles: diffview.NewStyles(th), Width: 40}, d.Len())
	texts := d.Texts(nil)
	removed, added := th.Syntax.Comment.Background(th.Diff.Removed.GetBackground()), th.Syntax.Comment.Background(th.Diff.Added.GetBackground())
	var got []string
	for i, line := range lines {
		if text := texts[i]; text != "" && (strings.Contains(line, comment(text)) || strings.Contains(line, removed.Render(text)) || strings.Contains(line, added.Render(text))) {
			got = append(got, text)
		}
	}
	if want := []string{"/*", "was", "more", "/*", "is", "both"}; !slices.Equal(got, want) {
		t.Errorf("comments of %q are %q, want %q", texts, got, want)
	}
}

// With 24 bits a changed line has a tint from its number to its end, and changed words a stronger
// one. With 256 colors, on a dark background, only number and sign are tinted. With fewer, the code has the
// color of its side.
func TestTints(t *testing.T) {
	d := diffview.Read("@@ -41,2 +41,2 @@\n f\n-a := b(c)\n+a := b(d)\n\\ No newline\n", 0)
	for name, tt := range map[string]struct {
		theme *theme.Theme
		want  []string
	}{
		"24 bits": {theme.Dark(), []string{
			"\x1b[38;2;122;126;135m  41 \x1b[m\x1b[38;2;166;168;174m  \x1b[m\x1b[38;2;230;228;223mf\x1b[m",
			"\x1b[38;2;122;126;135;48;2;59;28;34m  42 \x1b[m\x1b[1;38;2;242;117;124;48;2;59;28;34m- \x1b[m\x1b[38;2;230;228;223;48;2;59;28;34ma := b(\x1b[m\x1b[38;2;230;228;223;48;2;107;42;53mc\x1b[m\x1b[38;2;230;228;223;48;2;59;28;34m)" + strings.Repeat(" ", 24) + "\x1b[m",
			"\x1b[38;2;122;126;135;48;2;22;48;31m  42 \x1b[m\x1b[1;38;2;143;203;155;48;2;22;48;31m+ \x1b[m\x1b[38;2;230;228;223;48;2;22;48;31ma := b(\x1b[m\x1b[38;2;230;228;223;48;2;31;81;50md\x1b[m\x1b[38;2;230;228;223;48;2;22;48;31m)" + strings.Repeat(" ", 24) + "\x1b[m",
			"\x1b[38;2;122;126;135m     \\ No newline\x1b[m",
		}},
		"256 colors": {theme.Dark().Indexed(), []string{
			"\x1b[38;5;244m  41 \x1b[m\x1b[38;5;248m  \x1b[m\x1b[38;5;254mf\x1b[m",
			"\x1b[38;5;255;48;5;52m  42 \x1b[m\x1b[1;38;5;255;48;5;52m- \x1b[m\x1b[38;5;203ma := b(\x1b[m\x1b[1;4;38;5;203;4mc\x1b[m\x1b[38;5;203m)\x1b[m",
			"\x1b[38;5;255;48;5;22m  42 \x1b[m\x1b[1;38;5;255;48;5;22m+ \x1b[m\x1b[38;5;114ma := b(\x1b[m\x1b[1;4;38;5;114;4md\x1b[m\x1b[38;5;114m)\x1b[m",
			"\x1b[38;5;244m     \\ No newline\x1b[m",
		}},
		"16 colors": {theme.Dark().Basic(), []string{
			"\x1b[2m  41   \x1b[mf",
			"\x1b[2m  42 \x1b[m\x1b[1;31m- \x1b[m\x1b[31ma := b(\x1b[m\x1b[1;4;31;4mc\x1b[m\x1b[31m)\x1b[m",
			"\x1b[2m  42 \x1b[m\x1b[1;32m+ \x1b[m\x1b[32ma := b(\x1b[m\x1b[1;4;32;4md\x1b[m\x1b[32m)\x1b[m",
			"\x1b[2m     \\ No newline\x1b[m",
		}},
		"none": {theme.Plain(), []string{
			"\x1b[2m  41   \x1b[mf",
			"\x1b[2m  42 \x1b[m\x1b[1m- \x1b[ma := b(\x1b[1;4;4mc\x1b[m)",
			"\x1b[2m  42 \x1b[m\x1b[1m+ \x1b[ma := b(\x1b[1;4;4md\x1b[m)",
			"\x1b[2m     \\ No newline\x1b[m",
		}},
	} {
		if got := d.Render(diffview.View{Styles: diffview.NewStyles(tt.theme), Width: 40}, d.Len()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, tt.want)
		}
	}
}
