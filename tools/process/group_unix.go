//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// newSession gives cmd a session, and so a process group, of its own without a terminal.
func newSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
