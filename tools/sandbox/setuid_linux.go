package sandbox

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A file with the setuid or setgid bit runs as its owner, whoever starts it, and so
// what a command leaves could be started by others as its user. To look at the modes
// of all files after each command would take too long: seccomp tells when a command
// is about to set such a bit. What has one then is remembered; what has one besides
// when the command has ended was made by it, and loses the bit.

// setuidBits are the bits.
const setuidBits = unix.S_ISUID | unix.S_ISGID

// chmodCalls are the system calls that set modes, and in which argument. openat2
// has it behind a pointer; see rulesFor.
var chmodCalls = append([]chmodCall{
	{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_OPENAT, 3}, {unix.SYS_MKNODAT, 2},
}, legacyChmodCalls...)

type chmodCall struct {
	call uintptr
	arg  uint32
}

// setuidWatch keeps watch over the special bits of files. The zero value has nothing to do.
type setuidWatch struct {
	mu     sync.Mutex
	dirs     []string        // directories that the command can write
	attempted  bool            // the command has set such a bit, or tried to
	before map[fileID]bool // files that had one before
	unsearchedDirs []string        // directories that could not be looked at
}

// A fileID tells files apart, by whatever names they have.
type fileID struct{ device, inode uint64 }

// A notification of seccomp, and the answer to it; see seccomp_unotify(2).
type notification struct {
	id uint64
	_  [72]byte // process, flags and the system call
}

type response struct {
	id    uint64
	_     int64
	_     int32
	flags uint32
}

// serve answers the notifications of listener until nobody is left who could send
// one: all may go on, once it is known what was there before. It waits as for a
// network, and so holds up nothing else in the helper.
func (m *setuidWatch) serve(listener int) {
	f := os.NewFile(uintptr(listener), "listener")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	for over := false; !over; {
		err := conn.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, _ := unix.Poll(poll, 0); n == 0 {
				return false
			}
			if over = poll[0].Revents&unix.POLLIN == 0; !over {
				m.answer(fd)
			}
			return true
		})
		over = over || err != nil
	}
}

// answer answers one notification.
func (m *setuidWatch) answer(listener uintptr) {
	var n notification
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return // who asked has been killed meanwhile
	}
	m.recordBefore()
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// recordBefore looks, the first time, for what has such a bit.
func (m *setuidWatch) recordBefore() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.attempted {
		return
	}
	m.attempted, m.before = true, map[fileID]bool{}
	m.findFiles(func(_ *os.Root, _ string, id fileID, _ fs.FileMode) { m.before[id] = true })
}

// clearBits takes the bits off files that the command has given them to, and says so.
func (m *setuidWatch) clearBits() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.attempted {
		return ""
	}
	var cleared, lost []string
	m.findFiles(func(root *os.Root, name string, id fileID, mode fs.FileMode) {
		if m.before[id] {
			return
		}
		if root.Chmod(name, mode.Perm()) != nil {
			lost = append(lost, filepath.Join(root.Name(), name))
			return
		}
		cleared = append(cleared, filepath.Join(root.Name(), name))
	})
	text := ""
	if len(cleared) > 0 {
		text += "[the sandbox took the setuid and setgid bits off " + joinNames(cleared) + ": no command may set them]\n"
	}
	if lost = append(lost, m.unsearchedDirs...); len(lost) > 0 {
		text += "[CAUTION: there may be files with a setuid or setgid bit in " + joinNames(lost) + "]\n"
	}
	return text
}

// findFiles calls found for all files with such a bit, by their names in root.
func (m *setuidWatch) findFiles(found func(root *os.Root, name string, id fileID, mode fs.FileMode)) {
	m.unsearchedDirs = nil
	until := time.Now().Add(searchTimeout)
	for i, at := range m.dirs {
		if slices.ContainsFunc(m.dirs[:i], func(above string) bool { return isWithin(at, above) }) {
			continue
		}
		root, err := os.OpenRoot(at)
		if err != nil {
			continue // it is not there
		}
		for queue := []string{"."}; len(queue) > 0; queue = queue[1:] {
			if time.Now().After(until) || !m.searchDir(root, queue[0], &queue, found) {
				m.unsearchedDirs = append(m.unsearchedDirs, filepath.Join(at, queue[0]))
			}
		}
		root.Close()
	}
}

// directory looks at the files of one directory, and queues the directories. It reports
// whether it could.
func (m *setuidWatch) searchDir(root *os.Root, dir string, queue *[]string, found func(*os.Root, string, fileID, fs.FileMode)) bool {
	f, err := root.Open(dir)
	if os.IsPermission(err) {
		makeReadable(root, dir)
		f, err = root.Open(dir)
	}
	if err != nil {
		return os.IsNotExist(err)
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(readBatch)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.IsDir() && strings.Count(name, "/") < maxLevels:
				*queue = append(*queue, name)
			case e.IsDir():
				m.unsearchedDirs = append(m.unsearchedDirs, filepath.Join(root.Name(), name))
			case e.Type().IsRegular():
				info, err := e.Info()
				if err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) == 0 {
					continue
				}
				if s, ok := info.Sys().(*syscall.Stat_t); ok {
					found(root, name, fileID{uint64(s.Dev), s.Ino}, info.Mode())
				}
			}
		}
		if err != nil || len(entries) == 0 {
			return true
		}
	}
}
