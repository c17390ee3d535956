//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"os/exec"
	"runtime"
)

// Probe reports that there is no backend.
func Probe() Backend { return Backend{Reason: "there is no sandbox for " + runtime.GOOS} }

// Command reports that there is no backend.
func Command(Policy, ...string) (*exec.Cmd, func(), error) {
	return nil, nil, errors.New(Probe().Reason)
}
