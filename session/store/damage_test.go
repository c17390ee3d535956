package store

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// sample returns the bytes of a store with sessions of some messages each, and their
// IDs.
func sample(t testing.TB, sessions int) (file []byte, ids []string) {
	t.Helper()
	db := fresh(t)
	for i := range sessions {
		l := db.Create(Session{ID: fmt.Sprintf("s%02d", i)})
		talk(t, l, "question about apples", strings.Repeat("an answer that fills pages ", 40), "thanks", "welcome")
		ids = append(ids, l.Session().ID)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(db.path)
	if err != nil {
		t.Fatal(err)
	}
	return file, ids
}

// survey opens a file and reads all of it, in a test of its own, which removes the copy.
// Nothing may panic, and no list may be empty without an error.
func survey(t *testing.T, file []byte, ids []string) (listed int, explicit bool) {
	t.Helper()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(path)
	if err != nil {
		return 0, true
	}
	defer func() { _ = db.Close() }()
	list, err := db.List(Query{})
	if err == nil && len(list) == 0 && len(file) > 0 {
		t.Error("an empty list without a word")
	}
	explicit = err != nil || db.Check() != nil
	for _, id := range ids {
		_, nodes, err := db.Read(id)
		if err == nil && len(nodes) == 0 {
			t.Errorf("session %s is empty without a word", id)
		}
	}
	_, _ = db.Find("s0")
	_, _, _ = db.Search(Query{Words: "apples"})
	_, _ = dailyUsage(db, time.Time{}, time.Time{}, true)
	if l, err := db.Resume(ids[0]); err == nil {
		_ = l.Put(says(100, llm.RoleUser, "more"))
		_ = l.Close()
	}
	return len(list), explicit
}

func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	file, ids := sample(t, 8)
	r := rand.New(rand.NewPCG(5, uint64(len(file))))
	for range either(30, 2000) {
		at, bit := r.IntN(len(file)), byte(1)<<r.IntN(8)
		damaged := bytes.Clone(file)
		damaged[at] ^= bit
		t.Run(fmt.Sprintf("byte %d ^ %#x", at, bit), func(t *testing.T) {
			listed, explicit := survey(t, damaged, ids)
			if listed < len(ids)-1 && !explicit {
				t.Errorf("only %d sessions are listed, without a word", listed)
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	file, ids := sample(t, 8)
	cuts := either(12, 200)
	for i := range cuts {
		size := (i + 1) * len(file) / (cuts + 1)
		if i%2 == 0 {
			size = size / 4096 * 4096
		}
		if size == 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d of %d bytes", size, len(file)), func(t *testing.T) {
			if _, explicit := survey(t, file[:size], ids); !explicit {
				t.Error("nobody noticed")
			}
		})
	}
}

// Opening a file that is no store of parley is an error, and leaves it as it is.
func TestForeign(t *testing.T) {
	database := func(statement string) []byte {
		other := filepath.Join(t.TempDir(), "other.db")
		pool, err := sql.Open("sqlite", uri(other, ""))
		if err != nil {
			t.Fatal(err)
		}
		_, err = pool.Exec(statement)
		if err = errors.Join(err, pool.Close()); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"text":              {[]byte(strings.Repeat("dear diary\n", 500)), "file is not a database"},
		"a few bytes":       {[]byte("hi"), "file is not a database"},
		"another database":  {database(`CREATE TABLE cookies (x); INSERT INTO cookies VALUES (1)`), "a database of another program"},
		"another's number":  {database(`PRAGMA application_id = 7`), "a database of another program"},
		"another's version": {database(`PRAGMA user_version = 1`), "a database of another program"},
	} {
		path := filepath.Join(llmtest.Folder(t), "parley.db")
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path)
		if err == nil {
			_ = db.Close()
			t.Errorf("%s: it was opened", name)
		} else if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %q, want %q", name, err, tt.want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, tt.file) {
			t.Errorf("%s: it was changed, %v", name, err)
		}
	}
}

func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	talk(t, reopen(t, path).Create(Session{}), "hello")
}

