//go:build !linux

package folders

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A system watches nothing here.
type system struct{ root string }

func systemWatches() int { return 0 }

func openSystem(dir string) system { return system{dir} }

func (s *system) close() {}

func (s *system) wait() bool { return false }

func (s *system) read(events []event) []event { return events }

// A dir is a folder that exists.
type dir struct {
	path string
	stamp
}

// A stamp changes with the names in a folder.
type stamp struct {
	inode uint64 // 0 always
	mtime int64
}

// settled returns s for a folder that is listed now, without times if a later change may leave them as they are.
func (s stamp) settled(now time.Time) stamp {
	if s.mtime >= now.UnixNano()-int64(3*time.Second) {
		s.mtime = 0
	}
	return s
}

func (s *system) open(path string) (dir, error) {
	return dir{path: s.root}.open(filepath.FromSlash(path))
}

func (d dir) open(name string) (dir, error) {
	path := filepath.Join(d.path, name)
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return dir{}, err
	}
	return dir{path, stamp{mtime: info.ModTime().UnixNano()}}, nil
}

func (d dir) close() {}

func (d dir) makeReadable(string) bool { return false }

func (d dir) isShared() bool { return false }

func (d dir) each(f func(name string, isDir bool)) error {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		f(e.Name(), e.IsDir())
	}
	return err
}

func (s *system) add(dir) (int32, error) { return 0, syscall.ENOSPC }

func (s *system) remove(int32) {}
