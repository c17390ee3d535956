//go:build unix && !linux

package tools

import (
	"crypto/rand"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A processTree is a command and what it started, as far as they share its process
// group.
type processTree struct {
	process *os.Process
	mark    string // an environment variable, with its value
}

func newProcessTree(*os.File) *processTree { return &processTree{mark: "PARLEY_CALL=" + rand.Text()} }

// detach gives cmd a session of its own, without a terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// unsandboxedCommand is argv, not yet started, with nothing held back.
func unsandboxedCommand(dir string, env, argv []string, _ bool) (cmd *exec.Cmd, letGo func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	detach(cmd)
	return cmd, nil, nil
}

// terminate ends the process group: politely, after a second without asking. There is
// nothing to spare.
func (t *processTree) terminate(bool) int {
	if !t.signalGroup(syscall.SIGTERM) {
		return 0
	}
	for deadline := time.Now().Add(graceTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if !t.signalGroup(0) {
			return 1
		}
	}
	t.signalGroup(syscall.SIGKILL)
	return 1
}

func (t *processTree) signalGroup(s syscall.Signal) bool {
	return syscall.Kill(-t.process.Pid, s) == nil
}