// A file of a newer parley can be read and stays as it is, byte for byte.
func TestNewerSchema(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	id := l.Session().ID
	talk(t, l, "hello", "hi")
	if err := db.writer.script(fmt.Sprintf("PRAGMA user_version = %d", len(schema)+1)); err != nil {
		t.Fatal(err)
	}
	// A window that is still open keeps what is said, and says why.
	want := fmt.Sprintf("schema %d, this one knows up to %d", len(schema)+1, len(schema))
	if err := l.Put(says(3, llm.RoleUser, "x")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	_ = db.Close()
	sum := func() [32]byte {
		file, err := os.ReadFile(db.path)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(file)
	}
	was := sum()
	db = reopen(t, db.path)
	if err := db.ReadOnly(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if list, err := db.List(Query{}); err != nil || len(list) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
	l, err := db.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	if l.Put(says(3, llm.RoleUser, "x")) == nil || db.Set("a", "b") == nil || db.Remove(id) == nil {
		t.Error("something was written")
	}
	if hits, _, err := db.Search(Query{Words: "hello"}); err != nil || len(hits) == 0 {
		t.Errorf("got %+v, %v", hits, err)
	}
	_ = db.Close()
	if sum() != was {
		t.Error("the file was changed")
	}
}

// crashed returns a copy of a store as it lies on disk while it is open.
func crashed(t *testing.T, text string) (path, id string) {
	t.Helper()
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, text, text+" again")
	path = filepath.Join(llmtest.Folder(t), "parley.db")
	for _, end := range []string{"", "-wal"} {
		file, err := os.ReadFile(db.path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+end, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path, l.Session().ID
}

// The files beside the database may be missing, garbage, or another one's.
func TestCompanions(t *testing.T) {
	t.Parallel()
	t.Run("whole", func(t *testing.T) {
		path, id := crashed(t, "hello")
		if _, nodes, err := reopen(t, path).Read(id); err != nil || len(nodes) != 2 {
			t.Errorf("got %d, %v", len(nodes), err)
		}
	})
	t.Run("index is garbage", func(t *testing.T) {
		path, id := crashed(t, "hello")
		if err := os.WriteFile(path+"-shm", bytes.Repeat([]byte("garbage!"), 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, nodes, err := reopen(t, path).Read(id); err != nil || len(nodes) != 2 {
			t.Errorf("got %d, %v", len(nodes), err)
		}
	})
	t.Run("log is gone", func(t *testing.T) {
		path, _ := crashed(t, "hello")
		if err := os.Remove(path + "-wal"); err != nil {
			t.Fatal(err)
		}
		talk(t, reopen(t, path).Create(Session{}), "and on")
	})
	t.Run("log is garbage", func(t *testing.T) {
		path, _ := crashed(t, "hello")
		if err := os.WriteFile(path+"-wal", bytes.Repeat([]byte("garbage!"), 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		talk(t, reopen(t, path).Create(Session{}), "and on")
	})
	t.Run("log of another", func(t *testing.T) {
		mine, theirs := fresh(t), ""
		l := mine.Create(Session{})
		talk(t, l, "mine", "all mine")
		_ = mine.Close()
		theirs, _ = crashed(t, "theirs")
		if err := os.Rename(theirs+"-wal", mine.path+"-wal"); err != nil {
			t.Fatal(err)
		}
		was, err := os.ReadFile(mine.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(mine.path); err == nil || !strings.Contains(err.Error(), "belongs to another database") {
			t.Errorf("got %v", err)
		}
		if now, err := os.ReadFile(mine.path); err != nil || !bytes.Equal(now, was) {
			t.Errorf("it was changed, %v", err)
		}
		if err := os.Remove(mine.path + "-wal"); err != nil {
			t.Fatal(err)
		}
		if _, nodes, err := reopen(t, mine.path).Read(l.Session().ID); err != nil || len(nodes) != 2 {
			t.Errorf("without it: %d, %v", len(nodes), err)
		}
	})
}

// A message that cannot be decoded costs that message, and says so.
func TestDamagedRow(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	id := l.Session().ID
	talk(t, l, "a", "b", "c")
	_ = l.Close()
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE nodes SET parts = '{"' WHERE seq = 2`) }); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	l, err := db.Resume(id)
	if !errors.As(err, &damaged) || damaged.Rows != 1 || l == nil {
		t.Fatalf("got %v, %v", l, err)
	}
	if nodes := l.Nodes(); len(nodes) != 3 || nodes[1].Parts != nil || nodes[1].Role != llm.RoleAssistant || nodes[2].Text() != "c" {
		t.Errorf("got %+v", nodes)
	}
	talk(t, l, "d")
}

// A damaged index costs nothing: messages are kept, and it is made anew.
func TestDamagedIndex(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{Title: "fruit"})
	talk(t, l, "apples", "pears")
	if err := db.write(func(w *writer) error { return w.Exec(`UPDATE words_data SET block = x'ffffffffffff'`) }); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	db = reopen(t, db.path)
	l, err := db.Resume(l.Session().ID)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, l, "plums")
	for _, word := range []string{"apples", "plums", "fruit"} {
		if hits, _, err := db.Search(Query{Words: word}); err != nil || len(hits) != 1 {
			t.Errorf("%s: got %+v, %v", word, hits, err)
		}
	}
}
