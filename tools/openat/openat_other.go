//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package openat

import (
	"io"
	"os"
	"syscall"

	"parley/tools/places"
)

// A Dir is an open directory. It must be closed.
type Dir struct{ root *os.Root }

// A File is an open regular file. It must be closed.
type File struct {
	*os.File
	Info // when it was opened
}

// Open opens the directory path in root, a path with slashes and without "..". The error is
// [io/fs.ErrNotExist] if nothing exists there, [places.ErrNotDirectory] if a part of the path is a file or link.
func Open(root *os.Root, path string) (Dir, error) {
	at, _, err := places.OpenParent(root, path+"/", false)
	return Dir{at}, err
}

// OpenPath opens the directory dir, a path of the system. Links in it are followed.
func OpenPath(dir string) (Dir, error) {
	root, err := os.OpenRoot(dir)
	return Dir{root}, err
}

// Open opens the directory path in d, as the function Open does.
func (d Dir) Open(path string) (Dir, error) { return Open(d.root, path) }

// Close closes d.
func (d Dir) Close() { d.root.Close() }

// Entries appends the entries of d to into, sorted by name: all, or if most is positive, not many more than
// most of them. It can be called once for each opened Dir.
func (d Dir) Entries(into []Entry, most int) ([]Entry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return into, err
	}
	defer f.Close()
	all, err := f.ReadDir(most)
	if err == io.EOF {
		err = nil
	}
	n := len(into)
	for _, e := range all {
		into = append(into, Entry{e.Name(), e.Type()})
	}
	sortByName(into[n:])
	return into, err
}

// Stat returns the metadata of an entry, or of d for ".".
func (d Dir) Stat(name string) (Info, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

func infoOf(info os.FileInfo) Info {
	at := info.ModTime().UnixNano()
	return Info{Type: info.Mode().Type(), Permissions: uint32(info.Mode().Perm()), Size: info.Size(), Modified: at, Changed: at}
}

// Link returns the target of a link.
func (d Dir) Link(name string) (string, error) { return d.root.Readlink(name) }

// Chmod sets the permissions of d, as in Info.
func (d Dir) Chmod(permissions uint32) error {
	return d.root.Chmod(".", os.FileMode(permissions&0o777))
}

// OpenFile opens the regular file name in d for reading.
func (d Dir) OpenFile(name string) (File, error) {
	was, err := d.root.Lstat(name)
	if err == nil && !was.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return File{}, err
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return File{}, err
	}
	is, err := f.Stat()
	if err == nil && !os.SameFile(was, is) {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return File{}, err
	}
	return File{f, infoOf(is)}, nil
}
