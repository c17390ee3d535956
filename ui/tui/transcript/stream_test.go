package transcript

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llmtest"
	"parley/ui/theme"
)

// awkward holds Markdown that is hard to show while it arrives.
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
	"odd numbers":      "7. seven\n9. nine\n1. one\n\n0) zero\n1) one\n\n999999999. many\n1000000000. too many\n\n-1. no number\n",
	"tabs":             "\tcode\n\n-\titem\n\n\tmore of it\n\n\t\tcode in it\n\n1.\ta\tb\n>\tquoted\n\n```\na\tb\n\tc\n```\n",
	"empty items":      "-\n- a\n-\n\n- b\n-   \n\n1.\n2. x\n3.\n\n*\n\n*\n",
	"footnotes":        "text[^1] and[^note] more\n\n[^1]: the first\n    goes on\n\n[^note]: the second [^1]\n\nTerm\n: what it means\n",
	"loose late":       "1. a\n   - b\n   - c\n\n   - d\n2. e\n3. f\n\n   g\n",
	"fences in items":  "1. first\n\n   ```go\n   func a() {}\n\n   // b\n   ```\n\n2. second\n   ```\n   open\n3. third\n",
	"broken emphasis":  "**bold over\ntwo lines** and *it\n\nends* not ~~here\n- ~~ **a\n- b**\n",
	"long code line":   "```js\nlet s = \"" + strings.Repeat("日本\t", 700) + "\" // end\nnext()\n```\nafter\n",
	"rules":            "a\n***\nb\n- - -\n_ _ _ _\n- * -\n+ ---\n",
}

// An answer that streamed, split anywhere and rendered at every split, looks in the
// end as if it had arrived at once, on all screens. The same holds if the terminal
// is resized in between. Before the end, it looks like the text received so far.
func TestStreamedLooksLikeLoaded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	widths := []int{80, 20}
	if long {
		widths = []int{120, 80, 50, 20}
	}
	for name, text := range awkward {
		for _, width := range widths {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				want := loaded(text, width)
				for _, most := range []int{1, 3, 30} {
					if llmtest.Race && most < 30 {
						continue
					}
					if len(text) > 2000 {
						most *= 40
					}
					m := New(theme.Dark())
					m.SetSize(width, 12)
					m.Blocks.AddUser("go on")
					var cuts []int
					for rest := text; rest != ""; {
						n := min(1+rnd.IntN(most), len(rest))
						m.Blocks.AppendAnswer("a", rest[:n])
						m.View()
						rest = rest[n:]
						cuts = append(cuts, n)
						if most > 1 && rnd.IntN(10) == 0 {
							m.SetSize(1+rnd.IntN(130), 1+rnd.IntN(30))
							m.View()
						}
						if so := text[:len(text)-len(rest)]; len(so) < 2000 && (long || rnd.IntN(8) == 0) {
							if got, want := m.View(), soFar(so, m.window.width, m.window.height); got != want {
								t.Fatalf("%q in pieces of %v:\n%s\nwant\n%s", so, cuts, got, want)
							}
						}
					}
					m.SetSize(width, 12)
					m.Blocks.FinishAnswer("a")
					m.Blocks.AddFooter("end")
					if got := pages(m); got != want {
						t.Fatalf("in pieces of %v:\n%s\nwant\n%s", cuts, got, want)
					}
				}
			})
		}
	}
}

