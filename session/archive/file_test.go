package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// makeDatabase makes the database that a file of testdata describes, in a folder as the
// program has it, and returns its path.
func makeDatabase(t testing.TB, name string, more ...string) string {
	t.Helper()
	script, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "proj", ".crush", strings.TrimSuffix(name, ".sql")+".db")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	execute(t, path, append([]string{string(script)}, more...)...)
	return path
}

func execute(t testing.TB, path string, scripts ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:///"+strings.TrimPrefix(filepath.ToSlash(path), "/")+"?_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		if _, err := pool.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}

// makeDirectory makes the folder that a txtar file of testdata describes.
func makeDirectory(t testing.TB, name string) string {
	t.Helper()
	files, err := txtar.ParseFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readAll(t testing.TB, path string, known func(id, stamp string) bool) ([]Conversation, []Notice, error) {
	t.Helper()
	var list []Conversation
	notices, err := ReadFile(t.Context(), path, known, func(c Conversation) error {
		list = append(list, c)
		return nil
	})
	return list, notices, err
}

// TestReadFile: conversations in databases and directories of other programs are read whole.
func TestReadFile(t *testing.T) {
	for _, name := range []string{"crush.sql", "opencode.sql", "llm.sql", "opencode.txtar"} {
		t.Run(name, func(t *testing.T) {
			var path string
			if strings.HasSuffix(name, ".txtar") {
				path = makeDirectory(t, name)
			} else {
				path = makeDatabase(t, name)
			}
			list, notices, err := readAll(t, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, c := range list {
				if err := checkValid(c); err != nil {
					t.Error(err)
				}
				if filepath.IsAbs(c.Session.Dir) && strings.HasPrefix(path, c.Session.Dir) {
					c.Session.Dir = "/" + filepath.Base(c.Session.Dir)
				}
				b.WriteString(outline(c))
				checkWritable(t, c)
			}
			for _, n := range notices {
				b.WriteString("- " + n.String() + "\n")
			}
			golden(t, name+".golden", b.String())

			stamps := map[string]string{}
			for _, c := range list {
				stamps[c.Session.ID] = c.Stamp
			}
			again, _, err := readAll(t, path, func(id, stamp string) bool { return stamps[id] == stamp })
			if err != nil || len(again) != 0 {
				t.Errorf("known conversations are read again: %d, %v", len(again), err)
			}
		})
	}
}

// TestOpenDatabase: what a running program has only in its log is read, and no file appears
// beside its database.
func TestOpenDatabase(t *testing.T) {
	path := makeDatabase(t, "crush.sql", "PRAGMA journal_mode = WAL")
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for _, s := range []string{"PRAGMA wal_autocheckpoint = 0", `INSERT INTO sessions VALUES ('4f0c2a52-0000-4000-8000-000000000009', NULL, 'In the log', 1, 0, 0, 0, 1764000050, 1764000050, NULL, NULL)`,
		`INSERT INTO messages VALUES ('n1', '4f0c2a52-0000-4000-8000-000000000009', 'user', '[{"type":"text","data":{"text":"late"}}]', '', 1764000050, 0, NULL, '', 0)`} {
		if _, err := pool.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	before := fileStates(t, filepath.Dir(path))
	list, _, err := readAll(t, path, nil)
	if err != nil || len(list) != 2 || list[1].Session.Title != "In the log" {
		t.Fatalf("%d conversations, %v", len(list), err)
	}
	if after := fileStates(t, filepath.Dir(path)); after != before {
		t.Errorf("the folder had\n%s\nand has\n%s", before, after)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "parley-import-*")); len(left) > 0 {
		for _, dir := range left {
			if _, err := os.Stat(filepath.Join(dir, "copy.db")); err == nil {
				t.Logf("a copy is left, maybe of another test: %s", dir)
			}
		}
	}
}

// fileStates returns the files below a folder, with size and time.
func fileStates(t testing.TB, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all = append(all, fmt.Sprint(path, " ", info.Size(), " ", info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// TestReadFileRefuses: a file that holds no conversation is an error that says so.
func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	database := func(scripts ...string) string {
		path := filepath.Join(t.TempDir(), "x.db")
		execute(t, path, scripts...)
		return path
	}
	sound := makeDatabase(t, "opencode.sql")
	data, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	endless := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 't' AS title FROM n`
	tests := []struct{ name, path, err string }{
		{"nothing there", filepath.Join(dir, "none"), "no such file"},
		{"an empty folder", t.TempDir(), "contains no conversation"},
		{"a folder without sessions", makeFolderOf(t, "session/p"), "contains no conversation"},
		{"half a database", write("half.db", string(data[:5000])), "not a whole database"},
		{"only a beginning", write("begin.db", sqliteMagic), "not a whole database"},
		{"another program's", database("CREATE TABLE cats (name TEXT)"), "contains no conversation"},
		{"views that never end", database("CREATE VIEW sessions AS "+endless, "CREATE VIEW messages AS SELECT 1 AS id, 2 AS session_id, 3 AS role, 4 AS parts"), "contains no conversation"},
		{"tables without rows", database("CREATE TABLE session (id, title)", "CREATE TABLE message (id, session_id, data)", "CREATE TABLE part (id, message_id, data)"), "contains no conversation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, _, err := readAll(t, tt.path, nil)
			if err == nil || !strings.Contains(err.Error(), tt.err) || len(list) > 0 {
				t.Errorf("%d conversations, %v, want %q", len(list), err, tt.err)
			}
		})
	}
	broken := slices.Clone(data)
	for i := 8192; i < len(broken); i += 97 {
		broken[i] ^= 0x5a
	}
	list, _, err := readAll(t, write("broken.db", string(broken)), nil)
	for _, c := range list {
		if err := checkValid(c); err != nil {
			t.Error(err)
		}
	}
	if err == nil && len(list) == 0 {
		t.Error("a broken database is an empty one")
	}
}

func makeFolderOf(t *testing.T, below string) string {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLongValues: of a value that is too long only its message is lost.
func TestLongValues(t *testing.T) {
	path := makeDatabase(t, "crush.sql", `UPDATE messages SET parts = '[{"type":"text","data":{"text":"' || printf('%.*c', 5000, 'x') || '"}}]' WHERE id = 'm6'`)
	l := standard
	l.line = 4000
	n := 0
	r := &sourceReader{limits: l, skipped: newSkipped(), each: func(c Conversation) error { n += len(c.Nodes); return checkValid(c) }}
	if err := r.file(t.Context(), path); err != nil || n != 6 || !strings.Contains(noticeTexts(r.skipped.list()), "too long (2): first in message m6") {
		t.Errorf("%d messages, %v, %s", n, err, noticeTexts(r.skipped.list()))
	}
}

// TestReadFileStops: an error of each, or a canceled context, ends reading.
func TestReadFileStops(t *testing.T) {
	path := makeDatabase(t, "llm.sql")
	full := errors.New("disk full")
	calls := 0
	if _, err := ReadFile(t.Context(), path, nil, func(Conversation) error { calls++; return full }); !errors.Is(err, full) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadFile(ctx, path, nil, func(Conversation) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// FuzzCrush, FuzzOpencode and FuzzLLM change the values of rows.
func FuzzCrush(f *testing.F) {
	fuzzRows(f, "crush.sql", `UPDATE messages SET role = ?, parts = ? WHERE id IN ('m2', 'm3', 'm6')`,
		"assistant", `[{"type":"tool_call","data":{"id":"a","name":"b","input":"{}"}},{"type":"tool_result","data":{"tool_call_id":"a"}}]`)
}

func FuzzOpencode(f *testing.F) {
	fuzzRows(f, "opencode.sql", `UPDATE part SET data = iif(id IN ('prt_05', 'prt_16', 'prt_10'), ?2, data), message_id = iif(id = 'prt_16', ?1, message_id)`,
		"msg_2", `{"type":"tool","tool":"bash","callID":"toolu_1","state":{"status":"completed","input":{}}}`)
}

func FuzzLLM(f *testing.F) {
	fuzzRows(f, "llm.sql", `UPDATE tool_calls SET tool_call_id = ?, arguments = ?`, "call_1", `{"a":1}`)
}

func fuzzRows(f *testing.F, name, change, a, b string) {
	path := makeDatabase(f, name)
	f.Add(a, b)
	f.Add("", "[]")
	f.Add("user", "{")
	f.Fuzz(func(t *testing.T, a, b string) {
		pool, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pool.Exec(change, a, b)
		if err = errors.Join(err, pool.Close()); err != nil {
			t.Fatal(err)
		}
		list, _, err := readAll(t, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if err := checkValid(c); err != nil {
				t.Fatal(err)
			}
			checkWritable(t, c)
		}
	})
}

// FuzzDatabase: bytes that begin as a database are read or refused.
func FuzzDatabase(f *testing.F) {
	for _, name := range []string{"crush.sql", "opencode.sql", "llm.sql"} {
		data, err := os.ReadFile(makeDatabase(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "x.db")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		list, _, _ := readAll(t, path, nil)
		for _, c := range list {
			if err := checkValid(c); err != nil && c.Session.Origin != "" {
				t.Fatal(err)
			}
		}
	})
}
