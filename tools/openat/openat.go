// Package openat reads directory trees through open directories. A step never follows a link, not even one
// that is created meanwhile, and never waits for a pipe.
//
//	Open(root, path) ──► Dir ──► Entries      its names and their types
//	                         ├─► Open         a directory below it
//	                         ├─► OpenFile     a regular file in it
//	                         └─► Stat         size and time of an entry
//
// On Linux each step is one or two system calls; elsewhere it goes through [os.Root].
package openat

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// ErrNotRegular reports that a name is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// An Entry is a name in a directory.
type Entry struct {
	Name string
	Type fs.FileMode // type bits only; 0 for a regular file
}

// IsDir reports whether e is a directory.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// Has reports whether entries, sorted by name, have name.
func Has(entries []Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	return ok
}

// sortByName sorts entries by name.
func sortByName(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
}
