//go:build unix && !linux

package holder

import (
	"errors"
	"syscall"
)

// tellsProcesses reports whether the system can tell which processes run.
const tellsProcesses = true

func bootID() string { return "" }

func pidNamespace() string { return "" }

// processStart reports only whether the process exists on this system.
func processStart(pid int) (start string, gone bool) {
	return "", errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
