package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// bootID names this start of the machine.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// pidNamespace names what process ids count in: containers share a boot, and may share
// a home, but not their processes.
func pidNamespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// began returns when a process started, in ticks since boot, which tells it from a
// later one of the same id; "" if it cannot be told. gone reports that there is
// no such process.
func began(pid int) (start string, gone bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		_, self := os.Stat("/proc/self/stat") // is there a /proc at all?
		return "", errors.Is(err, fs.ErrNotExist) && self == nil
	}
	// Field 22 (proc_pid_stat(5)), counted behind the name of the program, which
	// may hold spaces and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", false
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "", true // dead, and only waited for
	}
	return string(fields[19]), false
}
