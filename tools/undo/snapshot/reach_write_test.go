package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"parley/tools/undo"
)

// The reach of a history is written again by the next call if it could not be written.
func TestReachIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	s := openStore(filepath.Join(t.TempDir(), "undo"))
	h, err := s.history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(filepath.Dir(h.file), reachName)
	blocked := filepath.Join(name, "x") // which no file replaces
	if err := os.MkdirAll(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	call := func() error { return h.put(&undo.Record{Root: undo.Name(h.dir), Title: "a"}) }
	if err := call(); err == nil {
		t.Fatal("a call began whose history reaches nothing")
	}
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	if r, ok := readReach(h.file); !ok || len(r.Roots) != 1 {
		t.Errorf("it reaches %v, %v", r, ok)
	}
}
