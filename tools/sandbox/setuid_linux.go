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

// A file with the setuid or setgid bit runs as its owner for every user, and so
// others could start what a command leaves as its user. To read the modes
// of all files after each command would take too long: seccomp tells when a command
// is about to set such a bit. Files that have one then are recorded; others that have
// one after the command got it from the command, and lose it.

const setuidBits = unix.S_ISUID | unix.S_ISGID

// chmodCalls lists the system calls that set modes, and the argument with the mode. openat2
// has it behind a pointer; see argumentRules.
var chmodCalls = append([]chmodCall{
	{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_OPENAT, 3}, {unix.SYS_MKNODAT, 2},
}, legacyChmodCalls...)

type chmodCall struct {
	call uintptr
	arg  uint32
}

// setuidWatch finds files that a command gave such a bit. The zero value has nothing to do.
type setuidWatch struct {
	mu             sync.Mutex
	dirs           []string        // directories that the command can write to
	attempted      bool            // the command has tried to set such a bit
	before         map[fileID]bool // files that had one before
	unsearchedDirs []string        // directories that could not be searched
}

// fileID identifies a file, whatever its names.
type fileID struct{ device, inode uint64 }

// Notification of seccomp, and the response to it; see seccomp_unotify(2).
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

// serve answers the notifications of listener until no process can send one: all calls
// continue, once the earlier files are recorded. It waits in the network poller, and so
// blocks nothing else in the helper.
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

func (m *setuidWatch) answer(listener uintptr) {
	var n notification
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return // the caller was killed meanwhile
	}
	m.recordBefore()
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// recordBefore records, the first time, the files that have such a bit.
func (m *setuidWatch) recordBefore() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.attempted {
		return
	}
	m.attempted, m.before = true, map[fileID]bool{}
	m.findFiles(func(_ *os.Root, _ string, id fileID, _ fs.FileMode) { m.before[id] = true })
}

// clearBits clears the bits that the command set, and returns notices about it.
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

// searchDir reads one directory and queues the directories in it. It reports whether it
// could.
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
