package copies_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"parley/session/store"
	"parley/session/storetest"
	_ "parley/session/storetest/copies"
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
