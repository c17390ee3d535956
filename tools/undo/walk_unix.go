//go:build linux || darwin || freebsd || netbsd || openbsd

package undo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// nonblock keeps the opening of a pipe from waiting for its other end.
const nonblock = unix.O_NONBLOCK

// openFolder opens a folder in an open one, unless it is a link.
func openFolder(parent *os.File, name string) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		default:
			return os.NewFile(uintptr(fd), filepath.Join(parent.Name(), name)), nil
		}
	}
}

// descriptor returns what statIn works with.
func descriptor(f *os.File) int { return int(f.Fd()) }

// statIn returns what stands at a name in an open folder, without following a link.
func statIn(_ *os.File, fd int, name string) (stamp, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(fd, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return stampOf(&s), nil
}

// statOpen returns what an open file is.
func statOpen(f *os.File) (stamp, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return stamp{}, err
	}
	return stampOf(&s), nil
}

// linkIn returns the target of a link in an open folder.
func linkIn(_ *os.File, fd int, name string) (Name, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(fd, name, buf)
	if err != nil {
		return "", err
	}
	return Name(buf[:n]), nil
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
