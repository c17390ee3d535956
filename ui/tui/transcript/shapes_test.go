package transcript

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llmtest"
	"parley/ui/theme"
)

// shapes maps the name of a kind of Markdown to a function that returns piece n
// of an endless answer. Most are a single block, which never closes.
var shapes = map[string]func(n int) string{
	"mixed":      func(int) string { return document },
	"list":       func(n int) string { return fmt.Sprintf("- item %d with `code` and some *words* to fill the line\n", n) },
	"loose list": func(n int) string { return fmt.Sprintf("%d. item with `code`\n\n   and a second paragraph\n\n", n+1) },
	"nested list": func(n int) string {
		return strings.Repeat("  ", n%4) + fmt.Sprintf("- item %d with some words\n", n)
	},
	"one item": func(n int) string {
		return []string{"- begins\n", "  and goes on with words, always more of them\n"}[min(n, 1)]
	},
	"fence":     func(n int) string { return []string{"```go\n", ""}[min(n, 1)] + goFile },
	"paragraph": func(n int) string { return fmt.Sprintf("word%d and *some* more, ", n) },
	"lines":     func(n int) string { return fmt.Sprintf("line %d of one paragraph with `code` in it\n", n) },
	"table": func(n int) string {
		return []string{"| name | value |\n|---|---|\n", ""}[min(n, 1)] + fmt.Sprintf("| row %d | `cell` and some *text* |\n", n)
	},
	"references": func(n int) string {
		define := ""
		if n%50 == 49 {
			for i := n - 49; i <= n; i++ {
				define += fmt.Sprintf("[r%d]: https://example.org/%d\n", i, i)
			}
			define += "\n"
		}
		return fmt.Sprintf("See [the note][r%d], which says more.\n\n%s", n, define)
	},
	"missing references": func(n int) string { return fmt.Sprintf("See [this] and [that %d], which say more.\n\n", n) },
	"quote":              func(n int) string { return fmt.Sprintf("> line %d of one quote with *words*\n", n) },
	"html":               func(n int) string { return []string{"<div>\n", ""}[min(n, 1)] + "<p>some text</p>\n" },
	"headings":           func(n int) string { return fmt.Sprintf("# heading %d\n", n) },
	"cjk":                func(int) string { return "日本語のテキスト、改行は文字の間に入る。" },
	"one word":           func(int) string { return "abcdefghijklmnop" },
	"code in one line":   func(n int) string { return []string{"```js\n", "f(x);g(\"text\");"}[min(n, 1)] },
}

// tokenSize is the approximate number of bytes of a token.
const tokenSize = 4

// A feed returns a shape in tokens.
type feed struct {
	shape func(int) string
	n     int
	rest  string
}

// take returns the next n tokens, split anywhere except inside a character.
func (f *feed) take(n int) string {
	n *= tokenSize
	for len(f.rest) < n+3 {
		f.rest += f.shape(f.n)
		f.n++
	}
	for f.rest[n]&0xc0 == 0x80 {
		n++
	}
	text := f.rest[:n]
	f.rest = f.rest[n:]
	return text
}

// A cost is the cost of some tokens, with a frame for each step.
type cost struct {
	allocs, bytes float64 // per token
	steps         []time.Duration
}

// streams sends tokens of a shape in steps, and returns their cost.
func streams(m *Model, f *feed, tokens, step int) (c cost) {
	c.steps = make([]time.Duration, 0, tokens/step)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range tokens / step {
		text := f.take(step)
		begin := time.Now()
		m.Blocks.AppendAnswer("a", text)
		m.View()
		c.steps = append(c.steps, time.Since(begin))
	}
	runtime.ReadMemStats(&after)
	per := func(n uint64) float64 { return float64(n) / float64(tokens) }
	c.allocs, c.bytes = per(after.Mallocs-before.Mallocs), per(after.TotalAlloc-before.TotalAlloc)
	return c
}

// long enables complete runs, of half a million tokens or more.
var long = os.Getenv("PARLEY_LONG") == "1"

// The cost of a token must not depend on the number of earlier tokens, for any
// shape, in one block or in many. Time is left to the benchmark; the counts
// here are of the work that takes time.
func TestTokensCostTheSame(t *testing.T) {
	if llmtest.Race {
		t.Skip("counts what one goroutine allocates, as the tests without the race detector do")
	}
	few, many := 1_000, 3_000
	if long {
		many = 500_000
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			of := func(tokens int) cost {
				m := New(theme.Dark())
				m.SetSize(120, 40)
				return streams(m, &feed{shape: shapes[name]}, tokens, 16)
			}
			of(few / 4) // fills shared caches
			small, large := of(few), of(many)
			if large.allocs > 1.5*small.allocs || large.bytes > 1.5*small.bytes {
				t.Errorf("of %d tokens each costs %.1f allocations and %.0f bytes, of %d %.1f and %.0f",
					few, small.allocs, small.bytes, many, large.allocs, large.bytes)
			}
		})
	}
}

