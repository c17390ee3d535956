//go:build !unix

package agentcli

import (
	"os"
	"os/exec"
	"syscall"
)

// There are no process groups here.

func newSession(*exec.Cmd) {}

// signalGroup cannot ask: there are no signals that a program could answer.
func signalGroup(p *os.Process, _ syscall.Signal) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }

func reapGroup(*os.Process) {}
