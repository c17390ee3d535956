package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/tools/process"
)

// Times for ending a command.
const (
	drainTime = 300 * time.Millisecond // for background processes to exit
	graceTime = 700 * time.Millisecond // between SIGTERM and SIGKILL
)

// Exit statuses of the helper itself, as in env(1) and timeout(1).
const (
	exitNoSandbox = 125
	exitNoExec    = 126
	exitNotFound  = 127
	exitCanceled  = 128 + int(syscall.SIGTERM)
)

// addHelper makes a helper supervise programs. In a process started as a helper, it runs the
// helper and never returns.
func addHelper(d *process.SandboxDriver) {
	d.Supervise, d.Hides, d.Trust, d.Accept = Supervise, Hides, Trust, Accept
	d.Finish = func(workspace string) string { return FinishJournals(workspace) }
	if len(os.Args) == 0 || os.Args[0] != helperName {
		return
	}
	status, err := runHelper()
	if err != nil {
		fmt.Fprintf(os.Stderr, "[sandbox: %v]\n", err)
	}
	syscall.Exit(status) // at once: the race detector's hook of os.Exit waits for a second
}

// helper starts the command, and ends its processes.
type helper struct {
	job
	orders       *bufio.Reader           // rest of the pipe with the job
	temp         *os.Root                // of TempDir; nil: the helper does not remove it
	exited       chan syscall.WaitStatus // receives the status of the command, once
	allExited    chan struct{}           // closed when no process is left
	terminating  chan struct{}           // closed before remaining processes are ended
	terminated   int                     // processes that exited after that; final once allExited
	drainExpired bool                    // background processes did not exit within drainTime
	journals     []*os.Root              // opened from undone; nil for one that could not be
	callerDied   bool                    // valid once it has let go
}

// runHelper runs the helper's whole life and returns its exit status.
func runHelper() (int, error) {
	// The reader of the output may have exited already. (The command would inherit
	// an ignored signal.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	h := &helper{exited: make(chan syscall.WaitStatus, 1), allExited: make(chan struct{}), terminating: make(chan struct{})}
	if err := h.prepare(); err != nil {
		return exitNoSandbox, err
	}
	if h.guards {
		h.guard(os.NewFile(guardFD, "servers"), os.NewFile(readyFD, "ready"))
		return 0, nil
	}
	life := os.NewFile(lifeFD, "life")
	abandoned := make(chan struct{})
	go func() {
		defer close(abandoned)
		n, _ := life.Read(make([]byte, 1)) // nothing is written but to cancel the command: the read ends when the caller exits
		h.callerDied = n == 0
	}()

	pid, status, err := h.start()
	if pid == 0 {
		h.removeTemp() // the caller may have exited
		return status, err
	}
	go h.reap(pid)
	code := h.waitForEnd(stop, abandoned)
	select {
	case <-abandoned:
		h.finish(h.callerDied)
	default:
		h.finish(false)
	}
	h.removeTemp()
	return code, nil
}

// waitForEnd waits for the end of the command and its background processes, or for a reason
// to end them. It returns the exit status.
func (h *helper) waitForEnd(stop <-chan os.Signal, abandoned <-chan struct{}) int {
	select {
	case status := <-h.exited:
		select {
		case <-h.allExited:
		case <-stop:
		case <-abandoned:
		case <-time.After(drainTime):
			h.drainExpired = true
		}
		if status.Signaled() {
			return 128 + int(status.Signal())
		}
		return status.ExitStatus()
	case <-stop:
	case <-abandoned:
	}
	return exitCanceled
}

// finish ends every process. If the caller was killed, it does so at once, and takes away what the command has left.
func (h *helper) finish(callerDied bool) {
	close(h.terminating)
	h.terminate(callerDied)
	select {
	case <-h.allExited:
		if h.drainExpired && h.terminated > 0 {
			fmt.Fprintf(os.Stderr, "[ended what still ran in the background, processes: %d; nothing outlives its command]\n", h.terminated)
		}
	default:
		fmt.Fprintln(os.Stderr, "[CAUTION: some processes could not be ended]")
	}
	if callerDied {
		h.finishJournals()
	}
}

// finishJournals does what the caller would have done after its commands.
func (h *helper) finishJournals() {
	for i, undone := range h.journals {
		if undone == nil {
			continue
		}
		quarantine := h.undone[i]
		if h.hasNamespaces { // in which it is read-only
			quarantine = ""
		}
		if told := finishJournals(append([]string{h.Workspace}, h.Directories...)[i], undone, quarantine, callerTime); told != "" {
			_ = undone.WriteFile(noticePrefix+timestamp(), []byte(told), 0o600)
		}
	}
}

// callerTime is how long the kernel may take to end a caller that was killed.
const callerTime = 500 * time.Millisecond

