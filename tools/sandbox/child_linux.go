package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The clocks of the end of a command.
const (
	drain = 300 * time.Millisecond // how long what it left in the background may still run
	grace = 700 * time.Millisecond // between the polite signal and the other one
	dying = time.Second            // how long killed processes are waited for
)

// The exit statuses that are not the command's, as in env(1) and timeout(1).
const (
	noSandbox = 125
	noExec    = 126
	notFound  = 127
)

// Child has to be called first thing in main. In a process that was started as
// the helper it does the helper's work and never returns; in all others it
// returns at once.
func Child() {
	if len(os.Args) == 0 || os.Args[0] != marker {
		return
	}
	status, err := help()
	if err != nil {
		fmt.Fprintf(os.Stderr, "[sandbox: %v]\n", err)
	}
	syscall.Exit(status) // at once: the race detector's hook of os.Exit waits for a second
}

// A helper starts the command, and sees to its end.
type helper struct {
	job
	before *snapshot
	exited chan syscall.WaitStatus // of the command, once
	gone   chan struct{}           // closed when no process is left
	ending chan struct{}           // closed when what is left is ended
	ended  int                     // how many that were; final once gone
	late   bool                    // they were given time, and did not end by themselves
	modes  modes
}

// help is the life of the helper. It returns the exit status.
func help() (int, error) {
	// Who read our output may be dead already. (To ignore the signal would make
	// the command ignore it.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	h := &helper{exited: make(chan syscall.WaitStatus, 1), gone: make(chan struct{}), ending: make(chan struct{})}
	if err := h.prepare(); err != nil {
		return noSandbox, err
	}
	life := os.NewFile(lifeFD, "life")
	abandoned := make(chan struct{})
	go func() {
		defer close(abandoned)
		_, _ = life.Read(make([]byte, 1)) // nothing is ever written: it ends with the caller
	}()

	pid, status, err := h.start()
	if err != nil {
		return status, err
	}
	go h.reap(pid)
	code := h.follow(stop, abandoned)
	if text := h.finish(); text != "" {
		_, _ = io.WriteString(os.Stderr, text)
	}
	h.tidy()
	return code, nil
}

// follow waits for the end of the command and of what it left behind, or for a
// reason to end both. It returns the exit status.
func (h *helper) follow(stop <-chan os.Signal, abandoned <-chan struct{}) int {
	const canceled = 128 + int(syscall.SIGTERM)
	select {
	case status := <-h.exited:
		select {
		case <-h.gone:
		case <-stop:
		case <-abandoned:
		case <-time.After(drain):
			h.late = true
		}
		if status.Signaled() {
			return 128 + int(status.Signal())
		}
		return status.ExitStatus()
	case <-stop:
	case <-abandoned:
	}
	return canceled
}

// finish ends every process and undoes what may not be changed, in this order.
// It returns what is to be told.
func (h *helper) finish() string {
	close(h.ending)
	h.end()
	text := ""
	select {
	case <-h.gone:
		if h.late && h.ended > 0 {
			text = fmt.Sprintf("[ended what still ran in the background, processes: %d; nothing outlives its command]\n", h.ended)
		}
	default:
		text = "[some processes could not be ended]\n"
	}
	// The order matters: who waits for the helper does not do so for ever, and a
	// command can leave things that take long to copy or to remove.
	var c changes
	if h.Lasting {
		text += h.before.made()
		h.before.appeared(&c)
	} else {
		c = h.before.restore()
	}
	h.before.shelf.clear()
	return text + h.modes.clear() + sentence(c, h.before.shelf.kept)
}

// tidy removes what nobody needs any more.
func (h *helper) tidy() {
	if h.made {
		empty(h.Temp) // who called may not be there any more to do it
	}
	if h.before.shelf.at != "" {
		h.before.shelf.prune(time.Now())
	}
}

// empty removes all that is in dir, and dir if nothing is mounted there.
func empty(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
	_ = os.Remove(dir)
}

// end ends what the command left, within two seconds.
func (h *helper) end() {
	for _, step := range []struct {
		signal unix.Signal
		within time.Duration
		again  time.Duration
	}{
		{unix.SIGTERM, grace, grace},
		{unix.SIGKILL, dying, 20 * time.Millisecond},
	} {
		for deadline := time.Now().Add(step.within); time.Now().Before(deadline); {
			select {
			case <-h.gone:
				return
			default:
			}
			h.signal(step.signal)
			select {
			case <-h.gone:
				return
			case <-time.After(step.again):
			}
		}
	}
}

