package tools

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	rest := " 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 88"
	tests := []struct {
		in   string
		want process
		bad  bool
	}{
		{in: "42 (sleep) S 7 8 9" + rest, want: process{pid: 42, parent: 7, session: 9, startTicks: 12345}},
		{in: "42 (a) b) (c) Z 7 8 9" + rest, want: process{pid: 42, parent: 7, session: 9, startTicks: 12345, zombie: true}},
		{in: "42 (x\n) R 1 2 3) S 7 8 9" + rest, want: process{pid: 42, parent: 7, session: 9, startTicks: 12345}},
		{in: "42 (sleep) S 7 8", bad: true},
		{in: "sleep S 7 8 9" + rest, bad: true},
		{in: "(sleep) S 7 8 9" + rest, bad: true},
		{in: "42 (sleep) S x 8 9" + rest, bad: true},
		{in: "", bad: true},
	}
	for _, test := range tests {
		got, err := parseStat(test.in)
		if (err != nil) != test.bad || err == nil && got != test.want {
			t.Errorf("%q: got %+v, %v, want %+v", test.in, got, err, test.want)
		}
	}
}

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
	before, err := listProcesses()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, nil)
	f.must("shell", "command", "for i in 1 2 3 4 5; do (true &) ; (sleep 0.05 &); done; sleep 0.2")
	all, err := listProcesses()
	if err != nil {
		t.Fatal(err)
	}
	var zombies []string
	for pid, p := range all {
		if p.parent == unix.Getpid() && p.zombie && before[pid].startTicks != p.startTicks {
			zombies = append(zombies, fmt.Sprint(pid))
		}
	}
	if len(zombies) > 0 {
		t.Errorf("zombies: %s", strings.Join(zombies, ", "))
	}
}
