package markdown

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// tokens splits text into pieces of about four characters, as models do.
func tokens(text string) (ts []string) {
	for len(text) > 6 {
		n := 4
		if i := strings.IndexAny(text[1:6], " \n"); i >= 0 {
			n = i + 1
		}
		for text[n]&0xc0 == 0x80 {
			n++
		}
		ts = append(ts, text[:n])
		text = text[n:]
	}
	return append(ts, text)
}

// BenchmarkStream streams mixed Markdown with code and renders at every token
// ("each"), or at every sixteenth as at 500 tokens per second and 30 frames. The
// time per token must not depend on the length of the text.
func BenchmarkStream(b *testing.B) {
	page := tokens(showcase(b) + "\n")
	for _, bm := range []struct {
		name          string
		tokens, every int
	}{{"each/1k", 1000, 1}, {"each/100k", 100_000, 1}, {"frames/1k", 1000, 16}, {"frames/100k", 100_000, 16}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := New(theme.Dark())
				for i := range bm.tokens {
					d.append(page[i%len(page)])
					if i%bm.every == 0 {
						d.Lines(80)
					}
				}
				d.Finish()
				d.Lines(80)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*bm.tokens), "µs/token")
		})
	}
}

// BenchmarkLongest reports the longest step of a stream, each step at its best,
// because the machine is busy with other work too. It is the step that closes 20
// KB of code.
func BenchmarkLongest(b *testing.B) {
	ts := tokens(showcase(b) + "\n```go\n" + strings.Repeat("\tif err != nil { return fmt.Errorf(\"reading %s: %w\", name, err) }\n", 300) + "```\n")
	best := make([]time.Duration, len(ts))
	for b.Loop() {
		d := New(theme.Dark())
		for i, tok := range ts {
			start := time.Now()
			d.append(tok)
			d.Lines(80)
			if took := time.Since(start); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	b.ReportMetric(float64(slices.Max(best).Microseconds()), "longest-µs")
}

func BenchmarkRender(b *testing.B) {
	text := strings.Repeat(showcase(b)+"\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Render(text, 80, theme.Dark())
	}
}

// BenchmarkDeep renders a megabyte each of texts designed to be slow, at once
// and streamed.
func BenchmarkDeep(b *testing.B) {
	for name, text := range deep(1 << 20) {
		text = sanitize.Text(text)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Render(text, 80, theme.Dark())
			}
		})
		b.Run(name+"/streamed", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d := New(theme.Dark())
				for piece := range slices.Chunk([]byte(text), 512) {
					d.append(string(piece))
					d.Lines(80)
				}
				d.Finish()
				d.Lines(80)
			}
		})
	}
}
