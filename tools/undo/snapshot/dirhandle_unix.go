//go:build linux || darwin || freebsd || netbsd || openbsd

package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"parley/tools/undo"

	"golang.org/x/sys/unix"
)

// nonblock keeps opening a pipe from waiting for its other end.
const nonblock = unix.O_NONBLOCK

// A dirHandle is an open directory. Its methods access its entries even if it was moved or its
// path now leads elsewhere.
type dirHandle struct {
	fd   int
	path string // for reading ignore files only
}

// dirHandleOf returns an open directory as a dirHandle, which is closed together with f.
func dirHandleOf(f *os.File) dirHandle { return dirHandle{int(f.Fd()), f.Name()} }

// open opens a directory in d; it fails for a link.
func (d dirHandle) open(name string) (dirHandle, error) {
	fd, err := openAt(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return dirHandle{}, err
	}
	return dirHandle{fd, filepath.Join(d.path, name)}, nil
}

func openAt(dir int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, flags, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		default:
			return fd, nil
		}
	}
}

func (d dirHandle) close() { unix.Close(d.fd) }

// names returns the names in d.
func (d dirHandle) names() (names []string, err error) {
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(d.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n <= 0:
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// stat returns the metadata of an entry of d; it does not follow links.
func (d dirHandle) stat(name string) (fileStat, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fileStat{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return fileStatOf(&s), nil
}

// read reads a regular file of at most most bytes in d into buf, which it may replace by a larger
// one. It follows no link and never blocks.
func (d dirHandle) read(name string, most int64, buf []byte) (content []byte, s fileStat, err error) {
	fd, err := openAt(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return nil, s, err
	}
	defer unix.Close(fd)
	if s, err = (dirHandle{fd: fd}).statSelf(); err != nil {
		return nil, s, err
	}
	if s.kind != undo.File {
		return nil, s, errNotRegular
	}
	if s.size > most {
		return nil, s, errFileGrew
	}
	for buf = slices.Grow(buf[:0], int(most)+1)[:0]; ; {
		n, err := unix.Read(fd, buf[len(buf):min(cap(buf), int(most)+1)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, s, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		buf = buf[:len(buf)+max(n, 0)]
		if int64(len(buf)) > most {
			return nil, s, errFileGrew
		}
		if n <= 0 || int64(len(buf)) == s.size {
			return buf, s, nil // later growth shows in the metadata
		}
	}
}

// link returns the target of a link.
func (d dirHandle) link(name string) (undo.Name, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", err
	}
	return undo.Name(buf[:n]), nil
}

func (d dirHandle) chmod(mode uint32) error { return unix.Fchmod(d.fd, mode) }

// statOpen returns the metadata of an open file.
func statOpen(f *os.File) (fileStat, error) { return dirHandleOf(f).statSelf() }

// statSelf returns the metadata of d itself.
func (d dirHandle) statSelf() (fileStat, error) {
	var s unix.Stat_t
	if err := unix.Fstat(d.fd, &s); err != nil {
		return fileStat{}, err
	}
	return fileStatOf(&s), nil
}

func fileStatOf(s *unix.Stat_t) fileStat {
	out := fileStat{size: s.Size, inode: uint64(s.Ino), device: uint64(s.Dev), mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), mode: uint32(s.Mode) & 0o7777}
	switch uint32(s.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		out.kind, out.linked = undo.File, s.Nlink > 1
	case unix.S_IFDIR:
		out.kind, out.size = undo.Directory, 0
	case unix.S_IFLNK:
		out.kind, out.mode, out.size = undo.Link, 0, 0
	default:
		out.kind = undo.Other
	}
	return out
}
