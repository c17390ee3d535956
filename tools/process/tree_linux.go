package process

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a command and all its descendants, however they try to escape.
//
// Parley is the subreaper of its descendants, so that orphans become its own
// children instead of disappearing. The processes of this command are
// recognized by their parents, by their session (the command opens one, and a
// process cannot join a foreign one), by a mark in their environment, and by
// the pipe they write to. Children started by other parts of parley are neither
// touched nor waited for.
type tree struct {
	process *os.Process
	mark    string // environment variable, as NAME=value
	pipe    string // link target of their stdout and stderr
	known   map[int]uint64
}

// newTree returns the tree of a command that will write to the other end of pipe.
func newTree(pipe *os.File) *tree {
	// Both calls affect the whole process and may be repeated. Without the first,
	// orphans of a command would escape. Without the second, any command could
	// read the keys in /proc/PPID/environ and in parley's memory. With it,
	// commands of the same user cannot, but root (CAP_SYS_PTRACE) still can.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	reapReleased()
	t := &tree{mark: "PARLEY_CALL=" + rand.Text(), known: map[int]uint64{}}
	if info, err := pipe.Stat(); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			t.pipe = fmt.Sprintf("pipe:[%d]", s.Ino)
		}
	}
	return t
}

// Detach gives cmd a session of its own, without a terminal, and makes it die
// with parley.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// terminate ends every process of the tree, except the first if spare is set, within
// two seconds: with SIGTERM, after a second with SIGKILL. It returns how many there
// were.
func (t *tree) terminate(spare bool) int {
	alive := t.living
	if spare {
		alive = func() []int {
			return slices.DeleteFunc(t.living(), func(pid int) bool { return pid == t.process.Pid || pid == -t.process.Pid })
		}
	}
	first := alive()
	for _, p := range first {
		_ = unix.Kill(p, unix.SIGTERM)
	}
	left := first
	for deadline := time.Now().Add(GraceTime); len(left) > 0 && time.Now().Before(deadline); left = alive() {
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		killUntilGone(alive)
	}
	return len(first)
}

// signal sends a signal to every process of the tree.
func (t *tree) signal(s syscall.Signal) {
	for _, pid := range t.living() {
		_ = unix.Kill(pid, s)
	}
}

// kill kills every process of the tree.
func (t *tree) kill() { killUntilGone(t.living) }

// killGroup kills the rest of the process group and spares the rest of the tree.
func (t *tree) killGroup() {
	killUntilGone(func() []int {
		return slices.DeleteFunc(t.living(), func(pid int) bool {
			group, err := unix.Getpgid(pid)
			return err != nil || group != t.process.Pid
		})
	})
	released.Lock()
	defer released.Unlock()
	released.trees = append(released.trees, t)
}

// released holds trees whose processes were spared. Their orphans become parley's
// children too, and are reaped when the next tree is made.
var released struct {
	sync.Mutex
	trees []*tree
}

func reapReleased() {
	released.Lock()
	defer released.Unlock()
	if len(released.trees) == 0 {
		return
	}
	all, err := listForChildren()
	released.trees = slices.DeleteFunc(released.trees, func(t *tree) bool { return len(t.livingAmong(all, err)) == 0 })
}

