package tools

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"parley/tools/process"
)

// While a command runs, only root could read parley's environment in /proc.
func TestShellCannotReadItsParent(t *testing.T) {
	open(t, nil).must("shell", "command", "true")
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 0 {
		t.Errorf("dumpable is %d, %v", dumpable, err)
	}
}

// Orphans that ended by themselves do not pile up as zombies. What another test has
// left, as what plays parley and is killed does, is nobody's here.
func TestNoZombiesStay(t *testing.T) {
	before, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, nil)
	f.must("shell", "command", "for i in 1 2 3 4 5; do (true &) ; (sleep 0.05 &); done; sleep 0.2")
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	var zombies []string
	for pid, p := range all {
		if p.Parent == unix.Getpid() && p.Zombie && before[pid].StartTicks != p.StartTicks {
			zombies = append(zombies, fmt.Sprint(pid))
		}
	}
	if len(zombies) > 0 {
		t.Errorf("zombies: %s", strings.Join(zombies, ", "))
	}
}