// signal sends a signal to all processes below the helper.
func (h *helper) signal(s unix.Signal) {
	if h.spaces {
		_ = unix.Kill(-1, s) // the helper is the first process of the namespace, and left out
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, s)
	}
}

// reap takes away the dead, which all become the helper's children in the end.
func (h *helper) reap(command int) {
	defer close(h.gone)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == command:
			h.exited <- status
		default:
			select {
			case <-h.ending:
				h.ended++
			default:
			}
		}
	}
}

// prepare does what has to be done before there is a command.
func (h *helper) prepare() error {
	f := os.NewFile(jobFD, "job")
	text, err := io.ReadAll(f)
	f.Close()
	if err != nil {
		return err
	}
	if h.job, err = decode(string(text)); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	unix.CloseOnExec(lifeFD)
	// Nobody may look into the helper, and no orphan gets away from it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if h.spaces {
		if err := h.mapSelf(); err != nil {
			return err
		}
	}
	kept, err := h.shelf()
	if err != nil {
		return err
	}
	if h.spaces {
		if err := isolate(&h.Policy); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	root, err := os.OpenRoot(h.Workspace)
	if err != nil {
		return err
	}
	h.before = h.take(root, h.spaces || h.Lasting)
	h.before.shelf = kept
	return nil
}

// shelf opens the directory Undone, before all is read-only: as a mount that is not
// in any directory, so that nobody else gets to it.
func (h *helper) shelf() (shelf, error) {
	if h.Undone == "" {
		return shelf{}, nil
	}
	at := h.Undone
	if h.spaces {
		t, err := takeOut(at)
		if err != nil {
			return shelf{}, fmt.Errorf("%s: %w", at, err)
		}
		defer unix.Close(t.fd)
		at = fmt.Sprintf("/proc/self/fd/%d", t.fd)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return shelf{}, fmt.Errorf("%s: %w", h.Undone, err)
	}
	return shelf{root: root, path: h.Undone}, nil
}

// mapSelf gives the helper, which nobody has mapped, its own id in its user
// namespace.
func (h *helper) mapSelf() error {
	if now, err := os.ReadFile("/proc/self/uid_map"); err != nil || len(strings.TrimSpace(string(now))) > 0 {
		return err
	}
	for _, write := range []struct{ file, text string }{
		{"setgroups", "deny"}, {"uid_map", fmt.Sprint(h.uid, h.uid, 1)}, {"gid_map", fmt.Sprint(h.gid, h.gid, 1)},
	} {
		if err := os.WriteFile("/proc/self/"+write.file, []byte(write.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// start starts the command from a thread that binds itself first: what it
// starts inherits that. The thread ends afterwards, so that nothing the command
// can send signals to is a part of the helper.
func (h *helper) start() (pid, status int, err error) {
	done := make(chan struct{})
	bound := func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: the thread ends with its goroutine
		pid, status, err = h.launch()
	}
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			bound()
			return
		}
		go bound() // the first thread cannot end; while it is held here, another is taken
		<-done
		runtime.UnlockOSThread()
	}()
	<-done
	return pid, status, err
}

// launch binds the calling thread and starts the command from it.
func (h *helper) launch() (pid, status int, err error) {
	if err := h.bind(); err != nil {
		return 0, noSandbox, err
	}
	// Files that parley itself was left with are not for the command.
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, noSandbox, fmt.Errorf("close_range: %w", err)
	}
	if h.Temp != "" {
		h.Env = append(h.Env, "TMPDIR="+h.Temp)
	}
	pid, err = syscall.ForkExec(h.path, h.argv, &syscall.ProcAttr{
		Env:   h.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, notFound, fmt.Errorf("%s: %w", h.path, err)
	case err != nil:
		return 0, noExec, fmt.Errorf("%s: %w", h.path, err)
	}
	return pid, 0, nil
}

// descendants are the processes below ancestor.
func descendants(ancestor int) []int {
	parents := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may hold anything; see proc_pid_stat(5).
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			parents[pid] = parent
		}
	}
	var out []int
	for pid := range parents {
		up, ok := parents[pid], true
		for steps := 0; ok && up != ancestor && steps < len(parents); steps++ {
			up, ok = parents[up]
		}
		if ok && up == ancestor {
			out = append(out, pid)
		}
	}
	return out
}
