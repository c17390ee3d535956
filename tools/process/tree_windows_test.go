package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program that the tests start: it starts another one, prints its PID and waits.
func TestMain(m *testing.M) {
	switch os.Getenv("PARLEY_TREE") {
	case "":
		os.Exit(m.Run())
	case "short":
		os.Exit(0)
	case "parent":
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stdout = append(os.Environ(), "PARLEY_TREE=child"), os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(cmd.Process.Pid) + "\n")
	}
	time.Sleep(time.Hour) // it is killed
}

// However a program is ended, so are the programs that it started.
func TestTreeEnds(t *testing.T) {
	ends := map[string]func(c *Child){
		"killed":     (*Child).Kill,
		"terminated": func(c *Child) { c.Terminate() },
	}
	for name, end := range ends {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c, cmd := New(in), exec.Command(os.Args[0])
		cmd.Env, cmd.Stdout = append(os.Environ(), "PARLEY_TREE=parent", c.Mark()), out
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
		if !Alive(pid) || !Alive(c.PID()) {
			t.Errorf("%s: they do not run", name)
		}
		end(c)
		if _, err := io.ReadAll(in); err != nil { // until nobody can write any more
			t.Error(err)
		}
		if Alive(pid) || !c.WaitExit(killTime) {
			t.Errorf("%s: the started program runs: %v", name, Alive(pid))
		}
		in.Close()
	}
}

// A program that ended alone left nothing to end.
func TestNothingIsLeft(t *testing.T) {
	for range 20 {
		c, cmd := New(nil), exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PARLEY_TREE=short", c.Mark())
		Detach(cmd)
		if err := c.Start(cmd, nil); err != nil {
			t.Fatal(err)
		}
		<-c.Exited()
		if n := c.Terminate(); n != 0 {
			t.Fatalf("%d processes ended", n)
		}
	}
}
