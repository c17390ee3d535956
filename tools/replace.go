package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"parley/tools/atomicfile"
)

// A replacement is new content for a file. It is written to a temporary file and
// renamed over the old one, so that the file always has its old or its new content,
// and other hard links keep the old one. Owner, mode, access control lists and
// extended attributes are preserved. If they cannot be, or a rename is impossible,
// the file is written in place.
type replacement struct {
	root       *os.Root
	name       string // native, relative to root
	content    []byte
	oldContent []byte      // old content
	oldInfo    fs.FileInfo // nil for a new file
}

// write writes the file and returns a note if it was written in place; ""
// otherwise.
func (r *replacement) write() (how string, err error) {
	err = r.replaceByRename()
	var why *reasonForInPlace
	if r.oldInfo == nil || !errors.As(err, &why) {
		return "", err
	}
	if err := r.overwrite(); err != nil {
		return "", err
	}
	return "written in place, as " + why.reason, nil
}

// A reasonForInPlace is why a file is written in place.
type reasonForInPlace struct{ reason string }

func (e *reasonForInPlace) Error() string { return e.reason }

// replaceByRename replaces the old file by a new one.
func (r *replacement) replaceByRename() error {
	dir := filepath.Dir(r.name)
	temp := filepath.Join(dir, fmt.Sprintf(".parley-%s.tmp", rand.Text()))
	mode := fs.FileMode(0o644)
	if r.oldInfo != nil {
		mode = 0o600 // until the permissions are copied
	}
	f, err := r.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer r.root.Remove(temp) // does nothing after the rename
	defer f.Close()
	if r.oldInfo != nil {
		if err := r.copyMetadata(f); err != nil {
			return err
		}
	}
	if _, err := f.Write(r.content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := atomicfile.WhileOpen(func() error { return r.root.Rename(temp, r.name) }); err != nil {
		if isMount(err) {
			return &reasonForInPlace{"it is mounted there, and nothing can be renamed over it"}
		}
		return err
	}
	if dir, err := r.root.Open(dir); err == nil {
		dir.Sync() // makes the rename survive a power failure, where the file system supports it
		dir.Close()
	}
	return nil
}

// copyMetadata gives f the old file's metadata.
func (r *replacement) copyMetadata(f *os.File) error {
	old, err := r.root.OpenFile(r.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer old.Close()
	if err := CopyMetadata(f, old); err != nil {
		return &reasonForInPlace{err.Error()}
	}
	return f.Chmod(r.oldInfo.Mode().Perm()) // after the access control list, which includes part of the mode
}

// CopyMetadata gives a replacement file the original's owner, access control list and
// extended attributes, but not its mode.
func CopyMetadata(to, from *os.File) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := copyOwner(to, info); err != nil {
		return errors.New("its owner could not be kept otherwise")
	}
	if err := copyAttributes(to, from); err != nil {
		return errors.New("its access control list or attributes could not be kept otherwise")
	}
	return nil
}

// overwrite writes the content into the old file. If that fails midway, it tries to
// restore the old content.
func (r *replacement) overwrite() error {
	f, err := r.root.OpenFile(r.name, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !os.SameFile(info, r.oldInfo) {
		return errors.Join(err, errors.New("it is a different file now"))
	}
	put := func(content []byte) error {
		if _, err := f.WriteAt(content, 0); err != nil {
			return err
		}
		if err := f.Truncate(int64(len(content))); err != nil {
			return err
		}
		return f.Sync()
	}
	if err := put(r.content); err != nil {
		return errors.Join(err, put(r.oldContent))
	}
	return nil
}
