package markdown

import (
	"regexp"
	"strings"
	"testing"

	"parley/ui/theme"
)

var bolds = regexp.MustCompile(`\x1b\[1[;0-9]*m([^\x1b]*)\x1b\[m`)

// parley's own rules; see the package comment. Bold text is in ⟦⟧; other styles are omitted.
func TestRules(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a newline", "a\nb\n\n> c\n> d\n\n- e\n  f", "a\nb\n\n▎ c\n▎ d\n\n• e\n  f"},
		{"a newline in a heading", "a\nb\n---", "⟦a⟧\n⟦b⟧"},

		{"a title has a rule, and its text follows at once", "# a\n\nb\n\n## c\n\nd\n\n- # e\n\nf", "⟦a⟧\n" + strings.Repeat("─", 60) + "\nb\n\n⟦c⟧\n\nd\n\n• ⟦e⟧\n  " + strings.Repeat("─", 58) + "\n\nf"},
		{"tasks", "- [x] a\n- [ ] b\n- c\n\n1. [x] d", "☑ a\n☐ b\n• c\n\n1. ☑ d"},

		{"one tilde", "~20, 23~30 and 22~30, H~2~O", "~20, 23~30 and 22~30, H~2~O"},
		{"three tildes", "a ~~~b~~~", "a ~~~b~~~"},
		{"two tildes", "~~a~~, ~~b.~~c", "a, b.c"},

		{"CJK and a quotation mark", "这是**“重点”**内容", "这是⟦“重点”⟧内容"},
		{"CJK punctuation", "**注意：**后面", "⟦注意：⟧后面"},
		{"CJK and a bracket", "**문장(a)**이다", "⟦문장(a)⟧이다"},
		{"CJK and code", "运行**`a`**吗", "运行⟦a⟧吗"},
		{"CJK and a link", "見**[あ](/b)**は", "見⟦あ (/b)⟧は"},
		{"CJK and an emoji", "**完成✅**了", "⟦完成✅⟧了"},
		{"CJK before a bracket", "葛**(a)**b", "葛⟦(a)⟧b"},
		{"Latin punctuation", "**Note:**a **(b)**c **50%**d **`e`**f", "⟦Note:⟧a ⟦(b)⟧c ⟦50%⟧d ⟦e⟧f"},
		{"before punctuation", `un**"real"**, the**(a)** b`, "un⟦\"real\"⟧, the⟦(a)⟧ b"},
		{"powers", "(a+b)**2 + (c+d)**2\n\nx**(n+1) + y**(n-1)", "(a+b)**2 + (c+d)**2\n\nx**(n+1) + y**(n-1)"},
		{"arguments", "f(**a) and g(**b)", "f(**a) and g(**b)"},
		{"patterns", "a/**b and c/**d", "a/**b and c/**d"},
		{"footnotes", "Price**, Total** and **a**", "Price**, Total** and ⟦a⟧"},
		{"names", "__init__ in snake_case_name", "⟦init⟧ in snake_case_name"},

		{"math in a line", `$a*b*c$ $$a*b*c$$ \(a*b*c\) \[a*b*c\]`, `a*b*c a*b*c a*b*c a*b*c`},
		{"escapes in math", `$\{a, b\}$ and \\(c\\)`, `{a, b} and \(c\)`},
		{"an escaped dollar", `\$a*b*c$`, "$abc$"},
		{"an environment", "\\begin{align}\na &= *b* \\\\\n- c\n\\end{align}", "  a = *b*\n− c"},
		{"a matrix", `$$A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}$$`, "A = ⎛ a  b ⎞\n    ⎝ c  d ⎠"},
		{"math of several lines", "a\n$$\n- b\n# c\n=\n$$\nd", "a\n\n$$\n- b\n# c\n=\n$$\n\nd"},
		{"math after words", "a: \\[\n> b\n\\] c", "a: > b c"},
		{"math in a quotation in a list", "- > $$\n  > 1. a\n  > $$\n", "• ▎ 1. a"},
		{"math without an end", "$$ a\n\n**b**", "$$ a\n\n⟦b⟧"},
		{"amounts", "$5 **or** $10, between $5 and **10$**, **$5**–**$6**", "$5 ⟦or⟧ $10, between $5 and ⟦10$⟧, ⟦$5⟧–⟦$6⟧"},
		{"variables", "**$HOME** and **$PATH**", "⟦$HOME⟧ and ⟦$PATH⟧"},
		{"math with digits", "$3*4*5$ and $2^n$", "3*4*5 and 2ⁿ"},
		{"math in bold", "**$x$**: a", "⟦x⟧: a"},
		{"code before math", "`$a` *b* `c$`", "$a b c$"},

		{"a pipe in code", "|a|b|\n|-|-|\n|`x|y`|``c|`x``|", "⟦a⟧    ⟦b⟧\n───  ────\nx|y  c|`x"},
		{"a pipe in math", "|a|b|\n|-|-|\n|$P(A|B)$|$5|10$|", "⟦a⟧       ⟦b⟧\n──────  ──  ───\nP(A|B)  $5  10$"},
		{"an escaped pipe", "|a|\n|-|\n|x\\|y|", "⟦a⟧\n───\nx|y"},
		{"cells beyond the header", "|a|\n|-|\n|1|2|\n|3|||\n|4||5|", "⟦a⟧\n─  ─  ─\n1  2\n3\n4     5"},
		{"half a code span", "|a|b|\n|-|-|\n|`x|y|", "⟦a⟧   ⟦b⟧\n──  ─\n`x  y"},
	} {
		got := bolds.ReplaceAllString(Render(tt.in, 60, theme.Terminal()), "⟦$1⟧")
		got = strings.ReplaceAll(sgr(got), "⟧⟦", "")
		if got != tt.want {
			t.Errorf("%s: %s\n got %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
	}
}
