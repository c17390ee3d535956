package mathtext

import (
	"strings"
	"testing"
)

// Math is shown in Unicode if all of it has an exact form there, and as its source otherwise.
func TestMath(t *testing.T) {
	for source, want := range map[string]string{
		`$E = mc^2$`:                                           "E = mc²",
		`$\sum_{n=0}^{4} b \cdot 2^n = 31b$`:                   "∑ₙ₌₀⁴ b · 2ⁿ = 31b",
		`\(\alpha x_i + \beta \leq \infty\)`:                   "α xᵢ + β ≤ ∞",
		`$\frac{a}{b}$`:                                        "a/b",
		`$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$`:           "x = (−b ± √(b² − 4ac))/(2a)",
		`$\frac{1}{2}mv^2$`:                                    "(1/2)mv²",
		`$2\frac{1}{n}$`:                                       "2(1/n)",
		`$\sqrt[3]{8} \ne \sqrt{2}$`:                           "∛8 ≠ √2",
		`$f: \mathbb{R} \to \mathbb{R}$`:                       "f: ℝ → ℝ",
		`$\hat{x}, \vec{v}, \mathbf{A}$`:                       "x̂, v⃗, 𝐀",
		`$\left(\frac{a+1}{b}\right)^2$`:                       "((a+1)/b)²",
		`$\left. x \right|_0$`:                                 "x |₀",
		`$\mathbf{az}$`:                                        "𝐚𝐳",
		`$x'' + 90^\circ$`:                                     "x′′ + 90°",
		`$\{a, b\} \subseteq A$`:                               "{a, b} ⊆ A",
		`$\text{if } n < 3$`:                                   "if n < 3",
		`$$A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}$$`: "A = ⎛ a  b ⎞\n    ⎝ c  d ⎠",
		`$$|x| = \begin{cases} x & x \ge 0 \\ -x & x < 0 \end{cases}$$`: "|x| = ⎧ x   x ≥ 0\n      ⎩ −x  x < 0",
		"\\begin{align}\na &= b + c \\\\\nd^2 &= e\n\\end{align}":       " a = b + c\nd² = e",
		`$n$`: "n",
		// no exact form
		`$HOME, or TMP$`:                         "",
		`$\mathbf{é}$`:                           "",
		`$\mathbb{a}$`:                           "",
		`$x^{q}$`:                                "",
		`$e^{-x^2}$`:                             "",
		`$\int_0^\infty f$`:                      "",
		`$\foo{x}$`:                              "",
		`$\frac{a}$`:                             "",
		`$a & b$`:                                "",
		`$\begin{pmatrix} a \\ b \end{pmatrix}$`: "", // rows have no place in a line
		`$\begin{unknown} a \end{unknown}$`:      "",
		`$x_`:                                    "",
		"$" + strings.Repeat("{", 100) + "$":     "",
	} {
		if want == "" {
			want = source
		}
		if !strings.HasSuffix(source, "$") && source[0] == '$' {
			source += "$"
			want += "$"
		}
		if got := strings.ReplaceAll(Text(source), "\u00a0", " "); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", source, got, want)
		}
	}
}
