package tui

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/anthropic"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/storetest"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/tui/input"
	"parley/ui/tui/panels"
)

// holding returns a screen of 80×24 with a conversation of n messages. Nothing runs concurrently.
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
	m := newModel(Options{Config: Default(), Panels: panels.New, App: app.Options{
		Flows: flows.Register, Session: s, Library: lib, Directory: dir, Workspace: "~/work", Now: time.Now, AbbrevPath: func(p string) string { return p },
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

// typeLetter does the work of the loop for a letter, and for storing the draft after it.
func typeLetter(m *Model) {
	m.Update(tea.KeyPressMsg{Code: 'a', Text: "a"})
	m.View()
	m.Update(input.SaveDraftMsg{})
	m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	m.View()
}

func BenchmarkType(b *testing.B) {
	for _, n := range []int{0, 10, 1000, 10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := holding(b, n)
			b.ReportAllocs()
			for b.Loop() {
				typeLetter(m)
			}
		})
	}
}

// Typing costs the same regardless of the length of the conversation, and no more on the first screen.
func TestTypingIsFlat(t *testing.T) {
	few, small := costOf(holding(t, 8))
	if none, size := costOf(holding(t, 0)); none > few+2 || size > small*11/10 {
		t.Errorf("a letter costs %d allocations of %d bytes on the first screen, %d of %d in a conversation", none, size, few, small)
	}
	many, large := costOf(holding(t, 400))
	if many > few+2 || large > small*11/10+256 {
		t.Errorf("a letter costs %d allocations of %d bytes in a long conversation, %d of %d in a short one", many, large, few, small)
	}
}

// costOf returns the number of allocations and bytes for a letter, the minimum of several
// rounds: other work of the program is not counted.
func costOf(m *Model) (count, size uint64) {
	const rounds, letters = 5, 20
	for range rounds {
		var before, after runtime.MemStats
		typeLetter(m) // caches filled by the first letter
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

// A cost is the cost of one operation.
type cost struct {
	allocations, bytes uint64
	took               time.Duration
}

// costs returns the minimum cost of f.
func costs(f func()) (least cost) {
	const rounds = 5
	for i := range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		f()
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		c := cost{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, took}
		if i == 0 || c.allocations < least.allocations {
			least.allocations, least.bytes = c.allocations, c.bytes
		}
		if i == 0 || took < least.took {
			least.took = took
		}
	}
	return least
}

// answering answers every request with "Yes.", after reading all of it.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	answer := `data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}` + "\n\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: io.NopCloser(strings.NewReader(answer))}, err
}

// asking returns a function that asks once more after n messages, including the bytes on the wire. It
// uses one format; TestWholeTurnIsFlat in ui/cli tests all.
func asking(tb testing.TB, n int) func() {
	lib := session.MemoryStore()
	tb.Cleanup(func() { _ = lib.Close() })
	const name = "claude-sonnet-4-5"
	claude := anthropic.New(anthropic.Options{BaseURL: "http://127.0.0.1:1/v1", Key: "test-key", Model: name, HTTP: &http.Client{Transport: answering{}}})
	model := llm.Endpoint{
		Model: claude, Name: "p/" + name, Origin: claude.Origin(), Strategy: "native", Known: true, Context: 1 << 30,
	}
	ids, err := storetest.Fill(lib, 1, n, "/p")
	if err != nil {
		tb.Fatal(err)
	}
	log, err := lib.Resume(ids[0])
	if err != nil {
		tb.Fatal(err)
	}
	s := session.New(session.Options{Log: log, Model: model})
	tb.Cleanup(func() { _ = s.Close() })
	return func() {
		for e := range s.Turn(tb.Context(), llm.Part{Kind: llm.Text, Text: "And now?"}) {
			if done, ok := e.(session.Done); ok && done.Err != nil {
				tb.Fatal(done.Err)
			}
		}
	}
}

// operations returns the operations to measure on a conversation of n messages, or among n conversations.
func operations(tb testing.TB, n int) map[string]func() {
	m := holding(tb, n)
	lib, s := m.App.Library, m.App.Session
	copied := session.MemoryStore()
	among := session.MemoryStore()
	tb.Cleanup(func() { _, _ = copied.Close(), among.Close() })
	ids, err := storetest.Fill(copied, 1, n, "/p")
	if err == nil {
		_, err = storetest.Fill(among, min(n, 10_000), 2, "/p")
	}
	if err != nil {
		tb.Fatal(err)
	}
	typeLetter(m)
	s.Next.Request()
	ask := asking(tb, n)
	ask() // it encodes the earlier messages
	return map[string]func(){
		"a further turn": ask,
		"type a letter":  func() { typeLetter(m) },
		"resize": func() {
			for _, width := range []int{100, 80} {
				m.Update(tea.WindowSizeMsg{Width: width, Height: 24})
				m.View()
			}
		},
		"a request":      func() { s.Next.Request(llm.Part{Kind: llm.Text, Text: "and now"}) },
		"search":         func() { _, _, _ = lib.Search(session.Query{Words: "w1999", Limit: 3}) },
		"list":           func() { _, _ = among.List(session.Query{}) },
		"the last three": func() { _, _ = among.List(session.Query{Limit: 3}) },
		"resume": func() {
			log, err := copied.Resume(ids[0])
			if err != nil {
				tb.Fatal(err)
			}
			_ = session.New(session.Options{Log: log, Model: s.Model()}).Close()
		},
	}
}

// The work at every key, at every prompt and at the start costs no more in a long
// conversation, or among many. Other work grows with the data it reads. PARLEY_LONG=1 logs a
// table up to 100,000.
func TestCostBySize(t *testing.T) {
	if llmtest.Race {
		t.Skip("counts what one goroutine allocates, as the tests without the race detector do")
	}
	sizes := []int{12, 300}
	if long {
		sizes = []int{12, 100, 1000, 10_000, 100_000}
	}
	table := map[string][]cost{}
	for _, n := range sizes {
		for name, do := range operations(t, n) {
			table[name] = append(table[name], costs(do))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		for i, c := range table[name] {
			t.Logf("%-14s %7d: %8d allocations, %10d bytes, %v", name, sizes[i], c.allocations, c.bytes, c.took)
		}
	}
	for _, name := range []string{"type a letter", "resize", "a request", "a further turn", "the last three"} {
		if few, many := table[name][0].allocations, table[name][len(sizes)-1].allocations; many > few+few/10+10 {
			t.Errorf("%s: %d allocations at %d, %d at %d", name, many, sizes[len(sizes)-1], few, sizes[0])
		}
	}
	for name, most := range map[string]uint64{"list": 3, "resume": 40} { // allocations for each session, or message
		few, many := table[name][0].allocations, table[name][1].allocations
		if each := (many - min(few, many)) / uint64(sizes[1]-sizes[0]); each > most {
			t.Errorf("%s: %d allocations for each, more than %d", name, each, most)
		}
	}
}
