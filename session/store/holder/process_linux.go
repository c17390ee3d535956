package holder

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// tellsProcesses reports whether the system can tell which processes run.
const tellsProcesses = true

// bootID returns the ID of this boot of the machine; "" if unknown.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// pidNamespace returns the ID of the PID namespace: containers share the boot ID, and may
// share a home, but not process ids.
func pidNamespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// processStart returns when a process started, in ticks since boot, "" if unknown, and
// whether the process does not exist.
func processStart(pid int) (start string, gone bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		_, self := os.Stat("/proc/self/stat") // check that /proc is mounted
		return "", errors.Is(err, fs.ErrNotExist) && self == nil
	}
	// Field 22 (proc_pid_stat(5)), counted after the name of the program, which
	// may hold spaces and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", false
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "", true // it has ended, and its parent has not waited for it
	}
	return string(fields[19]), false
}
