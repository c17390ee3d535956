package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/session/store"
)

// WriteFile does what Write does, to a file that must not exist, and returns its size in bytes.
// The file has its name only once all of it is on the disk.
func WriteFile(name string, lib *store.DB, files, tmp string, now time.Time) (size int64, err error) {
	return create(name, func(f *os.File) error { return Write(f, lib, files, tmp, now) })
}

// create makes a file whole or not at all. What parley did not end because it was killed stays
// beside it under a name that says so.
func create(name string, write func(f *os.File) error) (size int64, err error) {
	exists := fmt.Errorf("%s exists: choose another name", name)
	if _, err := os.Lstat(name); err == nil {
		return 0, exists
	} else if !errors.Is(err, fs.ErrNotExist) { // a name that cannot be is told before all is written
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), unfinished(filepath.Base(name)))
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // nothing is left of it after the rename
	if err = write(f); err == nil {
		err = f.Sync()
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return 0, err
	}
	err = os.Link(f.Name(), name) // which replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return 0, exists
	}
	if err != nil { // not every file system has links
		if _, err = os.Lstat(name); err == nil {
			return 0, exists
		}
		err = os.Rename(f.Name(), name)
	}
	return info.Size(), err
}

// unfinished returns the pattern of the name that a file has until it is whole. It holds the beginning of
// name: file systems take names of 255 bytes, encrypted ones of 143.
func unfinished(name string) string {
	const most = 100
	return "." + strings.ToValidUTF8(name[:min(len(name), most)], "") + ".unfinished-*"
}
