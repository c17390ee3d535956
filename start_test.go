package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestInitIsCheap: every run of the program pays for what packages do before main, the one
// that prints its version too. Expressions, tables and documents are made when they are first
// needed.
func TestInitIsCheap(t *testing.T) {
	t.Parallel()
	const most = 200 // allocations by one package; one expression takes about 60
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("parley", "--version")
	cmd.Path, cmd.Err = exe, nil
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GODEBUG=inittrace=1"}
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(fmt.Errorf("%w\n%s", err, trace.String()))
	}
	packages := 0
	for _, m := range regexp.MustCompile(`(?m)^init (parley/\S+) .* (\d+) allocs$`).FindAllStringSubmatch(trace.String(), -1) {
		if strings.Contains(m[1], "test") { // of this test, not of the program
			continue
		}
		packages++
		if allocs, err := strconv.Atoi(m[2]); err != nil || allocs > most {
			t.Errorf("%s: got %s allocations before main, want %d at most", m[1], m[2], most)
		}
	}
	if packages == 0 {
		t.Errorf("no package is in the trace:\n%s", trace.String())
	}
}