// removeTemp removes the temp directory.
func (h *helper) removeTemp() {
	if h.temp != nil { // the caller may be gone
		removeContents(h.temp)
		_ = os.Remove(h.TempDir) // unless it is a mount
	}
}

// removeContents removes the whole content of a directory, even if its name now belongs to another.
func removeContents(dir *os.Root) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		_ = dir.RemoveAll(e.Name())
	}
}

// terminate ends the remaining processes, within two seconds.
func (h *helper) terminate(atOnce bool) {
	for _, step := range []struct {
		signal unix.Signal
		rounds int
		pause  time.Duration
	}{
		{unix.SIGTERM, 1, graceTime},
		{unix.SIGKILL, 50, 20 * time.Millisecond}, // a second, more on a busy machine
	} {
		if atOnce && step.signal == unix.SIGTERM { // nobody watches what they make
			continue
		}
		for range step.rounds {
			select {
			case <-h.allExited:
				return
			default:
			}
			h.signalAll(step.signal)
			select {
			case <-h.allExited:
				return
			case <-time.After(step.pause):
			}
		}
	}
}

// signalAll sends a signal to all processes below the helper.
func (h *helper) signalAll(s unix.Signal) {
	if h.hasNamespaces {
		_ = unix.Kill(-1, s) // does not reach the helper, the first process of the namespace
		return
	}
	all, err := process.List()
	if err != nil {
		return
	}
	for _, pid := range process.Descendants(all, os.Getpid()) {
		_ = unix.Kill(pid, s)
	}
}

// reap reaps exited processes, which all become the helper's children in the end.
func (h *helper) reap(command int) {
	defer close(h.allExited)
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
			case <-h.terminating:
				h.terminated++
			default:
			}
		}
	}
}

// prepare sets up the helper before it starts the command.
func (h *helper) prepare() error {
	unix.CloseOnExec(jobFD)
	unix.CloseOnExec(lifeFD)
	h.orders = bufio.NewReader(os.NewFile(jobFD, "job"))
	var err error
	if h.job, err = receiveJob(h.orders); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	// No process may read the helper's memory, and no orphan escapes it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if h.hasNamespaces {
		if err := h.mapOwnID(); err != nil {
			return err
		}
	}
	if h.inPlace {
		unix.CloseOnExec(guardFD)
		if err := h.report(os.NewFile(guardFD, "guard")); err != nil {
			return fmt.Errorf("guard: %w", err)
		}
	}
	h.openJournals()
	if h.hasNamespaces {
		if err := isolateMounts(&h.policy); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if h.ownsTempDir {
		if h.temp, err = os.OpenRoot(h.TempDir); err != nil {
			return err
		}
	}
	return nil
}

// openJournals opens the directories with journals before everything becomes read-only, in namespaces as detached mounts
// that only the helper can access.
func (h *helper) openJournals() {
	for _, dir := range h.undone {
		if h.hasNamespaces {
			t, err := cloneMount(dir)
			if err != nil {
				h.journals = append(h.journals, nil)
				continue
			}
			defer unix.Close(t.fd)
			dir = fmt.Sprintf("/proc/self/fd/%d", t.fd)
		}
		root, _ := os.OpenRoot(dir) // nil after an error
		h.journals = append(h.journals, root)
	}
}

// mapOwnID maps the helper's own id in its user namespace, if the caller did not.
func (h *helper) mapOwnID() error {
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

// start starts the command from a thread that restricts itself first; its children inherit
// the restrictions. The thread ends afterwards, so that the command cannot signal any part
// of the helper.
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
		go bound() // the first thread cannot end; while it is blocked here, another one is used
		<-done
		runtime.UnlockOSThread()
	}()
	<-done
	return pid, status, err
}

// launch restricts the calling thread and starts the command from it, once the caller allows
// it. The pid is 0 if it did not start.
func (h *helper) launch() (pid, status int, err error) {
	if err := h.restrictThread(); err != nil {
		return 0, exitNoSandbox, err
	}
	// The command does not inherit files that parley inherited.
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, exitNoSandbox, fmt.Errorf("close_range: %w", err)
	}
	if h.TempDir != "" {
		h.Env = append(h.Env, "TMPDIR="+h.TempDir)
	}
	if !awaitGoAhead(h.orders) {
		return 0, exitCanceled, nil
	}
	if h.inPlace {
		err = h.become()
	} else {
		pid, err = syscall.ForkExec(h.path, h.argv, &syscall.ProcAttr{
			Env:   h.Env,
			Files: []uintptr{0, 1, 2},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	}
	switch {
	case errors.Is(err, errAbandoned):
		return 0, exitCanceled, nil
	case errors.Is(err, os.ErrNotExist):
		return 0, exitNotFound, fmt.Errorf("%s: %w", h.path, err)
	case err != nil:
		return 0, exitNoExec, fmt.Errorf("%s: %w", h.path, err)
	}
	return pid, 0, nil
}
