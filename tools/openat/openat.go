// Package openat reads directory trees through open directories. A step never follows a link, not even one
// that is created meanwhile, and never waits for a pipe.
//
//	Open(root, path) ──► Dir ──► Entries      its names and their types
//	                         ├─► Open         a directory below it
//	                         ├─► OpenFile     a regular file in it
//	                         ├─► Stat         what stat(2) reports of an entry
//	                         └─► Link         the target of a link
//
// On Unix each step is one or two system calls; elsewhere it goes through [os.Root].
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

// An Info is the metadata of an entry. On Windows it has no inode, device and number of links.
type Info struct {
	Type              fs.FileMode // as in Entry
	Permissions       uint32      // with set-user-ID, set-group-ID and sticky, as in stat(2)
	Size              int64       // in bytes
	Modified, Changed int64       // in ns since 1970
	Inode, Device     uint64
	Links             uint64 // names of the file
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
