//go:build unix

package agentcli

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// newSession gives cmd a session of its own: a process group to be signalled as one,
// and no terminal that it could read from.
func newSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// signalGroup signals the process group of p.
func signalGroup(p *os.Process, s syscall.Signal) { _ = syscall.Kill(-p.Pid, s) }

// killGroup ends the process group of p.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// reapGroup clears away what is left of the group, where parley is the parent of
// orphans.
func reapGroup(p *os.Process) {
	for range 100 {
		pid, err := syscall.Wait4(-p.Pid, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // mostly ECHILD: there is none
			return
		case pid == 0:
			time.Sleep(5 * time.Millisecond) // killed, but not dead yet
		}
	}
}
