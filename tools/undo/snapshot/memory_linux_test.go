package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/tools/act"
	"parley/tools/undo"
)

// TestRememberedLinks: a file that changed by another name, outside of the workspace, is restored too.
func TestRememberedLinks(t *testing.T) {
	base := fastDir(t)
	dir, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	write(t, outside, "before")
	write(t, filepath.Join(dir, "sub/other"), "x")
	if err := os.Link(outside, filepath.Join(dir, "file")); err != nil {
		t.Skip(err)
	}
	h, err := openStore(filepath.Join(base, "data", "undo")).history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	remember(t, h)
	w := h.Watch(act.FileCall{ID: "c", Title: "x"})
	begin(t, w)
	if w.(*Watch).snapshot.base == nil {
		t.Error("the workspace was walked")
	}
	write(t, outside, "after the call")
	r := end(t, w)
	if len(r.Changes) != 1 || r.Changes[0].Path != "file" || !r.Changes[0].Before.Stored {
		t.Errorf("%+v", r.Changes)
	}
}

// TestWarmedDuringACall: a command is not said to have changed what an edit changed while the workspace was walked.
func TestWarmedDuringACall(t *testing.T) {
	base := fastDir(t)
	dir := filepath.Join(base, "work")
	write(t, filepath.Join(dir, "file"), "old")
	h, err := openStore(filepath.Join(base, "data", "undo")).history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	edit := h.Watch(act.FileCall{ID: "1", Seq: 1, Title: "edit", Paths: []string{"file"}})
	begin(t, edit)
	known(t, h)
	write(t, filepath.Join(dir, "file"), "new text")
	end(t, edit)
	command := h.Watch(act.FileCall{ID: "2", Seq: 2, Title: "true"})
	begin(t, command)
	if w := command.(*Watch).snapshot; w.base == nil || !w.base.entries["file"].hasContent {
		t.Errorf("the workspace was walked for the call, or its files were not read: %+v", w)
	}
	if r := end(t, command); len(r.Changes)+len(r.Uncovered) > 0 {
		t.Errorf("a command that did nothing: %+v, %+v", r.Changes, r.Uncovered)
	}
}

// TestRememberedTwoCalls: two calls at once both see a change during both of them.
func TestRememberedTwoCalls(t *testing.T) {
	base := fastDir(t)
	dir := filepath.Join(base, "work")
	write(t, filepath.Join(dir, "sub/file"), "before")
	h, err := openStore(filepath.Join(base, "data", "undo")).history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	remember(t, h)
	a, b := h.Watch(act.FileCall{ID: "a", Title: "a"}), h.Watch(act.FileCall{ID: "b", Title: "b"})
	begin(t, a)
	begin(t, b)
	write(t, filepath.Join(dir, "sub/file"), "after")
	write(t, filepath.Join(dir, "new/file"), "new")
	first := end(t, a)
	write(t, filepath.Join(dir, "sub/file"), "later")
	second := end(t, b)
	for _, r := range []undo.Record{first, second} {
		if len(r.Changes) != 3 || r.Partial != "" {
			t.Errorf("%s: %+v, %q", r.Title, r.Changes, r.Partial)
		}
	}
	if first.Changes[2].After.Same(second.Changes[2].After) {
		t.Errorf("the same state after both: %+v", second.Changes)
	}
}

// TestClosedHistoryForgetsNothing: what is remembered stays for the other conversations of a folder.
func TestClosedHistoryForgetsNothing(t *testing.T) {
	base := fastDir(t)
	dir := filepath.Join(base, "work")
	write(t, filepath.Join(dir, "file"), "text")
	store := openStore(filepath.Join(base, "data", "undo"))
	closed, err := store.history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	open, err := store.history("two", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	known(t, open)
	closed.Close()
	closed.remember()
	if open.memory.now == nil {
		t.Error("the workspace is not remembered any more")
	}
}

// A late context's deadline has passed, and it has not ended yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// TestRefreshInPart: a new folder that was not walked in time is not remembered as an empty one.
func TestRefreshInPart(t *testing.T) {
	base := fastDir(t)
	dir := filepath.Join(base, "work")
	write(t, filepath.Join(dir, "file"), "text")
	h, err := openStore(filepath.Join(base, "data", "undo")).history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	known(t, h)
	write(t, filepath.Join(dir, "new/file"), "text")
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	if h.refresh(late{t.Context()}) || h.memory.now != nil {
		t.Errorf("remembered: %v", h.memory.now.entries)
	}
}

// TestFillCache: contents are read ahead for a limited time, and git's packs are closed again.
func TestFillCache(t *testing.T) {
	dir := fastDir(t)
	makeRepository(t, dir, 20, true)
	h, err := openStore(filepath.Join(fastDir(t), "undo")).history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, within := range []time.Duration{0, time.Hour} {
		l, err := h.workspace.snapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		h.fillCache(l, within)
		if (l.partial == "") != (within > 0) || len(l.git.packs) > 0 {
			t.Errorf("within %v: %q, %d packs are open", within, l.partial, len(l.git.packs))
		}
	}
}
