//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// tree is a program; what it started cannot be told here.
type tree struct {
	process *os.Process
	mark    string // an environment variable, with its value
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=1"} }

// Detach does nothing here.
func Detach(*exec.Cmd) {}

func newSession(*exec.Cmd) {}

func killGroup(p *os.Process) error { return p.Kill() }

// terminate ends the program. There is nothing to spare.
func (t *tree) terminate(bool) int {
	if t.process.Kill() != nil {
		return 0
	}
	return 1
}

// signal ends the program: there are no signals that it could handle.
func (t *tree) signal(syscall.Signal) { t.kill() }

func (t *tree) kill() { _ = t.process.Kill() }

// killGroup does nothing: there are no process groups.
func (t *tree) killGroup() {}

// Alive reports whether a process exists, which cannot be told here.
func Alive(int) bool { return false }
