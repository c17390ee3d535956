//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// tree is a program; its descendants are unknown on this system.
type tree struct {
	process *os.Process
	mark    string // environment variable, as NAME=value
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=1"} }

// Detach does nothing here.
func Detach(*exec.Cmd) {}

func newSession(*exec.Cmd) {}

func killGroup(p *os.Process) error { return p.Kill() }

// terminate kills the program. There is no helper to spare.
func (t *tree) terminate(bool) int {
	if t.process.Kill() != nil {
		return 0
	}
	return 1
}

// signal kills the program, because it could not handle a signal.
func (t *tree) signal(syscall.Signal) { t.kill() }

func (t *tree) kill() { _ = t.process.Kill() }

// killGroup does nothing: there are no process groups.
func (t *tree) killGroup() {}

// Alive reports whether a process exists; always false on this system, where
// that is unknown.
func Alive(int) bool { return false }
