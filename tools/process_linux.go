package tools

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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/tools/sandbox"
)

// A processTree is a command and everything it started, however it tried to get away.
//
// Parley is the subreaper of its descendants, so that orphans become children
// of its own instead of disappearing. Which of them belong to this command is
// told by their parents, by their session (the command opens one, and nobody
// can join a foreign one), by a mark in their environment, and by the pipe they
// write to. Children that other parts of parley started are never touched, nor
// waited for.
type processTree struct {
	process *os.Process
	mark    string // the environment variable, with its value
	pipe    string // what their stdout and stderr are linked to
	known   map[int]uint64
}

// newProcessTree is the tree of a command that will write to the other end of pipe.
func newProcessTree(pipe *os.File) *processTree {
	// Both hold for the whole process, and are as good the second time. Without
	// the first a command could leave orphans behind. Without the second any
	// command could read the keys in /proc/PPID/environ and in parley's memory;
	// with it those of the same user cannot, but root (CAP_SYS_PTRACE) still can.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	t := &processTree{mark: "PARLEY_CALL=" + rand.Text(), known: map[int]uint64{}}
	if info, err := pipe.Stat(); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			t.pipe = fmt.Sprintf("pipe:[%d]", s.Ino)
		}
	}
	return t
}

// detach gives cmd a session of its own, without a terminal, and lets it die
// with parley.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// unsandboxedCommand is argv, not yet started, with nothing held back. With a helper, which
// the program has to provide for, nothing outlives parley's own death; without,
// the shell does not.
func unsandboxedCommand(dir string, env, argv []string, helper bool) (cmd *exec.Cmd, letGo func(), err error) {
	if helper {
		return sandbox.Supervise(dir, env, argv...)
	}
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	detach(cmd)
	return cmd, nil, nil
}

// terminate ends every process of the tree, but for the first if that is spared, within
// two seconds: politely, after a second without asking. It returns how many there
// were.
func (t *processTree) terminate(spare bool) int {
	alive := t.living
	if spare {
		alive = func() []int {
			return slices.DeleteFunc(t.living(), func(pid int) bool { return pid == t.process.Pid })
		}
	}
	first := alive()
	for _, p := range first {
		_ = unix.Kill(p, unix.SIGTERM)
	}
	left := first
	for deadline := time.Now().Add(graceTime); len(left) > 0 && time.Now().Before(deadline); left = alive() {
		time.Sleep(10 * time.Millisecond)
	}
	for deadline := time.Now().Add(graceTime); len(left) > 0 && time.Now().Before(deadline); left = alive() {
		for _, p := range left {
			_ = unix.Kill(p, unix.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return len(first)
}

// A process as /proc tells of it.
type process struct {
	pid, parent, session int
	startTicks           uint64 // in ticks since boot; with the pid it names a process
	zombie               bool
}

// living returns the living processes of the tree, and takes away the dead ones
// that have become parley's own children.
func (t *processTree) living() []int {
	all, err := listProcesses()
	if err != nil {
		return nil
	}
	self, shell := os.Getpid(), t.process.Pid
	own := all[self].session
	members := map[int]bool{}
	sessions := map[int]bool{shell: true}
	var pids []int
	for pid := range all {
		if pid != self && isDescendant(all, pid, self) {
			pids = append(pids, pid)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, pid := range pids {
			p := all[pid]
			if members[pid] || !(pid == shell || members[p.parent] || sessions[p.session] || t.isMember(p)) {
				continue
			}
			members[pid], grew = true, true
			if p.session != own {
				sessions[p.session] = true
			}
		}
	}
	var living []int
	for pid := range members {
		p := all[pid]
		t.known[pid] = p.startTicks
		switch {
		case !p.zombie:
			living = append(living, pid)
		case p.parent == self && pid != shell: // the shell is waited for by who started it
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
	slices.Sort(living)
	return living
}

// isMember reports whether p can be told for one of ours by itself.
func (t *processTree) isMember(p process) bool {
	if born, ok := t.known[p.pid]; ok {
		return born == p.startTicks
	}
	if p.zombie {
		return false
	}
	dir := "/proc/" + strconv.Itoa(p.pid)
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
func isDescendant(all map[int]process, pid, ancestor int) bool {
	for range len(all) {
		p, ok := all[pid]
		if !ok {
			return false
		}
		if p.parent == ancestor {
			return true
		}
		pid = p.parent
	}
	return false
}

// listProcesses reads what /proc knows.
func listProcesses() (map[int]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, err := parseStat(string(stat)); err == nil {
			all[pid] = p
		}
	}
	return all, nil
}

// parseStat reads /proc/PID/stat, see proc_pid_stat(5). The name of the program
// is in parentheses and may hold anything, also parentheses.
func parseStat(stat string) (process, error) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return process{}, errors.New("no program name in it")
	}
	fields := strings.Fields(stat[end+1:]) // from the third on: state, parent, group, session, …
	if len(fields) < 20 {
		return process{}, errors.New("too short")
	}
	var p process
	var errs [4]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(stat[:open]))
	p.parent, errs[1] = strconv.Atoi(fields[1])
	p.session, errs[2] = strconv.Atoi(fields[3])
	p.startTicks, errs[3] = strconv.ParseUint(fields[19], 10, 64)
	p.zombie = fields[0] == "Z" || fields[0] == "X"
	return p, errors.Join(errs[:]...)
}
