//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"os/exec"
	"runtime"
)

// Probe returns that there is no sandbox.
func Probe() Backend { return Backend{Reason: "there is no sandbox for " + runtime.GOOS} }

// Command returns an error: there is no sandbox.
func Command(Policy, ...string) (*exec.Cmd, func(), error) {
	return nil, nil, errors.New(Probe().Reason)
}
