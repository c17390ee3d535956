package copies_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"parley/session/store"
	"parley/session/storetest"
	"parley/session/storetest/copies"
)

// Copies of one store have its identity, so that their files are the same. What is written to one
// is in no other.
func TestCopies(t *testing.T) {
	if os.Getenv("PARLEY_LONG") == "1" {
		t.Skip("each store makes its own tables")
	}
	var files [3][]byte
	for i := range files {
		db, err := store.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		path := filepath.Join(t.TempDir(), strconv.Itoa(i))
		if err := store.Snapshot(db, path); err != nil {
			t.Fatal(err)
		}
		if err := store.CheckSchema(path); err != nil {
			t.Error(err)
		}
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if _, err := storetest.Fill(db, 1, 5, storetest.Folder); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("new stores differ: they are no copies, or written to by others")
	}
}

// A file that is a copy is opened again with what was written to it, and has no part in others.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "parley.db")
	for i := range 2 {
		db := copies.Open(t, path)
		if _, err := storetest.Fill(db, 1, 5, storetest.Folder); err != nil {
			t.Fatal(err)
		}
		all, err := db.List(store.Query{})
		if err != nil || len(all) != i+1 {
			t.Errorf("opened %d times it has %d conversations, %v", i+1, len(all), err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := store.CheckSchema(path); err != nil {
			t.Error(err)
		}
	}
	all, err := copies.Open(t, filepath.Join(t.TempDir(), "parley.db")).List(store.Query{})
	if err != nil || len(all) > 0 {
		t.Errorf("a new one has %d conversations, %v", len(all), err)
	}
}
