package tools

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// ScrubEnvironment removes the variables withheld from commands from /proc/PID/environ, where a
// command of the same user, or of root, could read keys. os.Getenv still returns them. It reports
// success.
func ScrubEnvironment() bool {
	start, end, ok := environAddress()
	if !ok {
		return false
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer memory.Close()
	shown := make([]byte, end-start)
	if _, err := memory.ReadAt(shown, start); err != nil {
		return false
	}
	for at := 0; at < len(shown); {
		entry := shown[at:]
		if i := bytes.IndexByte(entry, 0); i >= 0 {
			entry = entry[:i]
		}
		if name, value, ok := bytes.Cut(entry, []byte("=")); ok && !passesVariable(string(name)) {
			clear(value)
		}
		at += len(entry) + 1
	}
	_, err = memory.WriteAt(shown, start)
	return err == nil
}

// environAddress returns the memory range of the process's initial environment; see
// proc_pid_stat(5), fields 50 and 51.
func environAddress() (start, end int64, ok bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // fields from the third on
	const first, last = 50 - 3, 51 - 3
	if len(fields) <= last {
		return 0, 0, false
	}
	start, errStart := strconv.ParseInt(fields[first], 10, 64)
	end, errEnd := strconv.ParseInt(fields[last], 10, 64)
	return start, end, errStart == nil && errEnd == nil && start > 0 && end > start && end-start < 8<<20
}
