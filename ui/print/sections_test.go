package print

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/tools/sanitize"
	"parley/ui/theme"
)

// longCode returns code with blank lines, indented ones and one that is very long.
func longCode(size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "\tx%d := f(%d)\n\n", n, n)
	}
	return b.String() + strings.Repeat("0123456789", 60<<10) + "\n  end\n"
}

// The first code block is written whole, however long it or what surrounds it is.
func TestLongFirstCode(t *testing.T) {
	prose := strings.Repeat(strings.Repeat("words ", 50)+"\n\n", 2000)
	code := longCode(1 << 20)
	for name, tt := range map[string]struct{ text, want string }{
		"short":      {"a\n\n```sh\nls\n```\n\n```\nno\n```\n", "ls\n"},
		"empty":      {"```\n```\n\n```\nno\n```\n", "\n"},
		"behind":     {prose + "```sh\nls\n```\n" + prose + "```\nno\n```\n", "ls\n"},
		"long":       {prose + "```go\n" + code + "```\n" + prose + "```\nno\n```\n", code},
		"unfinished": {prose + "~~~\n" + strings.TrimSuffix(code, "\n"), code},
		"none":       {prose, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var c firstCode
			var out bytes.Buffer
			for text := tt.text; text != ""; {
				n := min(len(text), 5000)
				if err := c.add(&out, text[:n]); err != nil {
					t.Fatal(err)
				}
				text = text[n:]
			}
			found, err := c.end(&out)
			if err != nil || found != (tt.want != "") || out.String() != tt.want {
				t.Errorf("%v, %v, %d bytes, want %d", found, err, out.Len(), len(tt.want))
			}
		})
	}
}

// discarded counts bytes.
type discarded int

func (d *discarded) Write(p []byte) (int, error) { *d += discarded(len(p)); return len(p), nil }

// Printed text of an answer is not held any more: neither by -x nor rendered.
func TestPrintedIsNotHeld(t *testing.T) {
	if llmtest.Race {
		t.Skip("the race detector holds more")
	}
	const size = 2 << 20
	for name, piece := range map[string]string{
		"prose": strings.Repeat(strings.Repeat("some words ", 40)+"\n\n", 20),
		"line":  strings.Repeat("some words ", 800),
	} {
		t.Run(name, func(t *testing.T) {
			var out discarded
			r, c := newRendering(theme.Plain(), 100, false), &firstCode{}
			c.add(&out, "```go\n")
			before := heap()
			for n := 0; n < size; n += len(piece) {
				if err := r.add(&out, sanitize.Cleaned(piece)); err != nil {
					t.Fatal(err)
				}
				if err := c.add(&out, strings.ReplaceAll(piece, "```", "")); err != nil {
					t.Fatal(err)
				}
			}
			held := int64(heap()) - int64(before)
			runtime.KeepAlive(r)
			runtime.KeepAlive(c)
			if out < size {
				t.Errorf("%d bytes were written of %d", out, size)
			}
			if held > size/2 { // of one section
				t.Errorf("%d KB are held of %d", held>>10, size>>10)
			}
		})
	}
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
