package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/providers/llmtest"
)

// An older file is copied, then brought up to date.
func TestMigrate(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	talk(t, db.Create(Session{}), "hello")
	_ = db.Close()
	next := append(schema[:len(schema):len(schema)], `ALTER TABLE sessions ADD COLUMN mood TEXT`)
	for range 2 {
		newer, err := open(db.path, next, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := newer.List(Query{}); err != nil || len(list) != 1 {
			t.Errorf("got %+v, %v", list, err)
		}
		_ = newer.Close()
	}
	copied := fmt.Sprintf("%s.v%d.bak", db.path, len(schema))
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy: %v, %v", info, err)
	}
	if old := reopen(t, copied); old.ReadOnly() != nil {
		t.Errorf("the copy: %v", old.ReadOnly())
	} else if list, err := old.List(Query{}); err != nil || len(list) != 1 {
		t.Errorf("the copy: %+v, %v", list, err)
	}
	if names, _ := filepath.Glob(db.path + "*tmp*"); len(names) > 0 {
		t.Errorf("left over: %q", names)
	}

	broken := append(schema[:len(schema):len(schema)], `CREATE TABLE half (x); SELECT nonsense`)
	fails := fresh(t)
	talk(t, fails.Create(Session{}), "hello")
	_ = fails.Close()
	if _, err := open(fails.path, broken, time.Now); err == nil {
		t.Error("a broken step went unnoticed")
	}
	if list, err := reopen(t, fails.path).List(Query{}); err != nil || len(list) != 1 {
		t.Errorf("after a broken step: %+v, %v", list, err)
	}
}

// An older file that is too damaged to be brought up to date is read as it is.
func TestMigrateDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	older, err := open(path, schema[:slices.Index(schema, briefIndex)], time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		talk(t, older.Create(Session{}), "hello")
	}
	var root, size int64
	err = older.View(func(q Tx) error {
		return errors.Join(q.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'sessions'`).Scan(&root), q.QueryRow(`PRAGMA page_size`).Scan(&size))
	})
	if err := errors.Join(err, older.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt([]byte{0xff, 0xff}, (root-1)*size+8) // where its first row is
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	if !isCorrupt(db.ReadOnly()) {
		t.Errorf("read-only because of %v", db.ReadOnly())
	}
	if list, err := db.List(Query{Limit: -1}); len(list) == 0 || !isCorrupt(err) {
		t.Errorf("%d are listed, %v", len(list), err)
	}
	if err := db.Set("key", "value"); !isCorrupt(err) {
		t.Errorf("written: %v", err)
	}
}

// An older file without the index that is replaced is brought up to date as well.
func TestMigrateWithoutIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	older, err := open(path, schema[:slices.Index(schema, briefIndex)], time.Now)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, older.Create(Session{}), "hello")
	err = older.write(func(w *writer) error { return w.script("DROP INDEX sessions_listed") })
	if err := errors.Join(err, older.Close()); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	if list, err := db.List(Query{Limit: -1}); len(list) != 1 || err != nil || db.ReadOnly() != nil {
		t.Errorf("%d are listed, %v, %v", len(list), err, db.ReadOnly())
	}
}
