//go:build unix

package snapshot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"

	"parley/tools/act"
)

// Files in a folder that was added come back as those of the workspace do, also for a history
// that is opened anew; of one that is gone nothing is said to be undone.
func TestFilesInAddedFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real := func(dir string) string {
			dir, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}
		dir, beside, kept := real(t.TempDir()), real(t.TempDir()), t.TempDir()
		open := func() *History {
			h, err := openStore(kept).history("s", dir)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		put := func(name, text string) {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		old, made := filepath.Join(beside, "sub", "old"), filepath.Join(beside, "new", "made")
		put(old, "before")
		h := open()
		for _, file := range []string{old, made} {
			w := h.Watch(act.FileCall{ID: file, Title: "write", Paths: []string{filepath.ToSlash(file)}, Directory: beside})
			if err := w.Begin(); err != nil {
				t.Fatal(err)
			}
			put(file, "after")
			if r, err := ended(w); err != nil || len(r.Changes) == 0 || string(r.Directory) != beside {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		h = open()
		plan, err := h.Plan(1)
		if err != nil || plan.Count(false) == 0 {
			t.Fatalf("%+v, %v", plan, err)
		}
		if _, skipped, err := h.Restore(plan, false, 0, "undo"); err != nil || len(skipped) > 0 {
			t.Fatalf("%v, %v", skipped, err)
		}
		if text, err := os.ReadFile(old); string(text) != "before" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := os.Stat(filepath.Dir(made)); !os.IsNotExist(err) {
			t.Errorf("what was made is there: %v", err)
		}
		h = open()
		if plan, err := h.Plan(3); err != nil { // the undo is undone
			t.Fatal(err)
		} else if _, skipped, err := h.Restore(plan, false, 0, "redo"); err != nil || len(skipped) > 0 {
			t.Fatalf("%v, %v", skipped, err)
		}
		if text, err := os.ReadFile(made); string(text) != "after" {
			t.Errorf("%q, %v", text, err)
		}
		if err := os.RemoveAll(beside); err != nil {
			t.Fatal(err)
		}
		plan, err = open().Plan(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			if s.Blocked == "" {
				t.Errorf("%s of a folder that is gone is to be restored: %+v", s.Path, s)
			}
		}
	})
}

// Changes outside of what is watched are named, before and after.
func TestUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := openStore(t.TempDir()).history("s", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		h.memory.began = true // each call walks
		w := h.Watch(act.FileCall{ID: "1", Title: "make"})
		if err := w.Begin(); err != nil {
			t.Fatal(err)
		}
		w.MarkIncomplete("one")
		w.MarkIncomplete("")
		w.MarkIncomplete("two")
		if r, err := ended(w); err != nil || r.Partial != "one; two" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestManyFolders: a folder is covered whole even if it has more folders than the process may open.
func TestManyFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const inChild = "PARLEY_TEST_FEW_FILES"
		if os.Getenv(inChild) == "" {
			cmd := exec.Command("sh", "-c", `ulimit -n 40 && exec "$0" -test.run '^TestManyFolders$'`, os.Args[0])
			cmd.Env = append(os.Environ(), inChild+"=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return
		}
		dir := t.TempDir()
		for i := range 100 {
			if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("d%d/sub", i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		h, err := openStore(filepath.Join(t.TempDir(), "undo")).history("one", dir)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		l, err := h.snapshot(t.Context(), nil)
		if err != nil || len(l.entries) != 200 || len(l.listedDirs) != 201 || len(l.uncovered) > 0 {
			t.Errorf("%d entries, %d folders listed, %v left out, %v", len(l.entries), len(l.listedDirs), l.uncovered, err)
		}
	})
}
