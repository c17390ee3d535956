package snapshot

import (
	"os"
	"path/filepath"
	"testing"

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
