// Package copies makes stores in memory, in tests that import it, begin as copies of an empty store;
// Open does so with new files. Creating the tables takes longer than most of these tests, and the tests
// of session/store already cover it. With PARLEY_LONG=1 each store creates its own.
package copies

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"parley/session/store"
)

const (
	memory = "file::memory:?"               // how the name of a store in memory begins
	empty  = "file:/parley-empty?vfs=memdb" // the store to copy, shared by all connections
)

// A pager is a connection whose pages can be copied to and from another database.
type pager interface {
	NewBackup(uri string) (*sqlite.Backup, error)  // to it
	NewRestore(uri string) (*sqlite.Backup, error) // from it
}

// keeper keeps the empty store in memory; nil: not created yet.
var keeper driver.Conn

var long = os.Getenv("PARLEY_LONG") == "1"

func init() {
	if long {
		return
	}
	if err := makeEmpty(); err != nil {
		panic(fmt.Errorf("copies of a store in memory: %w", err))
	}
}

// makeEmpty creates the store to copy.
func makeEmpty() error {
	var first pager
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, name string) error {
		if !strings.HasPrefix(name, memory) {
			return nil
		}
		if keeper == nil {
			first = conn.(pager)
			return nil
		}
		return copyPages(conn.(pager).NewRestore)
	})
	made, err := store.OpenMemory()
	if err != nil {
		return err
	}
	conn, err := new(sqlite.Driver).Open(empty)
	if err == nil {
		err = copyPages(first.NewBackup)
	}
	err = errors.Join(err, made.Close())
	keeper = conn
	return err
}

// copyPages copies all pages of one database into another.
func copyPages(begin func(uri string) (*sqlite.Backup, error)) error {
	pages, err := begin(empty)
	if err != nil {
		return err
	}
	_, err = pages.Step(-1)
	return errors.Join(err, pages.Finish())
}

// emptyFile returns the content of a store file that was created and closed.
var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "parley-empty")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "parley.db")
	made, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Open opens the store at path, whose file and folder may be missing. The store is closed at the
// end of the test.
func Open(tb testing.TB, path string) *store.DB {
	tb.Helper()
	if _, err := os.Stat(path); err != nil && !long {
		content, err := emptyFile()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	db, err := store.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}
