//go:build linux || darwin || freebsd || netbsd || openbsd

package undo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// nonblock keeps the opening of a pipe from waiting for its other end.
const nonblock = unix.O_NONBLOCK

// A folder is an open folder. What is reached by it is in it, whatever its path leads to.
type folder struct {
	fd   int
	path string // for what is read only as advice
}

// folderOf returns an open file as a folder, which is closed with the file.
func folderOf(f *os.File) folder { return folder{int(f.Fd()), f.Name()} }

// open opens a folder in the folder, unless it is a link.
func (d folder) open(name string) (folder, error) {
	fd, err := openAt(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return folder{}, err
	}
	return folder{fd, filepath.Join(d.path, name)}, nil
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

func (d folder) close() { unix.Close(d.fd) }

// names returns what is in the folder, read from its beginning on.
func (d folder) names() (names []string, err error) {
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

// stat returns what stands at a name, without following a link.
func (d folder) stat(name string) (stamp, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return stampOf(&s), nil
}

// read reads a regular file of at most so many bytes in the folder into buf, which may become
// larger, and follows no link. It never waits.
func (d folder) read(name string, most int64, buf []byte) (content []byte, s stamp, err error) {
	fd, err := openAt(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return nil, s, err
	}
	defer unix.Close(fd)
	if s, err = (folder{fd: fd}).own(); err != nil {
		return nil, s, err
	}
	if s.kind != File {
		return nil, s, errNotRegular
	}
	if s.size > most {
		return nil, s, errGrown
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
			return nil, s, errGrown
		}
		if n <= 0 || int64(len(buf)) == s.size {
			return buf, s, nil // where it has grown since, its stamp says so the next time
		}
	}
}

// link returns the target of a link.
func (d folder) link(name string) (Name, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", err
	}
	return Name(buf[:n]), nil
}

func (d folder) chmod(mode uint32) error { return unix.Fchmod(d.fd, mode) }

// statOpen returns what an open file is.
func statOpen(f *os.File) (stamp, error) { return folderOf(f).own() }

// own returns what the folder itself is.
func (d folder) own() (stamp, error) {
	var s unix.Stat_t
	if err := unix.Fstat(d.fd, &s); err != nil {
		return stamp{}, err
	}
	return stampOf(&s), nil
}

func stampOf(s *unix.Stat_t) stamp {
	out := stamp{size: s.Size, inode: uint64(s.Ino), device: uint64(s.Dev), mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), mode: uint32(s.Mode) & 0o7777}
	switch uint32(s.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		out.kind = File
	case unix.S_IFDIR:
		out.kind, out.size = Folder, 0
	case unix.S_IFLNK:
		out.kind, out.mode, out.size = Link, 0, 0
	default:
		out.kind = Other
	}
	return out
}
