package sandbox

import (
	"bufio"
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

// A program that runs as long as the user works needs no helper of its own: the helper becomes that program, the first
// process of its namespace. When the program ends, the kernel ends the namespace, and the caller restores repositories.
// Until then its orphans stay as zombies unless it waits for them, as for the first process of a container.
// One guard for each workspace, a process that outlives the caller, does both if the caller is killed:
//
//	caller ──► helper, which becomes the program
//	   └─────► guard ◄── ids of programs

// commandInPlace is helperCommand for a program that the helper becomes.
func (j *job) commandInPlace() (cmd *exec.Cmd, letGo func(), err error) {
	j.inPlace = true
	g, err := openGuard(j)
	if err != nil {
		return nil, nil, err
	}
	cmd, end, err := j.helperCommand()
	if err != nil {
		g.release()
		return nil, nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, g.programs)
	var kill *time.Timer
	finish := sync.OnceFunc(g.release)
	return cmd, func() {
		end()
		if kill == nil && !hasEnded(cmd) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // the first process of a namespace ignores it unless it handles it
			kill = time.AfterFunc(graceTime, func() { _ = cmd.Process.Kill() })
			return
		}
		if kill != nil {
			kill.Stop()
		}
		finish()
	}, nil
}

// A guard is the process that ends the programs of a workspace if the caller is killed.
type guard struct {
	programs  *os.File // receives their ids
	cmd       *exec.Cmd
	letGo     func()
	ended     chan struct{} // closed once its process has ended
	workspace string
	users     int
}

// guards holds the running guards by workspace.
var guards struct {
	sync.Mutex
	byWorkspace map[string]*guard
}

// openGuard returns the guard of the job's workspace, which it starts if none runs. Release ends the use.
func openGuard(j *job) (*guard, error) {
	guards.Lock()
	defer guards.Unlock()
	if g := guards.byWorkspace[j.Workspace]; g != nil {
		select {
		case <-g.ended:
		default:
			g.users++
			return g, nil
		}
	}
	of := &job{policy: j.policy, path: "/", argv: []string{helperName}, guards: true, undone: j.undone}
	of.Env, of.TempDir, of.Notices, of.Ready = nil, "", nil, nil
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	watching, ready, err := os.Pipe()
	if err != nil {
		w.Close()
		return nil, err
	}
	defer watching.Close()
	g := &guard{programs: w, ended: make(chan struct{}), workspace: j.Workspace, users: 1}
	if g.cmd, g.letGo, err = of.helperCommand(); err == nil {
		g.cmd.ExtraFiles = append(g.cmd.ExtraFiles, r, ready)
		err = g.cmd.Start()
	}
	ready.Close()
	if err == nil { // it has its job from the caller, which may be killed as soon as a program runs
		if _, err = watching.Read(make([]byte, 1)); err != nil {
			_ = g.cmd.Process.Kill()
			_ = g.cmd.Wait()
		}
	}
	if err != nil {
		if g.letGo != nil {
			g.letGo()
		}
		w.Close()
		return nil, fmt.Errorf("guard: %w", err)
	}
	go func() {
		err := g.cmd.Wait()
		close(g.ended)
		guards.Lock()
		defer guards.Unlock()
		if g.users > 0 && j.Notices != nil {
			fmt.Fprintf(j.Notices, "[sandbox: the process that ends the programs of %s if parley is killed has ended (%v): restart them]\n", g.workspace, err)
		}
	}()
	if guards.byWorkspace == nil {
		guards.byWorkspace = map[string]*guard{}
	}
	guards.byWorkspace[j.Workspace] = g
	return g, nil
}

// release ends the guard after its last program: the caller has restored everything itself.
func (g *guard) release() {
	guards.Lock()
	defer guards.Unlock()
	if g.users--; g.users > 0 {
		return
	}
	_ = g.cmd.Process.Kill()
	<-g.ended
	g.letGo()
	g.programs.Close()
	if guards.byWorkspace[g.workspace] == g {
		delete(guards.byWorkspace, g.workspace)
	}
}

// A guarded program is one that a guard watches.
type guarded struct {
	pid  int // descriptor of the process
	temp *os.Root
	dir  string // of temp
}

// report tells the guard which process the helper is, outside of its namespace, and its temporary directory.
func (h *helper) report(to *os.File) error {
	pid, err := os.Readlink("/proc/self") // of the file system of the namespace outside
	if err != nil {
		return err
	}
	dir := ""
	if h.ownsTempDir {
		dir = h.TempDir
	}
	_, err = fmt.Fprintf(to, "%s %s\n", pid, dir)
	return err
}

// guard waits until the caller has closed the pipe of programs, or was killed. It then ends those that still run, and
// does what the caller would have done after them.
func (h *helper) guard(programs, ready *os.File) {
	_, _ = ready.Write([]byte{goAhead}) // the caller waits for it, or has ended
	ready.Close()
	var all []guarded
	for lines := bufio.NewScanner(programs); lines.Scan(); {
		all = slices.DeleteFunc(all, func(p guarded) bool {
			ended := p.closeEnded(0)
			if ended && p.temp != nil {
				p.temp.Close()
			}
			return ended
		})
		id, dir, _ := strings.Cut(lines.Text(), " ")
		pid, err := strconv.Atoi(id)
		if err != nil || pid <= 1 { // others name several processes
			continue
		}
		p := guarded{dir: dir}
		if p.pid, err = unix.PidfdOpen(pid, 0); err != nil {
			if !errors.Is(err, unix.ESRCH) { // one that cannot be watched does not run
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			continue
		}
		if dir != "" {
			p.temp, _ = os.OpenRoot(dir) // nil if it is gone
		}
		all = append(all, p)
	}
	for _, p := range all {
		_ = unix.PidfdSendSignal(p.pid, unix.SIGKILL, nil, 0)
	}
	for _, p := range all {
		if p.temp != nil && p.closeEnded(2*time.Second) {
			removeContents(p.temp)
			_ = os.Remove(p.dir)
		}
	}
	h.finishJournals()
}

// closeEnded waits for the end of a program, and reports whether it has ended.
func (p guarded) closeEnded(within time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.pid), Events: unix.POLLIN}}, int(within.Milliseconds()))
	if n < 1 || err != nil {
		return false
	}
	unix.Close(p.pid)
	return true
}

var errAbandoned = errors.New("the caller has ended")

// become replaces the helper by the program, which then dies with the caller: by the kernel at once, or by the guard.
func (h *helper) become() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if n, _ := unix.Poll([]unix.PollFd{{Fd: lifeFD, Events: unix.POLLIN}}, 0); n > 0 {
		return errAbandoned
	}
	return syscall.Exec(h.path, h.argv, h.Env)
}