// killUntilGone kills processes until alive returns none, for about a second. It counts rounds,
// because on a busy machine a single round may take longer.
func killUntilGone(alive func() []int) {
	for range 200 {
		left := alive()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Info describes a process from /proc.
type Info struct {
	PID, Parent, Session int
	StartTicks           uint64 // ticks since boot; with the PID it identifies a process
	Zombie               bool
}

// group returns the negative process group number, which signals the whole group, as long
// as the first process was not reaped; afterwards the number may be reused.
func (t *tree) group() []int {
	if pid := t.process.Pid; !errors.Is(t.process.Signal(syscall.Signal(0)), os.ErrProcessDone) && unix.Kill(-pid, 0) == nil {
		return []int{-pid}
	}
	return nil
}

// living returns the living processes of the tree, and reaps dead ones that have
// become parley's own children. If processes cannot be listed, such as without /proc
// or a free file descriptor, it returns the process group.
func (t *tree) living() []int { return t.livingAmong(listForChildren()) }

// livingAmong is living for the result of listForChildren.
func (t *tree) livingAmong(all map[int]Info, err error) []int {
	if err != nil {
		return t.group()
	}
	self, shell := os.Getpid(), t.process.Pid
	own := all[self].Session
	members := map[int]bool{}
	sessions := map[int]bool{shell: true}
	pids := Descendants(all, self)
	for grew := true; grew; {
		grew = false
		for _, pid := range pids {
			p := all[pid]
			if members[pid] || !(pid == shell || members[p.Parent] || sessions[p.Session] || t.isMember(p)) {
				continue
			}
			members[pid], grew = true, true
			if p.Session != own {
				sessions[p.Session] = true
			}
		}
	}
	var living []int
	for pid := range members {
		p := all[pid]
		t.known[pid] = p.StartTicks
		switch {
		case !p.Zombie:
			living = append(living, pid)
		case p.Parent == self && pid != shell: // the shell is reaped by its starter
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
	slices.Sort(living)
	return living
}

// listForChildren is List, but returns no processes if this process has no children. All
// trees are below it, as it is the subreaper, and a full list takes three system calls for
// each process of the machine.
func listForChildren() (map[int]Info, error) {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	if err == unix.ECHILD {
		return nil, nil
	}
	return List()
}

// isMember reports whether p belongs to the tree by its own attributes.
func (t *tree) isMember(p Info) bool {
	if born, ok := t.known[p.PID]; ok {
		return born == p.StartTicks
	}
	if p.Zombie {
		return false
	}
	dir := "/proc/" + strconv.Itoa(p.PID)
	if environ, err := os.ReadFile(dir + "/environ"); err == nil && bytes.Contains(environ, []byte(t.mark)) {
		return true
	}
	for _, fd := range []string{"/fd/1", "/fd/2"} {
		if link, err := os.Readlink(dir + fd); err == nil && link == t.pipe {
			return true
		}
	}
	return false
}

// isDescendant reports whether pid is below ancestor.
func isDescendant(all map[int]Info, pid, ancestor int) bool {
	for range len(all) {
		p, ok := all[pid]
		if !ok {
			return false
		}
		if p.Parent == ancestor {
			return true
		}
		pid = p.Parent
	}
	return false
}

// Descendants returns the processes below ancestor, including zombies.
func Descendants(all map[int]Info, ancestor int) (pids []int) {
	for pid := range all {
		if pid != ancestor && isDescendant(all, pid, ancestor) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// List returns all processes by their PIDs.
func List() (map[int]Info, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close() // the files below may need its descriptor
	if err != nil {
		return nil, err
	}
	all := make(map[int]Info, len(names))
	buffer := make([]byte, 1<<10) // longer than any line
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := readStat("/proc/"+name+"/stat", buffer)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			return nil, err
		}
		if err != nil {
			continue // the process has ended
		}
		if p, err := parseStat(string(stat)); err == nil {
			all[pid] = p
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no process in /proc")
	}
	return all, nil
}

// isZombie reports whether a process has ended and was not reaped.
func isZombie(pid int) bool {
	stat, err := readStat("/proc/"+strconv.Itoa(pid)+"/stat", make([]byte, 1<<10))
	if err != nil {
		return false
	}
	p, err := parseStat(string(stat))
	return err == nil && p.Zombie
}

// readStat reads the beginning of a file of /proc into buffer. It is called for every process;
// os.ReadFile takes three times as many system calls.
func readStat(path string, buffer []byte) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	n, err := syscall.Read(fd, buffer)
	for err == syscall.EINTR {
		n, err = syscall.Read(fd, buffer)
	}
	return buffer[:max(n, 0)], err
}

// parseStat parses /proc/PID/stat, see proc_pid_stat(5). The program's name is
// in parentheses and may itself contain parentheses.
func parseStat(stat string) (Info, error) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return Info{}, errors.New("no program name in it")
	}
	fields := strings.Fields(stat[end+1:]) // from the third on: state, parent, group, session, …
	if len(fields) < 20 {
		return Info{}, errors.New("too short")
	}
	var p Info
	var errs [4]error
	p.PID, errs[0] = strconv.Atoi(strings.TrimSpace(stat[:open]))
	p.Parent, errs[1] = strconv.Atoi(fields[1])
	p.Session, errs[2] = strconv.Atoi(fields[3])
	p.StartTicks, errs[3] = strconv.ParseUint(fields[19], 10, 64)
	p.Zombie = fields[0] == "Z" || fields[0] == "X"
	return p, errors.Join(errs[:]...)
}
