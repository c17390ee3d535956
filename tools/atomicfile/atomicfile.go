// Package atomicfile writes files whole or not at all: whatever a full or failing disk, a kill
// or a power cut leaves under a name is what was there before, or all that was written.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Create makes a new file, for its owner only, of what write writes to it. It has its name only
// once all of it is on the disk. A file that is there stays as it is: the error is
// [fs.ErrExist] then.
func Create(path string, write func(*os.File) error) error {
	if _, err := os.Lstat(path); err == nil {
		return existsError(path)
	} else if !errors.Is(err, fs.ErrNotExist) { // a name that cannot be is told before all is written
		return saving(path, err)
	}
	return put(path, true, write, Place)
}

// Replace puts a file with this content, for its owner only, in the place of one that may be
// there. It makes the folder that is missing.
func Replace(path string, content []byte) error { return replace(path, content, true, 0o600) }

// ReplaceShared is Replace of what every user of the machine may read.
func ReplaceShared(path string, content []byte) error { return replace(path, content, true, 0o644) }

// ReplaceUnsynced is Replace of what can be had again: it does not wait for the disk, so that
// a power cut may leave the old content or none.
func ReplaceUnsynced(path string, content []byte) error { return replace(path, content, false, 0o600) }

func replace(path string, content []byte, durable bool, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return saving(path, err)
	}
	write := func(f *os.File) error {
		_, err := f.Write(content)
		if err == nil && mode != 0o600 { // that of a temporary file
			err = f.Chmod(mode)
		}
		return err
	}
	return put(path, durable, write, os.Rename)
}

// put writes a file beside path, and gives it its name.
func put(path string, durable bool, write func(*os.File) error, name func(temp, path string) error) error {
	base := filepath.Base(path)
	base = strings.ToValidUTF8(base[:min(len(base), 100)], "")           // file systems take names of 255 bytes, encrypted ones of 143
	f, err := os.CreateTemp(filepath.Dir(path), "."+base+unfinished+"*") // mode 0600
	if err != nil {
		return saving(path, err)
	}
	temp := f.Name()
	defer func() { _ = os.Remove(temp) }() // nothing is left of it after the rename
	if err = write(f); err == nil && durable {
		err = f.Sync()
	}
	var of *fs.PathError
	if err = errors.Join(err, f.Close()); errors.As(err, &of) && of.Path != temp {
		return err // of what was to be written
	}
	if err == nil {
		err = name(temp, path)
	}
	if err == nil && durable {
		syncDirectory(filepath.Dir(path))
	}
	return saving(path, err)
}

// unfinished stands in the names of files that are not whole. Those of a parley that was killed stay.
const unfinished = ".unfinished-"

// Unfinished reports whether a name is one that a file has until it is whole.
func Unfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, unfinished)
}

// Place renames a file to a name in the same folder that must be free, even if others make files there at the same
// time: the error is [fs.ErrExist] if it is not.
func Place(temp, path string) error {
	if link(temp, path) == nil {
		_ = os.Remove(temp) // or it stays, whole, under two names
		return nil
	}
	// Or a file system without links: an empty file keeps the name until it is replaced.
	keep, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return existsError(path)
	}
	if err != nil {
		return err
	}
	if err = errors.Join(keep.Close(), os.Rename(temp, path)); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// link is os.Link; tests take it away.
var link = os.Link

func existsError(path string) error {
	return fmt.Errorf("%s %w: give another name", path, errExists)
}

// errExists is [fs.ErrExist] in fewer words.
var errExists error = existing{}

type existing struct{}

func (existing) Error() string        { return "already exists" }
func (existing) Is(target error) bool { return target == fs.ErrExist }

// syncDirectory has a new name outlive a power cut. Not every file system can.
func syncDirectory(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// saving says of an error of the system which file could not be written, whatever it was
// called then, and what to do. Other errors stay as they are; nil is none.
func saving(path string, err error) error {
	var (
		file *fs.PathError
		two  *os.LinkError
	)
	switch {
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &two):
		err = two.Err
	default:
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("saving %s: %w: free some space", path, err)
	}
	return fmt.Errorf("saving %s: %w", path, err)
}
