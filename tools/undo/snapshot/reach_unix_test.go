//go:build unix

package snapshot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"parley/tools/act"
	"parley/tools/undo"
)

// A history from a backup says nothing of where it reaches: files of other workspaces than the
// conversation's stay as they are, also once tools have worked there, and those of folders
// beside it until the user adds them here.
func TestImportedHistoryReaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root, other, beside := fastDir(t), fastDir(t), fastDir(t)
		for _, dir := range []string{root, other, beside} {
			write(t, filepath.Join(dir, "a"), "here\n")
		}
		content := func(dir string) string {
			text, err := os.ReadFile(filepath.Join(dir, "a"))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		kept, log := filepath.Join(fastDir(t), "undo"), filepath.Join(fastDir(t), "log")
		s := openStore(kept)
		sum, err := s.put([]byte("evil\n"))
		if err != nil {
			t.Fatal(err)
		}
		now, err := s.put([]byte("here\n"))
		if err != nil {
			t.Fatal(err)
		}
		change := func(file string) []undo.Change {
			return []undo.Change{{Path: undo.Name(file), Before: undo.State{Kind: undo.File, Mode: 0o644, Sum: sum, Stored: true, Size: 5}, After: undo.State{Kind: undo.File, Mode: 0o644, Sum: now, Stored: true, Size: 5}}}
		}
		var text []byte
		for i, r := range []undo.Record{
			{Title: "own", Root: undo.Name(root), Changes: change("a")},
			{Title: "another workspace", Root: undo.Name(other), Changes: change("a")},
			{Title: "a folder", Root: undo.Name(root), Directory: undo.Name(beside), Changes: change(filepath.Join(beside, "a"))},
			{Title: "no folder", Root: undo.Name(root), Changes: change(filepath.Join(other, "a"))},
		} {
			r.N = i + 1
			one, err := json.Marshal(logLine{Record: &r})
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, one...), '\n')
		}
		if err := os.WriteFile(log, text, 0o600); err != nil {
			t.Fatal(err)
		}
		refused, err := s.Import("one", log, root)
		if want := []string{other, beside, filepath.Join(other, "a")}; err != nil || !slices.Equal(refused, want) {
			t.Errorf("refused %q, want %q: %v", refused, want, err)
		}
		undo := func(dir string, added ...string) {
			t.Helper()
			h, err := openStore(kept).history("one", dir)
			if err != nil {
				t.Fatal(err)
			}
			h.AddDirectories(added...)
			p, err := h.Plan(1)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := h.Restore(p, true, 0, "undo"); err != nil {
				t.Fatal(err)
			}
		}
		undo(other)
		h, err := openStore(kept).history("one", other)
		if err != nil {
			t.Fatal(err)
		}
		h.memory.began = true // each call walks
		w := h.Watch(act.FileCall{ID: "c", Title: "true"})
		begin(t, w)
		end(t, w)
		undo(other)
		undo(root)
		if a, b, c := content(root), content(other), content(beside); a != "evil\n" || b != "here\n" || c != "here\n" {
			t.Errorf("in the workspace %q, in another %q, beside %q", a, b, c)
		}
		undo(root, beside)
		if b, c := content(other), content(beside); b != "here\n" || c != "evil\n" {
			t.Errorf("with the folder added: in another workspace %q, beside %q", b, c)
		}
		if refused, err := s.Import("one", log, other); err != nil || len(refused) > 0 {
			t.Errorf("a history that is here was replaced: %q, %v", refused, err)
		}
	})
}

// A log that names a workspace or a folder which is not noted beside it reaches neither.
func TestLogReachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, beside := newDesk(t, map[string]string{"a": "old\n"}), fastDir(t)
		write(t, filepath.Join(beside, "a"), "old\n")
		d.shell("echo new > a")
		w := d.Watch(act.FileCall{ID: "w", Title: "write", Paths: []string{filepath.Join(beside, "a")}, Directory: beside})
		begin(t, w)
		write(t, filepath.Join(beside, "a"), "new\n")
		end(t, w)
		name := filepath.Join(filepath.Dir(d.file), reachName)
		if err := os.WriteFile(name, []byte(`{"roots":["/nowhere"]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := openStore(d.store.dir).history("one", d.dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.Plan(1)
		if err != nil || len(p.Steps) != 2 {
			t.Fatalf("%+v, %v", p, err)
		}
		_, skipped, err := h.Restore(p, true, 0, "undo")
		if err != nil || len(skipped) != 2 || d.read("a") != "new\n" {
			t.Errorf("skipped %v, a is %q: %v", skipped, d.read("a"), err)
		}
		for _, s := range skipped {
			if s.Why != h.dir+" is not the workspace that the conversation was restored with" && s.Why != "it is in no folder of this conversation" {
				t.Errorf("%s: %s", s.Path, s.Why)
			}
		}
		if err := os.Remove(name); err != nil { // as of a history from before there were such files
			t.Fatal(err)
		}
		h, err = openStore(d.store.dir).history("one", d.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, added := range []bool{false, true} { // by the user, to this workspace
			if added {
				h.AddDirectories(beside)
			}
			if p, err = h.Plan(1); err != nil {
				t.Fatal(err)
			}
			_, skipped, err = h.Restore(p, true, 0, "undo")
			text, _ := os.ReadFile(filepath.Join(beside, "a"))
			if err != nil || (len(skipped) == 0) != added || (string(text) == "old\n") != added || d.read("a") != "old\n" {
				t.Errorf("added %v: skipped %v, a is %q, beside it %q: %v", added, skipped, d.read("a"), text, err)
			}
		}
	})
}
