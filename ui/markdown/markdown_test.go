// testdata/*.golden hold the expected rendering. go test ./ui/markdown -update rewrites
// them. Read the diff.

package markdown

import (
	"bytes"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llmtest"
	"parley/tools/sanitize"
	"parley/ui/theme"
)

var update = flag.Bool("update", false, "write the golden files anew")

func showcase(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "showcase.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		theme *theme.Theme
		width int
	}{{theme.Dark(), 80}, {theme.Dark(), 50}, {theme.Light(), 80}, {theme.Plain(), 80}, {theme.Plain(), 50}} {
		name := tt.theme.Name + "-" + strconv.Itoa(tt.width) + ".golden"
		t.Run(name, func(t *testing.T) {
			got := Render(showcase(t), tt.width, tt.theme) + "\n"
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal([]byte(got), want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestStreamedEqualsWhole verifies the central property of the package.
func TestStreamedEqualsWhole(t *testing.T) {
	texts := map[string]string{"showcase": showcase(t)}
	for name, text := range awkward {
		texts[name] = text
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(awkward)) {
		all.WriteString(awkward[name] + "\n\n")
	}
	texts["everything"] = all.String()
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			if len(text) > 2000 {
				checkStream(t, text, 24, 97)
				return
			}
			for _, at := range []struct{ width, step int }{{24, 1}, {1, 17}, {7, 6}, {500, 40}} {
				if llmtest.Race && at.step < 10 {
					continue
				}
				checkStream(t, text, at.width, at.step)
			}
			checkResized(t, text, 24, 11)
		})
	}
}

func TestDeepTextsStreamLikeWhole(t *testing.T) {
	for name, text := range deep(maxTail + maxTail/4) {
		t.Run(name, func(t *testing.T) {
			checkStream(t, text, 60, 700)
			if long || name == "long prose" || name == "quote" {
				checkResized(t, text, 60, 200)
			}
		})
	}
	if llmtest.Race {
		return
	}
	texts := deep(9 * windowSize / 4) // some of these are cut into parts
	for _, name := range []string{
		"words", "long cjk", "wide later", "records", "one item", "long code", "links",
	} {
		t.Run("long "+name, func(t *testing.T) { checkStream(t, texts[name], 60, windowSize+7) })
	}
}

// TestPartsStreamLikeWhole cuts blocks of only a few lines into parts.
func TestPartsStreamLikeWhole(t *testing.T) {
	texts := map[string]string{"showcase": showcase(t)}
	for name, text := range awkward {
		texts[name] = text
	}
	for name, text := range deep(1 << 10) {
		texts["deep "+name] = text
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			for _, at := range []struct{ window, width, step int }{{32, 24, 5}, {100, 40, 41}, {300, 60, 1000}} {
				if llmtest.Race && at.window < 300 {
					continue
				}
				checkParts(t, text, at.width, at.step+len(text)/400, at.window)
			}
		})
	}
}

// TestMixedLinesStreamLikeWhole shuffles the lines of all awkward texts.
func TestMixedLinesStreamLikeWhole(t *testing.T) {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(awkward)) {
		if text := awkward[name]; len(text) < 500 {
			lines = slices.AppendSeq(lines, strings.Lines(text))
		}
	}
	inset := []string{"", "", "", "", " ", "   ", "    ", "> ", "- ", "1. ", "\t"}
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 200
	switch {
	case long:
		rounds = 2000
	case llmtest.Race:
		rounds = 20
	}
	for range rounds {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(inset[random.IntN(len(inset))])
			b.WriteString(strings.TrimRight(lines[random.IntN(len(lines))], "\n"))
			b.WriteString("\n\n"[random.IntN(2):])
		}
		checkStream(t, b.String(), 1+random.IntN(60), 1+random.IntN(20))
		checkParts(t, b.String(), 1+random.IntN(60), 1+random.IntN(20), 16+random.IntN(60))
		checkResized(t, b.String(), 1+random.IntN(60), 1+random.IntN(20))
	}
}

func clip(s string) string { return s[:min(len(s), 300)] }

// checkLines verifies the guarantees of every rendering for lines, except those
// in seen.
func checkLines(t *testing.T, lines []string, width int, seen map[string]bool) {
	t.Helper()
	for i, line := range lines {
		if seen[line] {
			continue
		}
		seen[line] = true
		if w := ansi.StringWidth(line); w > width {
			t.Fatalf("line %d is %d cells wide, more than %d: %q", i, w, width, line)
		}
		bare := sgr(line)
		if clean := sanitize.Line(bare); clean != bare {
			t.Fatalf("line %d holds %q", i, line)
		}
	}
	if n := len(lines); n > 0 && lines[n-1] == "" {
		t.Fatalf("trailing blank line in %q", lines)
	}
}

