//go:build unix && !linux

package process

import (
	"crypto/rand"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// tree is a program and what it started, as far as they share its process group.
type tree struct {
	process *os.Process
	mark    string // an environment variable, with its value
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=" + rand.Text()} }

// isZombie reports whether a process has ended and was not waited for, which cannot be told here.
func isZombie(int) bool { return false }

// Detach gives cmd a session of its own, without a terminal.
func Detach(cmd *exec.Cmd) { newSession(cmd) }

// terminate ends the process group: politely, after GraceTime without asking. There is
// nothing to spare.
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

// killGroup kills what is left of the process group.
func (t *tree) killGroup() { t.kill() }

func (t *tree) signalGroup(s syscall.Signal) bool {
	return syscall.Kill(-t.process.Pid, s) == nil
}
