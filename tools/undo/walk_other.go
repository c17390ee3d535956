//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package undo

import (
	"io/fs"
	"os"
	"path/filepath"
)

const nonblock = 0

// openFolder opens a folder in an open one, unless it is a link.
func openFolder(parent *os.File, name string) (*os.File, error) {
	path := filepath.Join(parent.Name(), name)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(path)
}

func descriptor(*os.File) int { return 0 }

func statIn(parent *os.File, _ int, name string) (stamp, error) {
	info, err := os.Lstat(filepath.Join(parent.Name(), name))
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

func statOpen(f *os.File) (stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

func linkIn(parent *os.File, _ int, name string) (Name, error) {
	target, err := os.Readlink(filepath.Join(parent.Name(), name))
	return Name(target), err
}

func stampOf(info fs.FileInfo) stamp {
	out := stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), ctime: info.ModTime().UnixNano(), mode: uint32(info.Mode().Perm())}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		out.kind = File
	case mode.IsDir():
		out.kind, out.size = Folder, 0
	case mode&fs.ModeSymlink != 0:
		out.kind, out.mode, out.size = Link, 0, 0
	default:
		out.kind = Other
	}
	return out
}
