package cmdutil

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// inputTimeout is how long to wait for input without a writer.
const inputTimeout = 2 * time.Second

// inputHasWriter reports whether f ends by itself or will be written to: a file, or a pipe that a
// process other than our ancestors has open for writing. In "make | parley explain" that is make,
// however long it takes; a pipe left open by an editor or cron is held by our ancestors only.
func inputHasWriter(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return err == nil && info.Mode().IsRegular()
	}
	target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return false
	}
	ours := ancestors()
	dirs, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if !ours[pid] && writes(dir, target) {
			return true
		}
	}
	return false
}

// writes reports whether the process with the descriptors in dir has target open for writing.
func writes(dir, target string) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if link, _ := os.Readlink(filepath.Join(dir, e.Name())); link != target {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o200 != 0 { // the mode of the link is that of the descriptor
			return true
		}
	}
	return false
}

// ancestors returns the ids of this process and all its ancestors.
func ancestors() map[int]bool {
	found := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !found[pid]; pid = parent(pid) {
		found[pid] = true
	}
	return found
}

// parent returns the id of a process's parent; 0 if it is unknown.
func parent(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	ppid, _ := strconv.Atoi(line)
	return ppid
}
