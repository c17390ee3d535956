package transcript

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

// document is a piece of mixed Markdown, of about 150 tokens of four bytes.
const document = `## A heading

Some *prose* with ` + "`code`" + ` and a [link](https://example.org/), long enough to be
wrapped over more than one line of the screen, as most paragraphs are.

- one item
- another item, which is longer than the first one

` + "```go" + `
func main() {
	for i := range 3 {
		fmt.Println("hello", i)
	}
}
` + "```" + `

| name | value |
|------|-------|
| one  | 1     |
| two  | 2     |

`

// filled returns a transcript of about n tokens: turns of one document each, and an
// open answer that makes up half of it.
func filled(n int) *Model {
	m := New(theme.Dark())
	m.SetSize(120, 40)
	docs := n * 4 / len(document)
	for range docs/2 + 1 {
		m.Blocks.AddUser("and?")
		m.Blocks.AppendAnswer("a", document)
		m.Blocks.FinishAnswer("a")
	}
	for range docs/2 + 1 {
		m.Blocks.AppendAnswer("open", document)
	}
	m.View()
	return m
}

// The cost of a token must not depend on the length of the conversation.
func BenchmarkToken(b *testing.B) {
	for _, size := range []int{1_000, 100_000} {
		for _, where := range []string{"bottom", "away"} {
			b.Run(fmt.Sprintf("%s/%d", where, size), func(b *testing.B) {
				m := filled(size)
				if where == "away" {
					m.Scroll(-100)
				}
				b.ReportAllocs()
				at := 0
				for b.Loop() {
					m.Blocks.AppendAnswer("open", document[at:min(at+4, len(document))])
					m.View()
					if at += 4; at >= len(document) {
						at = 0
					}
				}
			})
		}
	}
}

func BenchmarkThinkingToken(b *testing.B) {
	for _, open := range []bool{false, true} {
		for _, size := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("open=%v/%d", open, size), func(b *testing.B) {
				m := New(theme.Dark())
				m.SetSize(120, 40)
				if open {
					m.ToggleThinking()
				}
				m.Blocks.AppendThinking("1", strings.Repeat(numbered("word", 80), size/160))
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					m.Blocks.AppendThinking("1", "and ")
					if n%80 == 79 {
						m.Blocks.AppendThinking("1", "\n\n")
					}
					m.View()
				}
			})
		}
	}
}

func BenchmarkViewUnchanged(b *testing.B) {
	m := filled(10_000)
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}

// stored returns a conversation of n turns as loaded from a store.
func stored(n int) *Model {
	m := New(theme.Dark())
	m.SetSize(120, 40)
	for i := range n {
		id := fmt.Sprint(i)
		m.Blocks.SetMessageSeq(2*i + 1)
		m.Blocks.AddUser("and what does the test say?")
		m.Blocks.SetMessageSeq(2*i + 2)
		m.Blocks.AppendThinking(id, "It might be the clock. I look at the test first, and then at the timer.")
		m.Blocks.FinishThinking(id, 3*time.Second)
		m.Blocks.SetTool(id, Tool{Name: "edit", Input: `{"path":"main.go","old":"a","new":"b"}`, Status: Done, Output: "edited", Diff: sampleDiff, Duration: time.Second})
		m.Blocks.AppendAnswer(id, document)
		m.Blocks.FinishAnswer(id)
	}
	return m
}

// Opening a conversation of ten thousand turns: loading it, showing its end,
// its beginning, and a position in the middle.
func BenchmarkOpen(b *testing.B) {
	for _, turns := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("take/%d", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stored(turns).View()
			}
		})
		m := stored(turns)
		for name, move := range map[string]func(){
			"bottom": m.Bottom, "top": m.Top, "jump": func() { m.ShowMessage(turns) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, turns), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					m.invalidateAll() // nothing is rendered
					move()
					m.View()
				}
			})
		}
	}
}

// Deleting and typing a letter in the search line of a conversation of about n
// tokens, with the screens for it.
func BenchmarkSearch(b *testing.B) {
	for _, tokens := range []int{1_000, 100_000, 1_000_000} {
		for _, word := range []string{"e", "world", "hello", "not there"} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(word, " ", "-"), tokens), func(b *testing.B) {
				m := stored(1 + tokens*4/(len(document)+len(sampleDiff)))
				m.Browse(true)
				press(m, "/", "'"+word)
				b.ReportAllocs()
				for b.Loop() {
					m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
					m.Update(tea.KeyPressMsg{Code: rune(word[len(word)-1]), Text: word[len(word)-1:]})
					m.View()
				}
			})
		}
	}
}

// A token that arrives during a search.
func BenchmarkTokenWhileSearching(b *testing.B) {
	for _, size := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			m := filled(size)
			m.Blocks.AddUser("and now?")
			m.Browse(true)
			press(m, "/", "'heading", "enter")
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				m.Blocks.AppendAnswer(fmt.Sprint(n/1000), "and ")
				m.View()
			}
		})
	}
}

// Scrolling through many turns renders those that become visible.
func BenchmarkScroll(b *testing.B) {
	m := filled(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		m.Scroll(-wheelStep)
		m.View()
		if m.window.top == (rowPos{}) {
			m.Bottom()
		}
	}
}

// Arguments that arrive in pieces of twenty bytes, with a frame after each.
func BenchmarkArriving(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		for _, open := range []bool{false, true} {
			for _, tool := range []string{"write", "edit", "other"} {
				b.Run(fmt.Sprintf("%s/open=%v/%d", tool, open, size), func(b *testing.B) {
					input := inputOf(b, "path", "main.go", map[string]string{"write": "content", "edit": "new", "other": "body"}[tool], strings.Repeat(goFile, size/len(goFile)))
					pieces := 0
					b.ReportAllocs()
					for b.Loop() {
						m := New(theme.Dark())
						m.SetSize(120, 40)
						if open {
							m.ToggleOutput()
						}
						pieces = 0
						arrives(m, "1", tool, input, func() int { pieces++; return 20 })
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pieces), "ns/piece")
				})
			}
		}
	}
}

// Rendering a diff, folded and unfolded, unified and side by side.
func BenchmarkDiff(b *testing.B) {
	var long strings.Builder
	fmt.Fprintf(&long, "+++ b/x.go\n@@ -1,%d +1,%d @@\n", 1000, 1000)
	for i := range 1000 {
		fmt.Fprintf(&long, "-\tif x := f(%d); x > 0 { return \"text\" } // old\n+\tif x := g(%d); x > 0 { return \"text\" } // new\n", i, i)
	}
	for name, diff := range map[string]string{"short": mixedDiff, "long": long.String()} {
		d := diffview.Read(diff, maxDiffLines)
		for _, open := range []bool{false, true} {
			for _, width := range []int{100, 140} {
				b.Run(fmt.Sprintf("%s/open=%v/%d", name, open, width), func(b *testing.B) {
					th := theme.Dark()
					p := renderContext{theme: th, styler: newStyler(th), width: width, open: open}
					b.ReportAllocs()
					for b.Loop() {
						p.renderDiff(&d)
					}
				})
			}
		}
	}
}

// BenchmarkResize shows a long answer of each shape at another width.
func BenchmarkResize(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for _, tokens := range []int{1_000, 10_000, 15_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "-"), tokens), func(b *testing.B) {
				m := New(theme.Dark())
				m.SetSize(120, 40)
				streams(m, &feed{shape: shapes[name]}, tokens, 16)
				m.View()
				width := 120
				b.ReportAllocs()
				for b.Loop() {
					width ^= 16
					m.SetSize(width, 40)
					m.View()
				}
			})
		}
	}
}
