package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/providers/llm"
)

// smallPieces has a test keep long texts in smaller pieces, which are handled as large ones are.
func smallPieces(t *testing.T, size int) {
	t.Helper()
	if long {
		return
	}
	usual := pieceSize
	pieceSize = size
	t.Cleanup(func() { pieceSize = usual })
}

// A long text is kept in pieces: what it grows by is all that is written anew,
// and it comes back as it was, in whole characters, wherever it was cut.
func TestLongTexts(t *testing.T) {
	smallPieces(t, 64<<10)
	db := fresh(t)
	l := db.Create(Session{})
	stored := func() (pieces, bytes int) {
		t.Helper()
		if err := db.View(func(q Tx) error {
			return q.QueryRow(`SELECT count(*), coalesce(sum(length(data)), 0) FROM blobs`).Scan(&pieces, &bytes)
		}); err != nil {
			t.Fatal(err)
		}
		return pieces, bytes
	}
	// Characters of three bytes, so that no piece ends where its size says.
	var b strings.Builder
	sizes := []int{1, pieceSize, 2*pieceSize - 1, 3*pieceSize + 99}
	if long {
		sizes = append(sizes, 4*pieceSize, 6*pieceSize)
	}
	for i := range sizes[len(sizes)-1]/3 + 1 {
		b.WriteRune(rune('一' + i%10_000))
	}
	whole := b.String()
	node := says(1, llm.RoleAssistant, "")
	for _, n := range sizes {
		n -= n % 3
		node.Parts = []llm.Part{{Kind: llm.Thinking, Text: whole[:n/2]}, {Kind: llm.Text, Text: whole[:n]}, {Kind: llm.Call, ID: "c", Input: `{"a":"` + whole[:n] + `"}`}}
		if err := l.Put(node); err != nil {
			t.Fatal(err)
		}
		if pieces, bytes := stored(); bytes > 2*n || pieces > 2*(n/pieceSize) {
			t.Errorf("%d bytes of text are %d pieces of %d bytes", n, pieces, bytes)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := db.Resume(l.Session().ID)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got := again.Nodes()[0].Parts
	for i, p := range node.Parts {
		if got[i].Text != p.Text || got[i].Input != p.Input {
			t.Errorf("part %d: %d and %d bytes came back of %d and %d", i, len(got[i].Text), len(got[i].Input), len(p.Text), len(p.Input))
		}
	}
}

// A piece that is missing is told, and the rest of the text is there.
func TestLongTextDamaged(t *testing.T) {
	smallPieces(t, 64<<10)
	db := fresh(t)
	l := db.Create(Session{})
	node := says(1, llm.RoleAssistant, strings.Repeat("a", pieceSize)+strings.Repeat("b", pieceSize)+strings.Repeat("c", pieceSize)+"end")
	if err := l.Put(node); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.write(func(w *writer) error {
		return w.Exec(`DELETE FROM blobs WHERE data = ?`, []byte(strings.Repeat("b", pieceSize)))
	}); err != nil {
		t.Fatal(err)
	}
	again, err := db.Resume(l.Session().ID)
	if again == nil {
		t.Fatal(err)
	}
	defer again.Close()
	want := strings.Repeat("a", pieceSize) + strings.Repeat("c", pieceSize) + "end"
	if got := again.Nodes()[0].Parts[0].Text; got != want {
		t.Errorf("%d bytes came back, want %d", len(got), len(want))
	}
	if err == nil {
		t.Error("nobody was told")
	}
}

// Reading a long text takes memory for the text itself and, piece by piece, for what
// the driver returns of it: nothing is held twice.
func TestLongTextMemory(t *testing.T) {
	smallPieces(t, 512<<10)
	size := 12 * pieceSize
	db := fresh(t)
	l := db.Create(Session{})
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "line %010d\n", i)
	}
	if err := l.Put(says(1, llm.RoleAssistant, text.String())); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, nodes, err := db.Read(l.Session().ID)
	runtime.ReadMemStats(&after)
	if err != nil || nodes[0].Parts[0].Text != text.String() {
		t.Fatalf("%d messages, %v", len(nodes), err)
	}
	got := float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
	t.Logf("reading takes %.2f bytes for each", got)
	if got > 2.5 { // the row itself holds the first and the last piece
		t.Errorf("reading takes %.2f bytes for each of the text", got)
	}
}

// The words of an import are written at once: SQLite would write them out before each message
// in between.
func TestWordsAreWrittenTogether(t *testing.T) {
	db := fresh(t)
	segments := func() (n int) {
		t.Helper()
		if err := db.View(func(q Tx) error { return q.QueryRow(`SELECT count(DISTINCT segid) FROM words_idx`).Scan(&n) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var nodes []Node
	for i := range 90 {
		nodes = append(nodes, says(i+1, llm.RoleUser, fmt.Sprint("message ", i)))
	}
	if _, err := db.Import(Session{}, nodes); err != nil {
		t.Fatal(err)
	}
	if n := segments(); n > 2 { // the title is the other one
		t.Errorf("an import wrote %d segments of its index", n)
	}
	if hits, _, err := db.Search(Query{Words: "message"}); err != nil || len(hits) != 91 { // and the title
		t.Errorf("found %d, %v", len(hits), err)
	}
}
