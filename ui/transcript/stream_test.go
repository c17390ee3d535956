package transcript

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/ui/theme"
)

// awkward is Markdown that is hard to show while it is written.
var awkward = map[string]string{
	"nested lists":     "1. one\n   - two\n     - three\n\n       more of three\n     - four\n   - five\n2. six\n\n   seven\n3. eight",
	"late loose list":  "- a\n- b\n- c\n\n- d, which makes all of it loose\n- e\n\nafter\n",
	"two lists":        "- a\n- b\n\n* c\n* d\n\n1. e\n1) f\n",
	"wide table":       "| name | " + strings.Repeat("column | ", 12) + "\n|---|" + strings.Repeat("---|", 12) + "\n| x | " + strings.Repeat("a long cell | ", 12) + "\n\nafter",
	"narrow table":     "before\n\n| a | b |\n|:-:|--:|\n| `x\\|y` | **2** |\n| 日本語 | 👨‍👩‍👧‍👦 |\nlazy",
	"table from text":  "a paragraph\nthat | becomes\n--|--\na | table\n",
	"nested fences":    "````md\n```go\nfunc main() {}\n```\n````\n\n- item\n  ~~~\n  code\n\n  ~~~\n  end\n\n> ```\n> quoted\n> ```\n",
	"open fence":       "text\n\n```python\ndef f():\n    '''doc\n    more'''\n    return 1",
	"late references":  "[one] and [two][t], also [three].\n\n- [one]\n- [t]\n\n[one]: https://one.example\n[t]: https://two.example 'title'\n\nend\n\n[three]: https://three.example\n",
	"setext headings":  "One\n===\n\nTwo\nlines\n---\n- a\n---\n\ntext\n\n---\n",
	"html":             "<div>\n*not markdown*\n\n*markdown*\n</div>\n\ntext <b>bold</b> <!-- hidden\n\n<script>\nlet x\n\n</script>\n",
	"cjk":              "「日本語」のテキスト、改行は文字の間に入る。English混ぜる，测试（括号）。\n\n- 한국어 문장도 있습니다\n- 中文" + strings.Repeat("字", 60) + "\n",
	"emoji":            "👨‍👩‍👧‍👦 family, 🏳️‍🌈 flag, 1️⃣ key, 🇩🇪🇫🇷, ❤️ 👍🏽 **👍🏽** `👩‍⚕️`" + strings.Repeat(" 🧑🏿‍🤝‍🧑🏻", 20),
	"right to left":    "שלום **עולם** עם `code` ו-123\n\n> مرحبا بالعالم\n> السطر الثاني\n\n1. ראשון\n2. ثاني\n",
	"long word":        "a " + strings.Repeat("0123456789", 1000) + " b\n\n`" + strings.Repeat("x", 500) + "` **" + strings.Repeat("y", 300) + "**",
	"long wide word":   strings.Repeat("漢字👍🏽e\u0301", 200),
	"emphasis":         "*a **b** c* __d__ ***e*** ~~f~~ **open *and\n\nclosed** elsewhere*",
	"quotes":           "> a\nlazy\n> > b\n> - c\n>   d\n\n> e\n",
	"hard breaks":      "one  \ntwo\\\nthree\n\n\n\nfour   \n",
	"crlf and control": "a\r\nb\x1b[31m\r\n\r\n- c\x00\r\n```\r\nd\u202e\r\n```\r\n",
	"broken utf-8":     "caf\xc3\xa9 \xff\xfe \xe6\x97 end\n\n\xf0\x9f\x91",
	"entities":         "&amp; &#27; &copy; \\* \\_ &nope;\n",
	"indented code":    "text\n\n    code\n\n    more\n\ttab\n- a\n\n      in a\n",
	"only marks":       "#\n\n-\n\n>\n\n```\n",
}

// An answer that streamed, cut anywhere and drawn at every cut, looks in the end
// as if it had come at once: on every screen from the first to the last.
func TestStreamedLooksLikeLoaded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for name, text := range awkward {
		for _, width := range []int{80, 50, 20} {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				want := loaded(text, width)
				for _, most := range []int{3, 30} {
					if len(text) > 2000 {
						most *= 40
					}
					m := New(theme.Dark())
					m.SetSize(width, 12)
					m.User("go on")
					var cuts []int
					for rest := text; rest != ""; {
						n := min(1+rnd.IntN(most), len(rest))
						m.Answer("a", rest[:n])
						m.View()
						rest = rest[n:]
						cuts = append(cuts, n)
					}
					m.AnswerDone("a")
					m.Footer("end")
					if got := pages(m); got != want {
						t.Fatalf("in pieces of %v:\n%s\nwant\n%s", cuts, got, want)
					}
				}
			})
		}
	}
}

func loaded(text string, width int) string {
	m := New(theme.Dark())
	m.SetSize(width, 12)
	m.User("go on")
	m.Answer("a", text)
	m.AnswerDone("a")
	m.Footer("end")
	return pages(m)
}

// The same holds for whatever a model may write.
func FuzzStreamed(f *testing.F) {
	for _, text := range awkward {
		if len(text) < 1000 {
			f.Add(text, uint8(7), uint8(30))
		}
	}
	f.Fuzz(func(t *testing.T, text string, step, width uint8) {
		if len(text) > 1000 || step == 0 || width == 0 {
			t.Skip()
		}
		m := New(theme.Dark())
		m.SetSize(int(width), 12)
		m.User("go on")
		for rest := text; rest != ""; {
			n := min(int(step), len(rest))
			m.Answer("a", rest[:n])
			m.View()
			rest = rest[n:]
		}
		m.AnswerDone("a")
		m.Footer("end")
		if got, want := pages(m), loaded(text, int(width)); text != "" && got != want {
			t.Fatalf("%q:\n%s\nwant\n%s", text, got, want)
		}
	})
}
