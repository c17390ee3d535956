package transcript

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/ui/theme"
)

// stream adds text to an answer as it would arrive, and shares the caller's
// copy of it.
func stream(m *Model, id, text string) {
	for at := 0; at < len(text); {
		end := min(at+(64<<10), len(text))
		m.Blocks.AppendAnswer(id, text[at:end])
		m.View()
		Share(m, id, text[:end])
		at = end
	}
	m.Blocks.FinishAnswer(id)
	m.View()
}

// longAnswer returns an answer of some megabytes.
func longAnswer(piece string, size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, piece, n)
	}
	return b.String()
}

// For a long answer whose text is in memory anyway, little is kept besides: neither
// a copy of the text nor items far off the screen, for any kind of Markdown.
func TestLongAnswersAreHeldOnce(t *testing.T) {
	if llmtest.Race {
		t.Skip("the race detector holds more")
	}
	for name, piece := range map[string]string{
		"prose":  "%d " + strings.Repeat("some words ", 40) + "\n\n",
		"blocks": "# A %d\n\n- b\n\n```go\nf()\n```\n\n",
		"line":   "%d some words and more words of them ",
	} {
		t.Run(name, func(t *testing.T) {
			size := 5 << 20
			if name == "blocks" { // these take longest, and most memory if kept
				size /= 4
				if long {
					size *= 2
				}
			}
			text := longAnswer(piece, size)
			m := New(theme.Dark())
			m.SetSize(120, 40)
			m.View()
			before := heap()
			stream(m, "a", text)
			held := int64(heap()) - int64(before)
			runtime.KeepAlive(m)
			if most := int64(minSharedBytes + 5<<20); held > most {
				t.Errorf("%d KB are held beside the text, at most %d expected", held>>10, most>>10)
			}
			if got := m.LastAnswer(); got != text {
				t.Errorf("the source has %d bytes, want %d", len(got), len(text))
			}
			m.Top()
			if got := topRow(m); !strings.Contains(got, "0") {
				t.Errorf("top row %q", got)
			}
		})
	}
}

// A long answer looks the same when it is opened again, and acts like one block
// when copied, searched or dropped.
func TestLongAnswersAreOne(t *testing.T) {
	text := "Look:\n\n```go\n" + longAnswer("\tx := f(%d)\n", 900<<10) + "```\n\n" + longAnswer("Word %d.\n\n", 300<<10) + "The end.\n"
	live, opened := New(theme.Plain()), New(theme.Plain())
	for _, m := range []*Model{live, opened} {
		m.SetSize(100, 30)
		m.Blocks.AddUser("go")
	}
	stream(live, "a", text)
	opened.Blocks.AppendAnswer("a", text)
	opened.Blocks.FinishAnswer("a")
	if live.View() != opened.View() || len(live.Blocks.items) != len(opened.Blocks.items) || len(live.Blocks.items) < 5 {
		t.Errorf("%d blocks live, %d opened", len(live.Blocks.items), len(opened.Blocks.items))
	}
	code, _ := live.LastCode()
	if want := longAnswer("\tx := f(%d)\n", 900<<10); code != want {
		t.Errorf("%d bytes of code, want %d", len(code), len(want))
	}
	if got := live.LastAnswer(); got != text {
		t.Errorf("%d bytes of source, want %d", len(got), len(text))
	}
	live.search.countAll(newQuery("x := f"))
	if want := strings.Count(text, "x := f"); live.search.total != want {
		t.Errorf("%d places found, want %d", live.search.total, want)
	}
	live.Top()
	if live.Remove("a"); len(live.Blocks.items) != 1 {
		t.Errorf("%d blocks are left", len(live.Blocks.items))
	}
}

// heap returns the number of bytes in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
