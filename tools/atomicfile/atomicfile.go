// Package atomicfile writes files completely or not at all: after a full or failing disk, a
// kill or a power failure, a name has either its old content or all of the new content.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Create creates a new file with the data that write writes, for its owner only. The file gets
// its name only after all data is on the disk. An existing file stays unchanged; the error is
// then [fs.ErrExist].
func Create(path string, write func(*os.File) error) error {
	if _, err := os.Lstat(path); err == nil {
		return existsError(path)
	} else if !errors.Is(err, fs.ErrNotExist) { // report an invalid name before writing everything
		return saving(path, err)
	}
	return put(path, true, write, Place)
}

// Replace creates or replaces a file with this content, for its owner only. It creates a
// missing directory.
func Replace(path string, content []byte) error { return replace(path, content, true, 0o600) }

// ReplaceShared is Replace for a file that every user of the machine may read.
func ReplaceShared(path string, content []byte) error { return replace(path, content, true, 0o644) }

// ReplaceUnsynced is Replace for content that can be recreated: it does not wait for the
// disk, so that a power failure may leave the old content or none.
func ReplaceUnsynced(path string, content []byte) error { return replace(path, content, false, 0o600) }

func replace(path string, content []byte, durable bool, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return saving(path, err)
	}
	write := func(f *os.File) error {
		_, err := f.Write(content)
		if err == nil && mode != 0o600 { // the mode of temporary files
			err = f.Chmod(mode)
		}
		return err
	}
	return put(path, durable, write, os.Rename)
}

// put writes a temporary file beside path, and calls name to rename it.
func put(path string, durable bool, write func(*os.File) error, name func(temp, path string) error) error {
	base := filepath.Base(path)
	base = strings.ToValidUTF8(base[:min(len(base), 100)], "")           // file systems allow names of 255 bytes, encrypted ones of 143
	f, err := os.CreateTemp(filepath.Dir(path), "."+base+unfinished+"*") // mode 0600
	if err != nil {
		return saving(path, err)
	}
	temp := f.Name()
	defer func() { _ = os.Remove(temp) }() // does nothing after the rename
	if err = write(f); err == nil && durable {
		err = f.Sync()
	}
	var of *fs.PathError
	if err = errors.Join(err, f.Close()); errors.As(err, &of) && of.Path != temp {
		return err // an error of the caller's function
	}
	if err == nil {
		err = WhileOpen(func() error { return name(temp, path) })
	}
	if err == nil && durable {
		syncDirectory(filepath.Dir(path))
	}
	return saving(path, err)
}

// WhileOpen calls rename again for half a second while it fails because another program has a file
// open, as on Windows.
func WhileOpen(rename func() error) (err error) {
	const sharingViolation syscall.Errno = 32
	for wait := time.Millisecond; ; wait *= 2 {
		err = rename()
		if runtime.GOOS != "windows" || wait > 256*time.Millisecond || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, sharingViolation) {
			return err
		}
		time.Sleep(wait)
	}
}

// unfinished is part of the names of incomplete files. Those of a killed parley stay.
const unfinished = ".unfinished-"

// Unfinished reports whether a name is that of an incomplete file.
func Unfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, unfinished)
}

// Place renames a file to a free name in the same directory; if the name is taken, even by a file created at the
// same time, the error is [fs.ErrExist].
func Place(temp, path string) error {
	if link(temp, path) == nil {
		_ = os.Remove(temp) // otherwise the complete file keeps both names
		return nil
	}
	// On file systems without links, an empty file reserves the name until it is replaced.
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

// link is os.Link; tests replace it.
var link = os.Link

func existsError(path string) error {
	return fmt.Errorf("%s %w: give another name", path, errExists)
}

// errExists is [fs.ErrExist] with a shorter text.
var errExists error = existing{}

type existing struct{}

func (existing) Error() string        { return "already exists" }
func (existing) Is(target error) bool { return target == fs.ErrExist }

// syncDirectory makes a new name survive a power failure, where the file system
// supports that.
func syncDirectory(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// saving adds to a system error the path that could not be written, instead of a
// temporary one, and advice. It returns other errors unchanged; nil for nil.
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
