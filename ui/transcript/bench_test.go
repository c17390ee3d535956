package transcript

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/theme"
)

// document is a stretch of mixed markdown, of about 150 tokens of four bytes.
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

// filled is a transcript of about n tokens: turns of one document, and an answer
// that is half of it and still open.
func filled(n int) *Model {
	m := New(theme.Dark())
	m.SetSize(120, 40)
	docs := n * 4 / len(document)
	for range docs/2 + 1 {
		m.User("and?")
		m.Answer("a", document)
		m.AnswerDone("a")
	}
	for range docs/2 + 1 {
		m.Answer("open", document)
	}
	m.View()
	return m
}

// The cost of a token must not depend on how long the conversation is.
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
					m.Answer("open", document[at:min(at+4, len(document))])
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
				m.Think("1", strings.Repeat(numbered("word", 80), size/160))
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					m.Think("1", "and ")
					if n%80 == 79 {
						m.Think("1", "\n\n")
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

// Opening ten thousand turns: what it costs to take them in and show the last.
func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m := New(theme.Dark())
		m.SetSize(120, 40)
		for range 10_000 {
			m.User("and?")
			m.Answer("a", document)
			m.AnswerDone("a")
		}
		m.View()
	}
}

// Scrolling through many turns lays out what comes in sight.
func BenchmarkScroll(b *testing.B) {
	m := filled(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		m.Scroll(-wheelStep)
		m.View()
		if m.top == (pos{}) {
			m.Bottom()
		}
	}
}
