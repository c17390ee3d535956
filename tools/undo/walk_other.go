//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package undo

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const nonblock = 0

// A folder is a folder by its path.
type folder struct{ path string }

func folderOf(f *os.File) folder { return folder{f.Name()} }

// open returns a folder in the folder, unless it is a link.
func (d folder) open(name string) (folder, error) {
	path := filepath.Join(d.path, name)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return folder{}, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return folder{path}, nil
}

func (d folder) close() {}

// names returns what is in the folder.
func (d folder) names() (names []string, err error) {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d folder) stat(name string) (stamp, error) {
	info, err := os.Lstat(filepath.Join(d.path, name))
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// read reads a regular file of at most so many bytes in the folder.
func (d folder) read(name string, most int64, buf []byte) (content []byte, s stamp, err error) {
	f, err := openRegular(filepath.Join(d.path, name))
	if err != nil {
		return nil, s, err
	}
	defer f.Close()
	if s, err = statOpen(f); err != nil {
		return nil, s, err
	}
	content, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = errGrown
	}
	return content, s, err
}

func (d folder) link(name string) (Name, error) {
	target, err := os.Readlink(filepath.Join(d.path, name))
	return Name(target), err
}

func (d folder) chmod(mode uint32) error { return os.Chmod(d.path, permissions(mode)) }

func (d folder) own() (stamp, error) {
	info, err := os.Stat(d.path)
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
