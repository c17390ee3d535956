package snapshot

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"parley/tools/undo"
)

// TestCopy: a copy of a conversation has other numbers for its messages, and so the records and marks of
// them. All that happened to the files is there, in its order, but what belongs to messages that are not in the copy
// belongs to none.
func TestCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(filepath.Join(t.TempDir(), "undo"))
		h, err := s.history("from", dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []int{0, 2, 4, 6, 8} {
			if err := h.put(&undo.Record{Seq: seq, Root: undo.Name(h.dir), Title: "x"}); err != nil {
				t.Fatal(err)
			}
			h.MarkBranch(seq)
		}
		if err := s.Copy("from", "to", []int{1, 5, 6, 8}); err != nil {
			t.Fatal(err)
		}
		c, err := s.history("to", dir)
		if err != nil {
			t.Fatal(err)
		}
		var seqs, ns []int
		for _, r := range c.Records() {
			seqs, ns = append(seqs, r.Seq), append(ns, r.N)
		}
		if want := []int{0, noMessage, noMessage, 3, 4}; !slices.Equal(seqs, want) || !slices.Equal(ns, []int{1, 2, 3, 4, 5}) {
			t.Errorf("the records belong to %v, want %v, numbered %v", seqs, want, ns)
		}
		for head, want := range map[int]int{0: 1, 1: 0, 2: 0, 3: 4, 6: 0, 8: 0} {
			if n, ok := c.BranchMark(head); ok != (want > 0) || ok && n != want {
				t.Errorf("the mark of %d is %d, %t, want %d", head, n, ok, want)
			}
		}
		if _, ok := c.branchMarks[4]; !ok {
			t.Error("the mark of the last one is lost")
		}
		if err := s.Copy("nothing", "other", nil); err != nil {
			t.Errorf("a conversation without files: %v", err)
		}
	})
}

// TestOtherRoots: what was changed in another workspace is known, and not undone from here.
func TestOtherRoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := t.TempDir(), t.TempDir()
		s := openStore(filepath.Join(t.TempDir(), "undo"))
		for _, dir := range []string{here, there, here, there} {
			h, err := s.history("one", dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.put(&undo.Record{Root: undo.Name(h.dir), Title: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		h, err := s.history("one", here)
		if err != nil {
			t.Fatal(err)
		}
		if other := h.OtherRoots(); len(h.Records()) != 2 || !slices.Equal(other, []string{there}) {
			t.Errorf("%d records here, others in %q", len(h.Records()), other)
		}
	})
}
