package process

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// What has opened a session of its own, and was orphaned, ends with the program.
func TestKillEndsWhatLeftItsGroup(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := New(in)
	cmd := exec.Command("sh", "-c", `setsid sh -c 'echo $$; exec sleep 1000' & wait`)
	cmd.Env = append(os.Environ(), c.Mark())
	cmd.Stdout = out
	Detach(cmd)
	if err := c.Start(cmd, nil); err != nil {
		t.Fatal(err)
	}
	out.Close()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := all[pid]; ok && !p.Zombie {
		t.Errorf("%+v lives", p)
	}
	if !c.HasExited() || c.State().Success() {
		t.Errorf("the program: %v", c.State())
	}
}
