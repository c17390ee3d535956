//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package snapshot

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"parley/tools/undo"
)

const nonblock = 0

// A dirHandle is a directory, represented by its path.
type dirHandle struct{ path string }

func dirHandleOf(f *os.File) dirHandle { return dirHandle{f.Name()} }

// open returns a directory in d; it fails for a link.
func (d dirHandle) open(name string) (dirHandle, error) {
	path := filepath.Join(d.path, name)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return dirHandle{}, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return dirHandle{path}, nil
}

func (d dirHandle) close() {}

// names returns the names in d.
func (d dirHandle) names() (names []string, err error) {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d dirHandle) stat(name string) (fileStat, error) {
	info, err := os.Lstat(filepath.Join(d.path, name))
	if err != nil {
		return fileStat{}, err
	}
	return fileStatOf(info), nil
}

// read reads a regular file of at most most bytes in d.
func (d dirHandle) read(name string, most int64, buf []byte) (content []byte, s fileStat, err error) {
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
		err = errFileGrew
	}
	return content, s, err
}

func (d dirHandle) link(name string) (undo.Name, error) {
	target, err := os.Readlink(filepath.Join(d.path, name))
	return undo.Name(target), err
}

func (d dirHandle) chmod(mode uint32) error { return os.Chmod(d.path, permissions(mode)) }

func (d dirHandle) statSelf() (fileStat, error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return fileStat{}, err
	}
	return fileStatOf(info), nil
}

func statOpen(f *os.File) (fileStat, error) {
	info, err := f.Stat()
	if err != nil {
		return fileStat{}, err
	}
	return fileStatOf(info), nil
}

func fileStatOf(info fs.FileInfo) fileStat {
	out := fileStat{size: info.Size(), mtime: info.ModTime().UnixNano(), ctime: info.ModTime().UnixNano(), mode: uint32(info.Mode().Perm())}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		out.kind = undo.File
	case mode.IsDir():
		out.kind, out.size = undo.Directory, 0
	case mode&fs.ModeSymlink != 0:
		out.kind, out.mode, out.size = undo.Link, 0, 0
	default:
		out.kind = undo.Other
	}
	return out
}
