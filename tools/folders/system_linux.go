package folders

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/tools/openat"
)

// A system watches folders by inotify(7).
type system struct {
	queue  *os.File // nil: the system has no more of them
	fd     int      // of queue
	buf    []byte
	shared map[uint64]bool // by device: other machines may change the file system
}

// systemWatches returns the number of watches that the user may have.
func systemWatches() int {
	text, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

func openSystem() (s system) {
	var err error
	if s.fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		s.queue = os.NewFile(uintptr(s.fd), "inotify")
	}
	s.buf, s.shared = make([]byte, 64<<10), map[uint64]bool{}
	return s
}

func (s *system) close() {
	if s.queue != nil {
		s.queue.Close()
	}
}

// wait waits for events. It returns false if there will be none.
func (s *system) wait() bool {
	if s.queue == nil {
		return false
	}
	c, err := s.queue.SyscallConn()
	return err == nil && c.Read(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		return err != nil || n > 0
	}) == nil
}

// kinds are the kinds of events by their bits.
var kinds = []struct {
	bits uint32
	kind eventKind
}{
	{unix.IN_Q_OVERFLOW | unix.IN_UNMOUNT, overflow},
	{unix.IN_IGNORED, unwatched},
	{unix.IN_CREATE, created},
	{unix.IN_DELETE, deleted},
	{unix.IN_MOVED_FROM, movedAway},
	{unix.IN_MOVED_TO, movedIn},
	{unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB, changed},
}

// read appends the queued events.
func (s *system) read(events []event) []event {
	for s.queue != nil {
		n, err := unix.Read(s.fd, s.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n < unix.SizeofInotifyEvent {
			break
		}
		for b := s.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			bits, size := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
			e := event{watch: int32(binary.NativeEndian.Uint32(b)), cookie: binary.NativeEndian.Uint32(b[8:]), isDir: bits&unix.IN_ISDIR != 0}
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], []byte{0})
			e.name, b = string(name), b[unix.SizeofInotifyEvent+size:]
			for _, k := range kinds {
				if bits&k.bits != 0 {
					e.kind = k.kind
					events = append(events, e)
					break
				}
			}
		}
		if n < len(s.buf)/2 {
			break
		}
	}
	return events
}

// settles is how long after a change of a folder a later one may leave its times as they are.
const settles = 100 * time.Millisecond

// makeReadable lets the owner read a folder in d. It reports whether it could not before.
func makeReadable(d openat.Dir, name string) bool {
	fd, err := unix.Openat(d.Fd(), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if unix.Fstat(fd, &info) != nil || info.Mode&0o500 == 0o500 {
		return false
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), info.Mode&0o7777|0o500) == nil
}

// localSystems are file systems that only this machine changes.
var localSystems = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC,
	0x2fc12fc1, // ZFS
	0xca451a4e, // bcachefs
	0x7366746e, // NTFS
}

// isShared reports whether other machines, or programs that serve the file system, may change files unseen.
func (s *system) isShared(d dir) bool {
	is, known := s.shared[d.Device]
	if !known {
		var fs unix.Statfs_t
		is = unix.Fstatfs(d.Fd(), &fs) != nil
		if !is {
			is = true
			for _, local := range localSystems {
				is = is && int64(fs.Type) != local
			}
		}
		s.shared[d.Device] = is
	}
	return is
}

// add watches a folder and returns its watch, the same for the same folder.
func (s *system) add(d dir) (int32, error) {
	if s.queue == nil {
		return 0, syscall.ENOSPC
	}
	const bits = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	wd, err := unix.InotifyAddWatch(s.fd, "/proc/self/fd/"+strconv.Itoa(d.Fd()), bits)
	return int32(wd), err
}

func (s *system) remove(wd int32) { _, _ = unix.InotifyRmWatch(s.fd, uint32(wd)) }