// An unchanged frame costs nothing, whatever it shows.
func TestViewCostsNothingUnchanged(t *testing.T) {
	for name, keys := range map[string]string{
		"at the bottom": "", "away": "u u", "browsing": "k k", "searching": "/ 'clock enter", "selecting": "v k k", "details": "enter",
	} {
		m := New(theme.Dark())
		m.SetSize(80, 24)
		conversation(m)
		if keys != "" {
			m.Browse(true)
			press(m, strings.Fields(keys)...)
		}
		m.View()
		if n := testing.AllocsPerRun(100, func() { m.View() }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// A million tokens in many turns, and in one growing answer, take little more
// memory than their text.
func TestMemory(t *testing.T) {
	if !long {
		t.Skip("takes PARLEY_LONG=1")
	}
	const tokens, most = 1_000_000, 60 // MB
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc) / (1 << 20)
	}
	for name, fill := range map[string]func() *Model{
		"many turns": func() *Model { return filled(tokens) },
		"one answer": func() *Model {
			m := New(theme.Dark())
			m.SetSize(120, 40)
			streams(m, &feed{shape: shapes["mixed"]}, tokens, 16)
			return m
		},
		"scrolled through": func() *Model {
			m := stored(tokens * tokenSize / (len(document) + len(sampleDiff)))
			m.Top()
			for !m.AtBottom() {
				m.View()
				m.Page(1)
			}
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			empty := heap()
			m := fill()
			m.View()
			took := heap() - empty
			runtime.KeepAlive(m)
			t.Logf("%d tokens, %.1f MB", tokens, took)
			if took > most {
				t.Errorf("%d tokens take %.1f MB, want at most %d", tokens, took, most)
			}
		})
	}
}

// BenchmarkShapes streams answers of every shape, with a frame for each token and
// for every sixteen, as at 500 tokens per second. It reports the best time of
// each step, because the machine is busy with other work too.
func BenchmarkShapes(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for _, step := range []int{1, 16} {
			for _, tokens := range []int{1_000, 10_000, 100_000, 1_000_000} {
				b.Run(fmt.Sprintf("%s/frame=%d/%d", strings.ReplaceAll(name, " ", "-"), step, tokens), func(b *testing.B) {
					var c cost
					var best []time.Duration
					for b.Loop() {
						m := New(theme.Dark())
						m.SetSize(120, 40)
						c = streams(m, &feed{shape: shapes[name]}, tokens, step)
						if best == nil {
							best = c.steps
						}
						for i, took := range c.steps {
							best[i] = min(best[i], took)
						}
					}
					var all time.Duration
					for _, took := range best {
						all += took
					}
					slices.Sort(best)
					micros := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1000 }
					b.ReportMetric(micros(all)/float64(tokens), "µs/token")
					b.ReportMetric(c.allocs, "allocs/token")
					b.ReportMetric(c.bytes, "B/token")
					b.ReportMetric(micros(best[len(best)*99/100]), "p99-µs")
					b.ReportMetric(micros(best[len(best)-1]), "longest-µs")
				})
			}
		}
	}
}

// TestResizeCostsTheSame verifies that another width costs according to the visible rows,
// regardless of the length of the answer: at most one section of it is rendered.
func TestResizeCostsTheSame(t *testing.T) {
	if llmtest.Race {
		t.Skip("counts what one goroutine allocates, as the tests without the race detector do")
	}
	for _, name := range []string{"mixed", "list", "headings", "fence", "paragraph"} {
		t.Run(name, func(t *testing.T) {
			m := New(theme.Dark())
			m.SetSize(120, 40)
			f := &feed{shape: shapes[name]}
			resize := func() (bytes uint64) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				m.SetSize(100, 40)
				m.View()
				m.SetSize(120, 40)
				m.View()
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			var short, wide uint64
			most := 32_000
			if long {
				most = 48_000
			}
			for tokens := 0; tokens < most; tokens += 2_000 {
				streams(m, f, 2_000, 500)
				switch {
				case tokens < 8_000 && !long: // a growing answer takes more
				case tokens < 16_000:
					short = max(short, resize())
				case tokens >= 24_000 || long:
					wide = max(wide, resize())
				}
			}
			if wide > short*3/2 {
				t.Errorf("an answer of at most %d tokens takes %d kB at another width, one of at most 16,000 %d kB", most, wide>>10, short>>10)
			}
		})
	}
}
