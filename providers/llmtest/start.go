package llmtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startLimit is the number of allocations that a package may make when a program starts: enough for
// tables, but not for compiling expressions or reading files.
const startLimit = 150

// Start checks that the packages of this module linked into the test do almost nothing when a
// program starts: they slow down every run, even one that only prints the version.
func Start(t *testing.T) {
	t.Helper()
	again := exec.Command(os.Args[0], "-test.run=^$")
	again.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		var name string
		var at, took float64
		var bytes, allocs int
		n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &took, &bytes, &allocs)
		if n != 5 || !strings.HasPrefix(name, "parley/") {
			continue
		}
		if seen++; allocs > startLimit {
			t.Errorf("%s makes %d allocations at start, want at most %d", name, allocs, startLimit)
		}
	}
	if seen == 0 {
		t.Errorf("the trace tells of no package of parley: %s", out)
	}
}