// sgr removes the sequences that parley writes from a line: CSI, digits and
// separators, m.
func sgr(line string) string {
	for {
		i := strings.Index(line, "\x1b[")
		if i < 0 {
			return line
		}
		rest := strings.TrimLeft(line[i+2:], "0123456789;:")
		if !strings.HasPrefix(rest, "m") {
			return line
		}
		line = line[:i] + rest[1:]
	}
}

func TestPlainThemeHasNoColours(t *testing.T) {
	for _, text := range append(slices.Collect(maps.Values(awkward)), showcase(t)) {
		out := Render(text, 60, theme.Plain())
		if strings.Contains(out, "38;") && !strings.Contains(text, "38;") || strings.Contains(out, "\x1b[48") {
			t.Errorf("%q has colours: %q", clip(text), out)
		}
	}
}

func TestWhileItStreams(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"an unfinished line is shown", "Hello wor", "Hello wor"},
		{"an underline is held back", "Hello\n--", "Hello"},
		{"and decides when it ends", "Hello\n--\n", "Hello"},
		{"a marker is held back", "a\n\n- ", "a"},
		{"a number is held back", "a\n\n12", "a"},
		{"a number with its dot is held back", "a\n\n12.", "a"},
		{"a number with its bracket is held back", "a\n\n12) ", "a"},
		{"a number with its unit is shown", "a\n\n12%", "a\n\n12%"},
		{"more signs than anybody writes are shown", "a\n\n" + strings.Repeat("#", 81), "a\n\n" + strings.Repeat("#", 40) + "\n" + strings.Repeat("#", 40) + "\n#"},
		{"the second line of a table is held back", "| a | b |\n| :---: | --", "| a | b |"},
		{"a list as it comes", "- a\n- b", "• a\n• b"},
		{"an open fence", "```go\nx := 1\ny", "  go\n  x := 1\n  y"},
		{"a fence about to close", "```\nx\n``", "  x"},
		{"a code block about to begin", "a\n\n```", "a"},
		{"a table after its second line", "| a | b |\n|---|---|\n| 1 | 2", "a  b\n─  ─\n1  2"},
		{"emphasis not yet closed", "a **b", "a b"},
		{"emphasis about to begin", "a **", "a"},
		{"emphasis that closes", "a **b*", "a b"},
		{"emphasis in emphasis", "a **b *c", "a b c"},
		{"emphasis before a space", "a **b ", "a b"},
		{"code not yet closed", "a `b *c", "a `b *c`"},
		{"code about to begin", "a `", "a"},
		{"a product", "2 * 3 * 4", "2 * 3 * 4"},
		{"a name", "snake_case and __init", "snake_case and init"},
		{"what is escaped", `a \*b`, "a *b"},
		{"marks of a line that is over", "a **b\nc", "a **b\nc"},
		{"math not yet closed", `a \(x*y*z`, `a x*y*z`},
		{"math about to begin", `a \(`, "a"},
		{"math about to end", `a \(x*y*z\`, `a x*y*z`},
		{"math of several lines", "$$\na*b*c\n- d", "a*b*c − d"},
		{"math that is over", "$a*b$ and **c", "a*b and c"},
		{"an amount", "$5 and **c", "$5 and c"},
		{"bold before a letter", "**Note:**te", "Note:te"},
		{"a link not yet closed", "see [the site](https://exam", "see the site (https://exam)"},
	} {
		d := New(theme.Plain())
		for _, r := range tt.in {
			d.append(string(r))
			d.Lines(40)
		}
		if got := sgr(strings.Join(d.Lines(40), "\n")); got != tt.want {
			t.Errorf("%s: %q\n got %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// A sign that may become a marker, an underline or a fence is not shown before that is known.
func TestSignsAreHeldBack(t *testing.T) {
	for _, sign := range "-=*_+#>`~|: \t" {
		for n := range 3 {
			d := New(theme.Plain())
			d.append("a\n\n" + strings.Repeat(string(sign), n+1))
			if got := sgr(strings.Join(d.Lines(40), "\n")); got != "a" {
				t.Errorf("%q %d times: got %q", sign, n+1, got)
			}
		}
	}
}

func TestLinksHideNothing(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"[https://bank.com](https://evil.com)", "https://bank.com (https://evil.com)"},
		{"[bank](https://evil.com \"title\")", "bank (https://evil.com)"},
		{"![x](https://evil/?q=SECRET)", "image: x (https://evil/?q=SECRET)"},
		{"<https://bank.com@evil.com>", "https://bank.com@evil.com (host evil.com)"},
		{"[a](https://bank.com@evil.com)", "a (https://bank.com@evil.com) (host evil.com)"},
		{"[https://x.y](https://x.y)", "https://x.y"},
		{"[me](mailto:me@x.y) <me@x.y>", "me (mailto:me@x.y) me@x.y"},
		{"[a](javascript:alert)", "a (javascript:alert)"},
		{"[a](&#27;]8;;x)", "a (␛]8;;x)"},
		{"[](https://x.y)", "https://x.y"},
	} {
		if got := sgr(Render(tt.in, 100, theme.Dark())); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.in, got, tt.want)
		}
	}
}

