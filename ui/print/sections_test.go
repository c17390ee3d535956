package print

import (
	"runtime"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/tools/sanitize"
	"parley/ui/theme"
)

// discarded counts bytes.
type discarded int

func (d *discarded) Write(p []byte) (int, error) { *d += discarded(len(p)); return len(p), nil }

// Printed text of a rendered answer is not kept in memory.
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
			r := newRendering(theme.Plain(), 100, false)
			before := heap()
			for n := 0; n < size; n += len(piece) {
				if err := r.add(&out, sanitize.Cleaned(piece)); err != nil {
					t.Fatal(err)
				}
			}
			held := int64(heap()) - int64(before)
			runtime.KeepAlive(r)
			if out < size-size/1000 { // lines lose their trailing spaces
				t.Errorf("%d bytes were written of %d", out, size)
			}
			if held > size/2 { // the memory of one section
				t.Errorf("%d KB are held of %d", held>>10, size>>10)
			}
		})
	}
}

// heap returns the number of bytes in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
