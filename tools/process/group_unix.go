//go:build unix

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// newSession gives cmd its own session, and so its own process group, without a terminal.
func newSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func (t *tree) start(cmd *exec.Cmd) error {
	err := cmd.Start()
	t.process = cmd.Process
	return err
}

// EditorCommand returns the command that opens path in an editor. The editor may have arguments, as in
// "code --wait".
func EditorCommand(editor, path string) *exec.Cmd {
	return exec.Command("sh", "-c", editor+` "$1"`, "sh", path)
}

// LineCommand returns the command that runs a line in sh, found in path.
func LineCommand(ctx context.Context, path SearchPath, line string) *exec.Cmd {
	return exec.CommandContext(ctx, path.Find("sh"), "-c", line)
}

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// Alive reports whether a process runs. On Linux, zombies do not count: in containers without an init they
// are never reaped.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !isZombie(pid)
}
