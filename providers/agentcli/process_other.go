//go:build !unix

package agentcli

import (
	"os"
	"os/exec"
	"syscall"
)

// There are no process groups here.

func group(*exec.Cmd) {}

// ask cannot ask: there are no signals that a program could answer.
func ask(p *os.Process, _ syscall.Signal) { _ = p.Kill() }

func kill(p *os.Process) { _ = p.Kill() }

func reap(*os.Process) {}
