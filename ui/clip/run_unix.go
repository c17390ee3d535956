//go:build unix

package clip

import (
	"os/exec"
	"syscall"
)

// detach gives a command a session of its own: what keeps the clipboard outlives
// the terminal, and what hangs is killed with its children.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
