// Package process starts programs and ends them together with everything they
// started: none of it outlives the end, nor parley where the system allows that. Only
// KillGroup spares what a program has put into a process group of its own.
//
//	New(pipe) ──► Child.Start(cmd) ──► WaitExit ──► Terminate · Signal, Kill · KillGroup
//	                  │
//	                  └ CommandContext: one step, for programs that end soon
//
// On Linux the processes of a program are found whatever they do to get away, on other
// Unix systems by its process group, and elsewhere it is the program alone.
package process

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// The times of an end.
const (
	GraceTime   = time.Second             // between SIGTERM and SIGKILL
	helperTime  = 1500 * time.Millisecond // for a helper to end what it started
	restoreTime = 20 * time.Second        // for it to restore what is protected then
	killTime    = 5 * time.Second         // for the first process to be gone after SIGKILL
)

// A Child is a program with everything that it started in turn.
type Child struct {
	tree       *tree
	stopHelper func()        // tells the helper to end it; nil without one
	exited     chan struct{} // closed once its first process has ended
	state      *os.ProcessState
}

// New returns a child that will write to the other end of pipe.
func New(pipe *os.File) *Child {
	return &Child{tree: newTree(pipe), exited: make(chan struct{})}
}

// Mark returns the variable, with its value, that has to be in the environment of the
// program, and of its helper.
func (c *Child) Mark() string { return c.tree.mark }

// Command returns argv, not yet started, as start makes it of p; its processes can be told. StopHelper
// is for Start.
func (c *Child) Command(start func(SandboxPolicy, ...string) (*exec.Cmd, func(), error), p SandboxPolicy, argv []string) (cmd *exec.Cmd, stopHelper func(), err error) {
	p.Env = append(slices.Clip(p.Env), c.Mark())
	cmd, stopHelper, err = start(p, argv...)
	if err == nil && stopHelper != nil {
		cmd.Env = append(cmd.Env, c.Mark()) // the helper's own
	}
	return cmd, stopHelper, err
}

// Start starts cmd. StopHelper makes its helper end it; nil if it has none.
func (c *Child) Start(cmd *exec.Cmd, stopHelper func()) error {
	c.stopHelper = stopHelper
	started := make(chan error)
	go func() {
		defer close(c.exited)
		// The signal that a child gets at the death of its parent is sent at
		// the death of the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its state says it all
			c.state = cmd.ProcessState
		}
	}()
	if err := <-started; err != nil {
		c.ReleaseHelper()
		return err
	}
	c.tree.process = cmd.Process
	return nil
}

// PID returns the number of the first process: the program's, or its helper's.
func (c *Child) PID() int { return c.tree.process.Pid }

// Exited returns what is closed once the first process has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// State returns how the first process ended; nil while it runs.
func (c *Child) State() *os.ProcessState {
	if !c.HasExited() {
		return nil
	}
	return c.state
}

// Terminate ends everything, politely and after GraceTime without asking, and returns
// how many processes that were. Linux's helper is left to it first, and is ended last,
// for it also restores what no command may change, and a command can give it much to do.
func (c *Child) Terminate() (ended int) {
	c.ReleaseHelper()
	if c.hasHelper() && !c.WaitExit(helperTime) {
		ended = c.tree.terminate(true)
		c.WaitExit(restoreTime)
	}
	return ended + c.tree.terminate(false)
}

// Signal sends s to everything.
func (c *Child) Signal(s syscall.Signal) { c.tree.signal(s) }

// Kill ends everything at once, and waits for the end of the first process, but not for
// long: one of another user, as with sudo, or one that the kernel holds cannot be killed.
func (c *Child) Kill() {
	c.tree.kill()
	c.WaitExit(killTime)
	c.tree.kill() // what was orphaned meanwhile
}

// KillGroup ends what is left of the process group of a program that has ended. What has
// opened a group of its own, as a daemon does, lives on.
func (c *Child) KillGroup() { c.tree.killGroup() }

// hasHelper reports whether the first process is a helper.
func (c *Child) hasHelper() bool { return c.stopHelper != nil && runtime.GOOS == "linux" }

// WaitExit reports whether the first process ends in time.
func (c *Child) WaitExit(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return c.HasExited()
	}
}

// HasExited reports whether the first process has ended.
func (c *Child) HasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// HelperFailed reports whether the helper did not come to its own end, and so did not
// look at what is protected.
func (c *Child) HelperFailed() bool {
	return c.hasHelper() && (!c.HasExited() || c.state.ExitCode() < 0)
}

// ReleaseHelper lets go of the helper. It is called once more after the end, when its
// temp directory can be emptied.
func (c *Child) ReleaseHelper() {
	if c.stopHelper != nil {
		c.stopHelper()
	}
}

// CommandContext returns [exec.CommandContext] in a session of its own, without a terminal:
// canceling ctx kills what has not left its process group. Output that is held open by
// what outlives the program is waited for as long as delay.
func CommandContext(ctx context.Context, delay time.Duration, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	newSession(cmd)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = delay
	return cmd
}
