//go:build unix && !linux

package tools

import (
	"crypto/rand"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A tree is a command and what it started, as far as they share its process
// group.
type tree struct {
	process *os.Process
	mark    string // an environment variable, with its value
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=" + rand.Text()} }

// prepare gives cmd a session of its own, without a terminal.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// unheld is argv, not yet started, with nothing held back.
func unheld(dir string, env, argv []string, _ bool) (cmd *exec.Cmd, letGo func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	prepare(cmd)
	return cmd, nil, nil
}

// end ends the process group: politely, after a second without asking. There is
// nothing to spare.
func (t *tree) end(bool) int {
	if !t.signal(syscall.SIGTERM) {
		return 0
	}
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if !t.signal(0) {
			return 1
		}
	}
	t.signal(syscall.SIGKILL)
	return 1
}

func (t *tree) signal(s syscall.Signal) bool { return syscall.Kill(-t.process.Pid, s) == nil }
