//go:build unix && !linux

package process

import (
	"crypto/rand"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// tree is a program and the descendants in its process group.
type tree struct {
	process *os.Process
	mark    string // environment variable, as NAME=value
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=" + rand.Text()} }

// isZombie reports whether a process has ended and was not reaped; always false here, where that is unknown.
func isZombie(int) bool { return false }

// Detach gives cmd a session of its own, without a terminal.
func Detach(cmd *exec.Cmd) { newSession(cmd) }

// terminate ends the process group, with SIGTERM and after GraceTime with SIGKILL.
// There is no helper to spare.
func (t *tree) terminate(bool) int {
	if !t.signalGroup(syscall.SIGTERM) {
		return 0
	}
	for deadline := time.Now().Add(GraceTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if !t.signalGroup(0) {
			return 1
		}
	}
	t.kill()
	return 1
}

func (t *tree) signal(s syscall.Signal) { t.signalGroup(s) }

func (t *tree) kill() { t.signalGroup(syscall.SIGKILL) }

// killGroup kills the rest of the process group.
func (t *tree) killGroup() { t.kill() }

func (t *tree) signalGroup(s syscall.Signal) bool {
	return syscall.Kill(-t.process.Pid, s) == nil
}
