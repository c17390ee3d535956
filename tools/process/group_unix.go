//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// newSession gives cmd a session, and so a process group, of its own without a terminal.
func newSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// Alive reports whether a process runs. On Linux one that has ended does not, although nobody waited for it:
// in containers without an init it stays like that.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !isZombie(pid)
}