func TestCode(t *testing.T) {
	d := New(theme.Dark())
	d.append("intro\n\n```go title=x\na\n\n```\n\n- item\n  ~~~\n  b\n  ~~~\n\n> ```py\n> c\n> ```\n\n```sh\nd\ne")
	want := []Code{{"go", "a\n\n", 2}, {"", "b\n", 6}, {"py", "c\n", 8}, {"sh", "d\ne", 11}}
	if got := d.Code(); !slices.Equal(got, want) {
		t.Errorf("before Lines: %+v, want %+v", got, want)
	}
	d.Lines(40)
	if got := d.Code(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// On screens, code has a bar beside it, even in the middle of a block, and wrapped lines
// have a mark.
func TestMarkCode(t *testing.T) {
	text := "a\n\n```go\nx := 1\n\n\tlonger than there is room in one row\n```\n\n- item\n\n  ```\n  y\n  ```\n"
	want := "a\n\n▏ go\n▏ x := 1\n▏\n▏     longer than\n▏ ↪ there is room in\n▏ ↪ one row\n\n• item\n\n  ▏ y"
	d := New(theme.Plain())
	d.MarkCode()
	for _, r := range text {
		d.append(string(r))
		d.Lines(22)
	}
	if got := sgr(strings.Join(d.Lines(22), "\n")); got != want {
		t.Errorf("streamed\n%s\nwant\n%s", got, want)
	}
	d.Finish()
	d.SetTheme(theme.Plain())
	if got := sgr(strings.Join(d.Lines(22), "\n")); got != want {
		t.Errorf("whole\n%s\nwant\n%s", got, want)
	}
}

// Tables may be wider than other text, streamed or whole.
func TestTableWidth(t *testing.T) {
	text := "some words that do not fit\n\n| a heading | another heading | a third |\n|---|---|---|\n| one | two | three |\n"
	want := "some words that do\nnot fit\n\na heading  another heading  a third\n─────────  ───────────────  ───────\none        two              three"
	d := New(theme.Plain())
	d.SetTableWidth(60)
	for _, r := range text {
		d.append(string(r))
		d.Lines(20)
	}
	for _, state := range []string{"streamed", "whole"} {
		if got := sgr(strings.Join(d.Lines(20), "\n")); got != want {
			t.Errorf("%s\n%s\nwant\n%s", state, got, want)
		}
		d.Finish()
	}
	if d.SetTableWidth(0); sgr(strings.Join(d.Lines(20), "\n")) == want {
		t.Error("a table keeps a width that is gone")
	}
}

// With bars as without, streamed text looks as it does in the end.
func TestMarkedStreamsLikeWhole(t *testing.T) {
	for _, text := range append(slices.Collect(maps.Values(awkward)), showcase(t)) {
		streamed, whole := New(theme.Plain()), New(theme.Plain())
		for _, d := range []*Doc{streamed, whole} {
			d.MarkCode()
		}
		for piece := range slices.Chunk([]byte(text), 7) {
			streamed.append(string(piece))
			streamed.Lines(30)
		}
		streamed.Finish()
		whole.append(text)
		whole.Finish()
		if got, want := streamed.Lines(30), whole.Lines(30); !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", clip(text), got, want)
		}
	}
}

func TestSetTheme(t *testing.T) {
	d := New(theme.Dark())
	d.append("# a\n\ntext\n\n```go\nfunc")
	d.Lines(40)
	d.SetTheme(theme.Light())
	want := New(theme.Light())
	want.append(d.Source())
	if got := d.Lines(40); !slices.Equal(got, want.Lines(40)) {
		t.Errorf("got %q, want %q", got, want.Lines(40))
	}
}

func TestNothingChangedCostsNothing(t *testing.T) {
	d := New(theme.Dark())
	d.append(showcase(t))
	d.Lines(80)
	if n := testing.AllocsPerRun(10, func() { d.Lines(80) }); n != 0 {
		t.Errorf("Lines allocates %v times, want 0", n)
	}
}

func FuzzStream(f *testing.F) {
	for _, text := range awkward {
		f.Add(text, uint16(30), uint8(5))
	}
	f.Fuzz(func(t *testing.T, text string, width uint16, step uint8) {
		if len(text) > 2000 {
			t.Skip("long texts have their own test")
		}
		checkStream(t, sanitize.Text(text), int(width%500)+1, int(step)+1)
		checkParts(t, sanitize.Text(text), int(width%500)+1, int(step)+1, 16+int(width%200))
	})
}
