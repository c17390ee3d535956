//go:build linux || darwin || freebsd || netbsd || openbsd

package openat

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"parley/tools/places"
)

// A Dir is an open directory. It must be closed.
type Dir struct{ fd int }

// A File is an open regular file. It must be closed.
type File struct {
	fd   int
	Info // when it was opened
}

// Open opens the directory path in root, a path with slashes and without "..". The error is
// [fs.ErrNotExist] if nothing exists there, [places.ErrNotDirectory] if a part of the path is a file or link.
func Open(root *os.Root, path string) (Dir, error) {
	top, err := root.Open(".")
	if err != nil {
		return Dir{}, err
	}
	defer top.Close()
	return Dir{int(top.Fd())}.Open(path)
}

// OpenPath opens the directory dir, a path of the system. Links in it are followed.
func OpenPath(dir string) (Dir, error) {
	fd, err := openAt(unix.AT_FDCWD, dir+"/.", unix.O_DIRECTORY)
	return Dir{fd}, err
}

// Open opens the directory path in d, as the function Open does.
func (d Dir) Open(path string) (Dir, error) {
	at := d
	for {
		name, rest, more := strings.Cut(path, "/")
		fd, err := openAt(at.fd, name, unix.O_DIRECTORY)
		if at != d {
			at.Close()
		}
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			err = places.ErrNotDirectory
		}
		if err != nil || !more {
			return Dir{fd}, err
		}
		at, path = Dir{fd}, rest
	}
}

// openAt opens name in the directory at.
func openAt(at int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(at, name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, wrap("open", name, err)
		}
	}
}

func wrap(op, name string, err error) error {
	if err != nil {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return err
}

// Close closes d.
func (d Dir) Close() { unix.Close(d.fd) }

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Entries appends the entries of d to into, sorted by name: all, or if most is positive, not many more than
// most of them. It can be called once for each opened Dir.
func (d Dir) Entries(into []Entry, most int) (entries []Entry, err error) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	n := len(into)
	for {
		size, err := unix.ReadDirent(d.fd, buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return into, wrap("readdir", "", err)
		case size <= 0, most > 0 && len(into)-n >= most:
			sortByName(into[n:])
			return into, nil
		}
		into = d.parse(into, string(buf[:size]))
	}
}

// types maps d_type, and the type bits of st_mode, to those of Go.
var types = [16]fs.FileMode{
	unknown, fs.ModeNamedPipe, fs.ModeDevice | fs.ModeCharDevice, unknown, fs.ModeDir, unknown, fs.ModeDevice, unknown,
	0, unknown, fs.ModeSymlink, unknown, fs.ModeSocket, unknown, unknown, unknown,
}

const unknown = fs.ModeIrregular

// Stat returns the metadata of an entry, or of d for ".".
func (d Dir) Stat(name string) (Info, error) {
	var s unix.Stat_t
	err := wrap("stat", name, unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW))
	return infoOf(&s), err
}

func infoOf(s *unix.Stat_t) Info {
	mode := uint32(s.Mode)
	return Info{types[mode&unix.S_IFMT>>12], mode & 0o7777, s.Size, s.Mtim.Nano(), s.Ctim.Nano(), uint64(s.Ino), uint64(s.Dev), uint64(s.Nlink)}
}

// Link returns the target of a link.
func (d Dir) Link(name string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(d.fd, name, buf)
	return string(buf[:max(n, 0)]), wrap("readlink", name, err)
}

// Chmod sets the permissions of d, as in Info.
func (d Dir) Chmod(permissions uint32) error { return unix.Fchmod(d.fd, permissions) }

// Fd returns the file descriptor of d.
func (d Dir) Fd() int { return d.fd }

// OpenFile opens the regular file name in d for reading.
func (d Dir) OpenFile(name string) (File, error) {
	fd, err := openAt(d.fd, name, 0)
	if err != nil {
		return File{}, err
	}
	var s unix.Stat_t
	if err = wrap("stat", name, unix.Fstat(fd, &s)); err == nil && s.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		unix.Close(fd)
	}
	return File{fd, infoOf(&s)}, err
}

// Read implements io.Reader.
func (f File) Read(p []byte) (n int, err error) {
	for {
		n, err = unix.Read(f.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, wrap("read", "", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Close closes f.
func (f File) Close() { unix.Close(f.fd) }
