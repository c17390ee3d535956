package tui

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/storetest"
	"parley/ui/app"
	"parley/ui/tui/input"
)

// holding returns a screen of 80×24 that shows a conversation of n messages. Nothing runs
// beside it.
func holding(tb testing.TB, n int) *Model {
	tb.Helper()
	lib := session.MemoryStore()
	dir := tb.TempDir()
	ids, err := storetest.Fill(lib, 1, n, dir)
	if err != nil {
		tb.Fatal(err)
	}
	log, err := lib.Resume(ids[0])
	if err != nil {
		tb.Fatal(err)
	}
	s := session.New(session.Options{Log: log, Model: llm.Endpoint{Model: llmtest.New(), Name: storetest.Model, Origin: storetest.Origin, Strategy: "native", Known: true, Context: 1 << 30}})
	m := newModel(Options{Config: Default(), Options: app.Options{
		Session: s, Library: lib, Folder: dir, Workspace: "~/work", Now: time.Now, Short: func(p string) string { return p },
		Estimate: func(text string) int { return len(text) / 4 },
	}})
	tb.Cleanup(func() {
		m.input.Close()
		if err := lib.Close(); err != nil {
			tb.Error(err)
		}
	})
	m.Send = func(tea.Msg) {}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.View()
	return m
}

// typeLetter does what the loop does for a letter, and for the draft that is kept after it.
func typeLetter(m *Model) {
	m.Update(tea.KeyPressMsg{Code: 'a', Text: "a"})
	m.View()
	m.Update(input.KeepMsg{})
	m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	m.View()
}

func BenchmarkType(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := holding(b, n)
			b.ReportAllocs()
			for b.Loop() {
				typeLetter(m)
			}
		})
	}
}

// Typing costs the same however long the conversation is.
func TestTypingIsFlat(t *testing.T) {
	few, small := costOf(holding(t, 8))
	many, large := costOf(holding(t, 400))
	if many > few+2 || large > small*11/10+256 {
		t.Errorf("a letter costs %d allocations of %d bytes in a long conversation, %d of %d in a short one", many, large, few, small)
	}
}

// costOf returns how often a letter allocates, and how many bytes, the least of several rounds:
// what else the program does is not counted.
func costOf(m *Model) (count, size uint64) {
	const rounds, letters = 5, 20
	for range rounds {
		var before, after runtime.MemStats
		typeLetter(m) // what is kept from the first letter on
		runtime.ReadMemStats(&before)
		for range letters {
			typeLetter(m)
		}
		runtime.ReadMemStats(&after)
		n, b := (after.Mallocs-before.Mallocs)/letters, (after.TotalAlloc-before.TotalAlloc)/letters
		if count == 0 || n < count {
			count = n
		}
		if size == 0 || b < size {
			size = b
		}
	}
	return count, size
}
