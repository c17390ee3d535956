package tools

import (
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A child is a program that parley started, with everything that this started in
// turn: none of it outlives its end, nor parley where the system can see to that.
type child struct {
	tree       *processTree
	stopHelper func()        // tells the helper to end it; nil if there is none
	exited     chan struct{} // closed once its first process has ended
	state      *os.ProcessState
}

// newChild is a child that will write to the other end of pipe.
func newChild(pipe *os.File) child {
	return child{tree: newProcessTree(pipe), exited: make(chan struct{})}
}

// start starts cmd, which letGo ends if it has a helper.
func (c *child) start(cmd *exec.Cmd, letGo func()) error {
	c.stopHelper = letGo
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
		c.releaseHelper()
		return err
	}
	c.tree.process = cmd.Process
	return nil
}

// terminate ends everything, and returns how many processes that were. Linux's helper
// is left to it first, and is ended last, for it also puts back what no command may
// change, and a command can give it much to do.
func (c *child) terminate() (ended int) {
	if c.stopHelper != nil {
		c.stopHelper()
	}
	if c.hasHelper() && !c.waitExit(helperTime) {
		ended = c.tree.terminate(true)
		c.waitExit(restoreTime)
	}
	return ended + c.tree.terminate(false)
}

// hasHelper reports whether the first process is a helper.
func (c *child) hasHelper() bool { return c.stopHelper != nil && runtime.GOOS == "linux" }

// waitExit reports whether the first process ends in time.
func (c *child) waitExit(within time.Duration) bool {
	select {
	case <-c.exited:
		return true
	case <-time.After(within):
		return c.hasExited()
	}
}

// hasExited reports whether the first process has ended.
func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// helperFailed reports whether the helper did not come to its own end, and so did not
// look at what is protected.
func (c *child) helperFailed() bool {
	return c.hasHelper() && (!c.hasExited() || c.state.ExitCode() < 0)
}

// releaseHelper lets go of the helper, once more after the end: its temp directory can be
// emptied then.
func (c *child) releaseHelper() {
	if c.stopHelper != nil {
		c.stopHelper()
	}
}
