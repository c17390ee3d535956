//go:build unix && !linux

package store

import (
	"errors"
	"syscall"
)

func bootID() string { return "" }

func pidNamespace() string { return "" }

// began cannot tell when a process started here, only whether there is one.
func began(pid int) (start string, gone bool) {
	return "", errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