// A turn that streamed, with thinking, calls and answers interleaved, looks in
// the end like the same turn from a store.
func TestStreamedTurnLooksLikeLoaded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(awkward)) {
		if text := awkward[name]; len(text) < 600 && cleanText(text) != "" {
			texts = append(texts, text)
		}
	}
	pick := func() string { return texts[rnd.IntN(len(texts))] }
	for _, width := range []int{120, 80, 50, 20} {
		for range 12 {
			live, stored := New(theme.Dark()), New(theme.Dark())
			for _, m := range []*Model{live, stored} {
				m.SetSize(width, 12)
			}
			stream := func(text string, add func(string)) {
				for rest := text; rest != ""; {
					n := min(1+rnd.IntN(40), len(rest))
					add(rest[:n])
					live.View()
					rest = rest[n:]
				}
			}
			for i := range 4 {
				id, thought, said, output := fmt.Sprint(i), pick(), pick(), cleanText(pick())
				live.Blocks.AddUser(said)
				stored.Blocks.AddUser(said)
				stream(thought, func(s string) { live.Blocks.AppendThinking(id, s) })
				live.Blocks.FinishThinking(id, 2*time.Second)
				stored.Blocks.AppendThinking(id, thought)
				stored.Blocks.FinishThinking(id, 2*time.Second)
				stream(said, func(s string) { live.Blocks.AppendAnswer(id, s) })
				live.Blocks.FinishAnswer(id)
				stored.Blocks.AppendAnswer(id, said)
				stored.Blocks.FinishAnswer(id)
				done := turnCalls(i, output)
				for call, tool := range done {
					arriving := Tool{Name: tool.Name}
					stream(tool.Input, func(s string) {
						arriving.Input += s
						live.Blocks.SetTool(call, arriving)
					})
				}
				for call, tool := range done {
					live.Blocks.SetTool(call, Tool{Name: tool.Name, Input: tool.Input, Status: Running, Started: began, Hint: "esc stops"})
					stream(tool.Output, func(s string) { live.Blocks.AppendToolOutput(call, s) })
					live.Blocks.SetTool(call, tool)
					stored.Blocks.SetTool(call, Tool{Name: tool.Name, Input: tool.Input, Status: Canceled})
					stored.Blocks.SetTool(call, tool)
				}
				live.Blocks.AddFooter("model · 12 in · 3 out")
				stored.Blocks.AddFooter("model · 12 in · 3 out")
			}
			for _, open := range []bool{false, true} {
				if open {
					live.ToggleOutput()
					stored.ToggleOutput()
					live.ToggleThinking()
					stored.ToggleThinking()
				}
				if got, want := pages(live), pages(stored); got != want {
					t.Fatalf("at width %d:\n%s\nwant\n%s", width, got, want)
				}
			}
		}
	}
}

// turnCalls returns the calls of a turn, after they have ended.
func turnCalls(n int, output string) iter.Seq2[string, Tool] {
	calls := []Tool{
		{Name: "read", Input: `{"path":"a.go"}`, Output: output},
		{Name: "grep", Input: `{"pattern":"日本","path":"src"}`, Output: "a.go:1: 日本"},
		{Name: "list", Input: `{"path":"."}`, Output: "a.go\nb.go"},
		{Name: "edit", Input: `{"path":"main.go","old":"a\nb","new":"a\nc\nd"}`, Diff: sampleDiff, Output: "edited"},
		{Name: "shell", Input: `{"command":"make\nmake test"}`, Output: output},
		{Name: "write", Input: `{"path":"x.py","content":"def f():\n    return 1\n"}`, Diff: mixedDiff},
	}
	return func(yield func(string, Tool) bool) {
		for i, tool := range calls[:2+n%5] {
			tool.Status, tool.Duration = Done, time.Duration(i+1)*time.Second
			if i == 4 && n%2 == 0 {
				tool.Status = Failed
			}
			if !yield(fmt.Sprint(n, "/", i), tool) {
				return
			}
		}
	}
}

// soFar returns the screen of an answer with this text that arrived at once.
func soFar(text string, width, height int) string {
	m := New(theme.Dark())
	m.SetSize(width, height)
	m.Blocks.AddUser("go on")
	m.Blocks.AppendAnswer("a", text)
	return m.View()
}

func loaded(text string, width int) string {
	m := New(theme.Dark())
	m.SetSize(width, 12)
	m.Blocks.AddUser("go on")
	m.Blocks.AppendAnswer("a", text)
	m.Blocks.FinishAnswer("a")
	m.Blocks.AddFooter("end")
	return pages(m)
}

// The same holds for any text that a model may write.
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
		m.Blocks.AddUser("go on")
		for rest := text; rest != ""; {
			n := min(int(step), len(rest))
			m.Blocks.AppendAnswer("a", rest[:n])
			m.View()
			rest = rest[n:]
		}
		m.Blocks.FinishAnswer("a")
		m.Blocks.AddFooter("end")
		if got, want := pages(m), loaded(text, int(width)); text != "" && got != want {
			t.Fatalf("%q:\n%s\nwant\n%s", text, got, want)
		}
	})
}
