// Package process starts programs and ends them with all their descendants: none
// outlives the end of its program, nor parley where the system supports that. Only
// KillGroup spares descendants in process groups of their own.
//
//	New(pipe) ──► Child.Start(cmd) ──► WaitExit ──► Terminate · Signal, Kill · KillGroup
//	                  │
//	                  └ CommandContext: one step, for programs that end soon
//
// On Linux and Windows all descendants of a program are found, whatever they do to escape.
// On other systems its process group is.
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

// Times allowed for ending a program.
const (
	GraceTime   = time.Second             // between SIGTERM and SIGKILL
	helperTime  = 1500 * time.Millisecond // for a helper to end the program's processes
	restoreTime = 20 * time.Second        // for the helper to restore protected files after that
	killTime    = 5 * time.Second         // for the first process to end after SIGKILL
)

// A Child is a program with all its descendants.
type Child struct {
	tree       *tree
	stopHelper func()        // tells the helper to end the program; nil without a helper
	exited     chan struct{} // closed once its first process has ended
	state      *os.ProcessState
}

// New returns a child that will write to the other end of pipe.
func New(pipe *os.File) *Child {
	return &Child{tree: newTree(pipe), exited: make(chan struct{})}
}

// Mark returns the variable, as NAME=value, that must be in the environment of the
// program and of its helper.
func (c *Child) Mark() string { return c.tree.mark }

// Command returns argv prepared by start under the policy p, with the mark in its environment, not yet
// started. Pass stopHelper to Start.
func (c *Child) Command(start func(SandboxPolicy, ...string) (*exec.Cmd, func(), error), p SandboxPolicy, argv []string) (cmd *exec.Cmd, stopHelper func(), err error) {
	p.Env = append(slices.Clip(p.Env), c.Mark())
	cmd, stopHelper, err = start(p, argv...)
	if err == nil && stopHelper != nil {
		cmd.Env = append(cmd.Env, c.Mark()) // the helper's own
	}
	return cmd, stopHelper, err
}

// Start starts cmd. StopHelper makes its helper end the program; nil without a
// helper.
func (c *Child) Start(cmd *exec.Cmd, stopHelper func()) error {
	c.stopHelper = stopHelper
	started := make(chan error)
	go func() {
		defer close(c.exited)
		// The parent death signal is sent when the starting thread dies.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.tree.start(cmd)
		started <- err
		if err == nil {
			_ = cmd.Wait() // the process state has the result
			c.state = cmd.ProcessState
		}
	}()
	if err := <-started; err != nil {
		c.ReleaseHelper()
		return err
	}
	return nil
}

// PID returns the number of the first process: the program's, or its helper's.
func (c *Child) PID() int { return c.tree.process.Pid }

// Exited returns a channel that is closed once the first process has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// State returns how the first process ended; nil while it runs.
func (c *Child) State() *os.ProcessState {
	if !c.HasExited() {
		return nil
	}
	return c.state
}

// Terminate ends all processes, with SIGTERM and after GraceTime with SIGKILL, and
// returns how many there were. On Linux the helper first gets the chance to do so and is
// ended last, because it also restores protected files, which can take long.
func (c *Child) Terminate() (ended int) {
	c.ReleaseHelper()
	if c.hasHelper() && !c.WaitExit(helperTime) {
		ended = c.tree.terminate(true)
		c.WaitExit(restoreTime)
	}
	return ended + c.tree.terminate(false)
}

// Signal sends s to all processes.
func (c *Child) Signal(s syscall.Signal) { c.tree.signal(s) }

// Kill kills all processes, and waits briefly for the first one. A process of another
// user, as with sudo, or one blocked in the kernel cannot be killed.
func (c *Child) Kill() {
	c.tree.kill()
	c.WaitExit(killTime)
	c.tree.kill() // processes orphaned meanwhile
}

// KillGroup kills the rest of the process group of a program that has ended. Processes
// in their own groups, such as daemons, survive.
func (c *Child) KillGroup() { c.tree.killGroup() }

// hasHelper reports whether the first process is a helper.
func (c *Child) hasHelper() bool { return c.stopHelper != nil && runtime.GOOS == "linux" }

// WaitExit reports whether the first process ends within the given time.
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

// HelperFailed reports whether the helper was killed or still runs, and so did not
// check protected files.
func (c *Child) HelperFailed() bool {
	return c.hasHelper() && (!c.HasExited() || c.state.ExitCode() < 0)
}

// ReleaseHelper releases the helper. It is called again after the end, when the
// helper's temp directory can be removed.
func (c *Child) ReleaseHelper() {
	if c.stopHelper != nil {
		c.stopHelper()
	}
}

// CommandContext returns [exec.CommandContext] in a session of its own, without a terminal:
// canceling ctx kills its process group. Delay is how long to wait for output held open by
// processes that outlive the program.
func CommandContext(ctx context.Context, delay time.Duration, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	newSession(cmd)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = delay
	return cmd
}
