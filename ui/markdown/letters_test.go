package markdown

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/markdown/mathtext"
	"parley/ui/theme"
)

func init() { MathText = mathtext.Text }

// written lists texts as models write them, besides the awkward ones.
var written = map[string]string{
	"verse":        "Roses are red,\nviolets are blue.\n\nName: Ada\nCity: London\n\n> quoted\n> lines\n\n- item\n  goes on\n",
	"tildes":       "about ~20, 23~30 and 22~30, H~2~O, ~~gone~~ and ~~~three~~~\n",
	"cjk marks":    "这是**“重点”**内容，**注意：**后面。**이 용어(This term)**를 *「強調」*する。~~古い。~~新しい\n",
	"latin marks":  "**Note:**text **(a)**b **50%**x **`c`**x un**\"real\"** **C++**is __a__ _b_ ***c***d\n",
	"powers":       "(a+b)**2 + (c+d)**2, f(**a), g(**b), path/**name and lib/**name\n",
	"math":         "$a*b*c$, $$x_1*y_2*z$$, \\(a*b*c\\), \\[ y = \\frac{1}{2} \\] and $\\{P_0, P_1\\}$\n",
	"display math": "The sum:\n$$\na\n= b\n- c\n+ *d*\n===\n$$\nwhere *x*\n\n- item: \\[\n  # x\n  1. y\n  \\]\n\n\\begin{align}\na &= b \\\\\n- c &= *d*\n\\end{align}\nend\n",
	"open math":    "$$ a*b*c\n- d\n\n\\[ x *y*\n\n\\begin{x} *y*\n\n\\(z *y* $a *b*\n",
	"money":        "$5 **or** $10, US$3 *a* A$ 4; $5 and **10$**; **$HOME** and **$PATH**; $20 *now* and A$ 30\n",
	"wide rows":    "| a | `x|y` |\n|---|---|\n| $P(A|B)$ | `a|b` | c |  | d |\n| 1 | $5 | $10 |\n|$5|10$|\n|\\(x|y\\)|``a|`|b``|\\||e|\n",
	"code":         "```go\nfunc (r *rendering) settled(to io.Writer, somewhat, longer, than, a_row int) error { return nil }\n\tx := \"日本語のテキスト\" // 説明\n```\n",
	"entities":     "R&region;x &copycat; ?a=1&lt=3; &amp; x&#65;y\n",
}

// corpus returns the texts of this package's tests by name.
func corpus(t *testing.T) map[string]string {
	texts := map[string]string{"showcase": showcase(t)}
	maps.Copy(texts, awkward)
	maps.Copy(texts, written)
	seeds, err := filepath.Glob("testdata/fuzz/*/*")
	if err != nil || len(seeds) == 0 {
		t.Fatal("no seeds", err)
	}
	for _, file := range seeds {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, literal, _ := strings.Cut(string(data), "string(")
		literal, _, _ = strings.Cut(literal, ")\n")
		if texts[filepath.Base(file)], err = strconv.Unquote(literal); err != nil {
			t.Fatal(file, err)
		}
	}
	for name, text := range deep(1 << 10) {
		texts["deep "+name] = text
	}
	return texts
}

// left matches the parts of a source that need not be shown, see TestLeftOut.
var left = regexp.MustCompile(`(?m)` +
	`\]\([^)\n]*\)|\]\[[^\]\n]*\]|` + // targets of links
	`^[ >\-*\t]*\[[^\]\n]+\]:.*(\n *['"].*(\n.*['"])?|\n *[^ \n]*:/.*)?|^title"|` + // reference definitions
	`^[ >\-*\t\d.]*(` + "```" + `+|~~~+).*|` + // info strings
	`\d+[.)]([ \t]|$)|` + // list numbers
	`[-*+] \[[xX]\]|` + // signs of tasks
	`&[#\w]+;`) // entities

// Every letter and digit of a text is on the screen, in order, at every width, streamed or whole.
// In a table, whose cells are wrapped side by side, the order holds for each cell.
func TestEveryLetterIsShown(t *testing.T) {
	checked := 0
	for name, text := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			text = sanitize.Text(text)
			for i, width := range []int{2, 3, 5, 9, 16, 24, 40, 80, 200} {
				for j, th := range []*theme.Theme{theme.Dark(), theme.Plain(), theme.Bare()} {
					step := len(text) + 1
					if i%3 == j {
						step = 1 + len(text)/20
					}
					d := New(th)
					for piece := range slices.Chunk([]byte(text), step) {
						d.append(string(piece))
						d.Lines(width)
					}
					d.Finish()
					checkLetters(t, text, ansi.Strip(strings.Join(d.Lines(width), "\n")), width)
					checked++
				}
			}
		})
	}
	t.Logf("%d renderings", checked)
}

// formula matches math, which is compared as it is shown.
var formula = regexp.MustCompile(`\$\$[^$]+\$\$|\$[^$\n]+\$|\\\([^)]+\\\)|\\\[[^\]]+\\\]|\\begin\{align\}[^}]+\\end\{align\}`)

func checkLetters(t *testing.T, text, screen string, width int) {
	t.Helper()
	text = formula.ReplaceAllStringFunc(text, MathText)
	want, got := lettersOf(left.ReplaceAllString(text, " ")), lettersOf(screen)
	if strings.Contains(text, "-|") || strings.Contains(text, "|-") {
		slices.Sort(want)
		slices.Sort(got)
	}
	for i, r := range want {
		at := slices.Index(got, r)
		if at < 0 {
			t.Fatalf("width %d: %q is not shown after %q, of %q:\n%s", width, r, string(want[max(0, i-20):i]), clip(text), clip(screen))
		}
		got = got[at+1:]
	}
}

// lettersOf returns the letters and digits of s, in lower case, in which check boxes are shown.
func lettersOf(s string) (letters []rune) {
	for _, r := range strings.ToLower(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			letters = append(letters, r)
		}
	}
	return letters
}

// Everything except words may be shown in another form, or not at all.
func TestLeftOut(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"the target of a link is shown after its text, the title is not", `[a](https://b.example "c")`, "a (https://b.example)"},
		{"a target that nothing opens is cut", "[a](data:" + strings.Repeat("b", 300) + ")", "a (data:" + strings.Repeat("b", 195) + "…)"},
		{"the label of a reference", "[a][b]\n\n[b]: /c", "a (/c)"},
		{"a reference definition", "[b]: /c 'd'\n\na", "a"},
		{"the first word of an info string is shown", "```go title=x\na\n```", "  go\n  a"},
		{"the numbers of a list", "7. a\n7. b\n1. c", "7. a\n8. b\n9. c"},
		{"entities", "&lt;&#65;&#x42;&copy;&semi;", "<AB©;"},
		{"no entities", "R&region;x &copycat; ?a=1&lt=3; &nope;", "R&region;x &copycat; ?a=1&lt=3; &nope;"},
	} {
		if got := Render(tt.in, 400, theme.Bare()); got != tt.want {
			t.Errorf("%s: %s\n got %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
	}
}
