//go:build unix

package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley/tools/act"
)

// A closed history keeps nothing more: what reads ahead ends, what comes later does not begin,
// and a call is told that it cannot be undone.
func TestCloseEndsReading(t *testing.T) {
	dir, kept := fastDir(t), filepath.Join(fastDir(t), "undo")
	const n = 5000
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprint("f", i)), fmt.Sprint("content ", i))
	}
	h, err := openStore(kept).history("s", dir)
	if err != nil {
		t.Fatal(err)
	}
	contents := func() int {
		return len(openStore(kept).bundles.items())
	}
	h.Warm()
	for contents() == 0 {
	}
	h.Close()
	at := contents()
	h.Warm()
	w := h.Watch(act.FileCall{ID: "1", Title: "true"})
	if now := contents(); now != at || now == n {
		t.Errorf("%d of %d were kept when it was closed, and %d later", at, n, now)
	}
	if told := w.Coverage(); told != "what it changes cannot be undone: the conversation is closed" {
		t.Errorf("told %q", told)
	}
	if err := w.Begin(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	w.Cancel()
	h.Close()
	if _, err := os.Stat(h.file); err == nil || len(h.Records()) > 0 {
		t.Error("a call was entered into a closed history")
	}
}
