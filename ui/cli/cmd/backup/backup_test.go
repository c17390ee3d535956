package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/session/store"
	"parley/session/storetest"
	"parley/tools/undo/snapshot"
	"parley/ui/cli/cmd/backup"
)

// states holds provider state in messages for each wire format; "" is none.
var states = []string{
	"",
	`[{"type":"reasoning.encrypted","data":"SEALED"}]`,
	`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hidden thought"}],"encrypted_content":"SEALED"}`,
	`{"type":"thinking","thinking":"hidden thought","signature":"SEALED"}`,
	`"U0VBTEVE"`,
}

// A machine is a store of conversations with the directory of earlier versions of files.
type machine struct {
	lib       *store.DB
	dir, undo string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	dir := t.TempDir()
	lib, err := store.Open(filepath.Join(dir, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lib.Close() })
	return machine{lib, dir, filepath.Join(dir, "undo")}
}

func (m machine) backup(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := backup.Write(&b, m.lib, m.undo, m.dir, time.Unix(1_795_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (m machine) restore(t *testing.T, data []byte) backup.Restored {
	t.Helper()
	done, err := backup.Restore(bytes.NewReader(data), m.lib, m.undo, snapshot.Open(m.undo), m.dir)
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(m.dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	return done
}

// TestEmptyMachine checks that a restore on an empty machine brings back everything about a conversation: its
// description, its messages with provider state, its annotations, and the earlier versions of files.
// TestNextRequestIsTheSame in ui/cli checks that its next request is the same.
func TestEmptyMachine(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	for i, state := range states {
		s, nodes := storetest.Branched(fmt.Sprint("id-", i), "a/b", "chat/x", state)
		if _, err := here.lib.Import(s, nodes, store.Annotation{N: 1, After: 7, Kind: "notice", Data: []byte(`{"text":"told"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"objects/ab/cdef", "sessions/id-0/log", "sessions/gone/log"} {
		path := filepath.Join(here.undo, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := name
		if strings.HasSuffix(name, "log") {
			text = `{"n":1,"title":"` + name + `","root":"/work"}`
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := here.backup(t)
	if done := there.restore(t, data); done.Conversations != len(states) || done.Same+done.Copies+len(done.Damaged)+len(done.Unchanged) > 0 {
		t.Fatalf("%+v", done)
	}
	for i, state := range states {
		id := fmt.Sprint("id-", i)
		a, b := described(t, here.lib, id), described(t, there.lib, id)
		if a != b {
			t.Errorf("stored\n%s\nrestored\n%s", a, b)
		}
		if state != "" && !strings.Contains(a, `"state":`+state) {
			t.Errorf("no %s in %s", state, a)
		}
	}
	for name, want := range map[string]bool{"objects/ab/cdef": true, "sessions/id-0/log": true, "sessions/gone/log": false} {
		got, err := os.ReadFile(filepath.Join(there.undo, name))
		if (err == nil) != want || want && !strings.Contains(string(got), name) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// described returns the store's data about a conversation.
func described(t *testing.T, lib *store.DB, id string) string {
	t.Helper()
	s, nodes, err := lib.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := lib.Annotations(id)
	if err != nil {
		t.Fatal(err)
	}
	s.Created = time.Time{} // the time of the import
	data, err := json.Marshal([]any{s, nodes, shown})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRestoreChangesNothing checks that a restore adds missing data and changes no existing data, including continued
// conversations and costs.
func TestRestoreChangesNothing(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	for i := range 3 {
		s, nodes := storetest.Branched(fmt.Sprint("s", i), "a/b", "chat/x", "")
		if _, err := here.lib.Import(s, nodes); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		if i == 2 {
			nodes[6].Parts[0].Text = "something else was said here"
		}
		if _, err := there.lib.Import(s, nodes); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []machine{here, there} {
		if err := m.lib.AddPromptAsync(store.SentPrompt{Text: m.dir})(); err != nil {
			t.Fatal(err)
		}
	}
	before := described(t, there.lib, "s2")
	data := here.backup(t)
	if done := there.restore(t, data); done.Conversations != 1 || done.Same != 1 || done.Copies != 1 || strings.Join(done.Unchanged, " ") != "prompts" {
		t.Errorf("%+v", done)
	}
	if after := described(t, there.lib, "s2"); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	all, err := there.lib.List(store.Query{Limit: -1})
	if err != nil || len(all) != 4 {
		t.Errorf("%d conversations, %v", len(all), err)
	}
	if done := there.restore(t, data); done.Conversations+done.Copies != 0 || done.Same != 3 {
		t.Errorf("once more: %+v", done)
	}
}

// TestRestoreFromTrash: a conversation that was deleted since is taken out of the trash.
func TestRestoreFromTrash(t *testing.T) {
	m := newMachine(t)
	s, nodes := storetest.Branched("deleted", "m", "", "")
	if _, err := m.lib.Import(s, nodes); err != nil {
		t.Fatal(err)
	}
	data := m.backup(t)
	if err := m.lib.Trash("deleted"); err != nil {
		t.Fatal(err)
	}
	done := m.restore(t, data)
	if s, _, err := m.lib.Read("deleted"); done.Conversations != 1 || done.Same != 0 || err != nil || !s.Deleted.IsZero() {
		t.Errorf("%+v, deleted %v, %v", done, s.Deleted, err)
	}
}

// TestRestoreAgain: a second restore adds what a failed one did not reach.
func TestRestoreAgain(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	s, nodes := storetest.Branched("a", "m", "", "")
	if _, err := here.lib.Import(s, nodes); err != nil {
		t.Fatal(err)
	}
	write := func(path string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(here.undo, "sessions", "a", "log"))
	data := here.backup(t)
	inTheWay := filepath.Join(there.undo, "sessions", "a")
	write(inTheWay)
	if _, err := backup.Restore(bytes.NewReader(data), there.lib, there.undo, snapshot.Open(there.undo), there.dir); err == nil {
		t.Fatal("no error")
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	there.restore(t, data)
	if _, err := os.Stat(filepath.Join(inTheWay, "log")); err != nil {
		t.Error(err)
	}
}

// TestNoBackup checks the errors for files that are no backup or incomplete, and that nothing of them is kept.
func TestNoBackup(t *testing.T) {
	here := newMachine(t)
	s, nodes := storetest.Branched("s", "a/b", "chat/x", "")
	if _, err := here.lib.Import(s, nodes); err != nil {
		t.Fatal(err)
	}
	whole := here.backup(t)
	for name, data := range map[string][]byte{"empty": nil, "without a database": archive(t, "parley-backup.json", `{"format":1}`), "text": []byte("hello"), "cut": whole[:len(whole)/2], "cut at the end": whole[:len(whole)-4]} {
		there := newMachine(t)
		_, err := backup.Restore(bytes.NewReader(data), there.lib, there.undo, snapshot.Open(there.undo), there.dir)
		if err == nil || !strings.Contains(err.Error(), "backup of parley") {
			t.Errorf("%s: %v", name, err)
		}
		if all, err := there.lib.List(store.Query{Limit: -1}); len(all) > 0 || err != nil {
			t.Errorf("%s: %d conversations, %v", name, len(all), err)
		}
		if err := filepath.WalkDir(there.dir, func(path string, _ fs.DirEntry, err error) error {
			if base := filepath.Base(path); err == nil && path != there.dir && !strings.HasPrefix(base, "parley.db") {
				t.Errorf("%s: %s stays", name, path)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

// packed returns a backup with this database and these other files, as a stranger could make it.
func packed(t *testing.T, database string, files map[string]string) []byte {
	t.Helper()
	data, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"parley-backup.json", `{"format":1}`, "parley.db", string(data)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		named = append(named, name, files[name])
	}
	return archive(t, named...)
}

// archive returns a zipped archive of files, given as names and contents in turn.
func archive(t *testing.T, named ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	out := tar.NewWriter(zipped)
	for i := 0; i < len(named); i += 2 {
		err := out.WriteHeader(&tar.Header{Name: named[i], Mode: 0o600, Size: int64(len(named[i+1]))})
		if _, werr := io.WriteString(out, named[i+1]); errors.Join(err, werr) != nil {
			t.Fatal(err, werr)
		}
	}
	if err := errors.Join(out.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHostileBackups checks that a hostile backup writes no file outside the directory of earlier versions, and that
// nothing in its database is executed.
func TestHostileBackups(t *testing.T) {
	for name, c := range map[string]struct {
		id, sql string
		files   map[string]string
	}{
		"a conversation called as a path":  {id: "../../../undo/objects", files: map[string]string{"undo/objects/planted": "x", "undo/sessions/x/log": ""}},
		"a conversation above":             {id: "..", files: map[string]string{"undo/planted/x": "x"}},
		"a log of the database":            {id: "s", files: map[string]string{"undo/../parley.db-wal": "x"}},
		"a file beside":                    {id: "s", files: map[string]string{"undo/../planted/x": "x"}},
		"a trigger":                        {id: "s", sql: `CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM nodes; END`},
		"a view":                           {id: "s", sql: `DROP TABLE drafts; CREATE VIEW drafts AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i, '', 0, '', 0 FROM n`},
		"a trigger by the name of another": {id: "s", sql: `DROP TRIGGER ledger_insert; CREATE TRIGGER ledger_insert AFTER INSERT ON ledger BEGIN DELETE FROM nodes; END`},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := newMachine(t), newMachine(t)
			s, nodes := storetest.Branched(c.id, "a/b", "chat/x", "")
			if _, err := here.lib.Import(s, nodes); err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(here.dir, "copy.db")
			if err := store.Snapshot(here.lib, copied); err != nil {
				t.Fatal(err)
			}
			if c.sql != "" {
				db, err := sql.Open("sqlite", copied)
				if err != nil {
					t.Fatal(err)
				}
				_, err = db.Exec(c.sql)
				if err = errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
			}
			_, err := backup.Restore(bytes.NewReader(packed(t, copied, c.files)), there.lib, there.undo, snapshot.Open(there.undo), there.dir)
			if c.id == "s" && (err == nil || !strings.Contains(err.Error(), "this is no backup of parley")) || c.id != "s" && err != nil {
				t.Errorf("%v", err)
			}
			if names, err := filepath.Glob(filepath.Join(there.dir, "*")); err != nil || slices.ContainsFunc(names, func(n string) bool {
				return filepath.Base(n) != "undo" && !strings.HasPrefix(filepath.Base(n), "parley.db")
			}) {
				t.Errorf("there is now %q, %v", names, err)
			}
			for _, planted := range []string{filepath.Join(there.undo, "planted"), filepath.Join(there.dir, "..", "undo")} {
				if _, err := os.Lstat(planted); err == nil {
					t.Errorf("%s was written", planted)
				}
			}
			if all, err := there.lib.List(store.Query{Limit: -1}); c.id == "s" && len(all) > 0 || err != nil {
				t.Errorf("%d conversations, %v", len(all), err)
			}
		})
	}
}

// TestPermissionsAreNotRestored checks that a backup does not change the directories of tools, trust and permissions.
func TestPermissionsAreNotRestored(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	s, nodes := storetest.Branched("s", "a/b", "chat/x", "")
	if _, err := here.lib.Import(s, nodes, store.Annotation{N: 1, After: 7, Kind: store.KindDirectories, Data: []byte(`{"dirs":["/etc"]}`)}, store.Annotation{N: 2, After: 7, Kind: "notice", Data: []byte(`{"text":"told"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"models", "rules", "trust of /work", "theme"} {
		if err := here.lib.Set(key, "theirs"); err != nil {
			t.Fatal(err)
		}
	}
	there.restore(t, here.backup(t))
	for key, want := range map[string]string{"models": "theirs", "theme": "theirs", "rules": "", "trust of /work": ""} {
		if got, err := there.lib.Get(key); got != want || err != nil {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	shown, err := there.lib.Annotations("s")
	if err != nil || len(shown) != 1 || shown[0].Kind != "notice" {
		t.Errorf("%+v, %v", shown, err)
	}
}
