package openat

import (
	"encoding/binary"
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
	Size int64 // when it was opened
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

// Offsets of the fields of struct linux_dirent64.
const (
	direntSize = 16
	direntType = 18
	direntName = 19
)

// parse appends the entries in records, whose memory their names share.
func (d Dir) parse(into []Entry, records string) []Entry {
	for len(records) > direntName {
		size := int(binary.NativeEndian.Uint16([]byte(records[direntSize:direntType])))
		name, _, _ := strings.Cut(records[direntName:size], "\x00")
		kind := types[records[direntType]&15]
		records = records[size:]
		if name == "." || name == ".." {
			continue
		}
		if kind == unknown { // some file systems do not say
			var s unix.Stat_t
			if unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			kind = types[s.Mode&unix.S_IFMT>>12]
		}
		into = append(into, Entry{name, kind})
	}
	return into
}

const unknown = fs.ModeIrregular

// types maps d_type, and the type bits of st_mode, to those of Go.
var types = [16]fs.FileMode{
	unknown, fs.ModeNamedPipe, fs.ModeDevice | fs.ModeCharDevice, unknown, fs.ModeDir, unknown, fs.ModeDevice, unknown,
	0, unknown, fs.ModeSymlink, unknown, fs.ModeSocket, unknown, unknown, unknown,
}

// Stat returns the size of an entry and its modification time, in ns since 1970.
func (d Dir) Stat(name string) (size, modified int64, err error) {
	var s unix.Stat_t
	err = wrap("stat", name, unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW))
	return s.Size, s.Mtim.Nano(), err
}

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
	return File{fd, s.Size}, err
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
