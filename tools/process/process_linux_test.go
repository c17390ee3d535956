package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// startTree starts a shell script that prints a PID, and returns its Child and the PID.
func startTree(t *testing.T, script string) (c *Child, pid int) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	c = New(in)
	cmd := exec.Command("sh", "-c", script)
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
	if pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	return c, pid
}

// An orphan in a session of its own ends with the program.
func TestKillEndsWhatLeftItsGroup(t *testing.T) {
	c, pid := startTree(t, `setsid sh -c 'echo $$; exec sleep 1000' & wait`)
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

// A process that cleared its environment and left its parent and session is known by its output; another child
// of this process is none of the program's.
func TestKillKnowsProcessesByTheirOutput(t *testing.T) {
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	c, pid := startTree(t, `env -i setsid sh -c 'echo $$; exec sleep 1000' &`)
	<-c.Exited()
	c.Kill()
	if all, err := List(); err != nil || Alive(pid) || !Alive(bystander.Process.Pid) {
		t.Errorf("%v: the daemon is %+v, another child %+v", err, all[pid], all[bystander.Process.Pid])
	}
}

// However long it takes to find processes, those that were found are killed.
func TestKillOnABusyMachine(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := false
	synctest.Test(t, func(t *testing.T) {
		killUntilGone(func() []int {
			time.Sleep(2 * GraceTime)
			if found {
				return nil
			}
			found = true
			return []int{cmd.Process.Pid}
		})
	})
	_ = cmd.Process.Signal(syscall.SIGTERM) // for a test that fails: what comes second ends nothing
	_ = cmd.Wait()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); s != syscall.SIGKILL {
		t.Errorf("it ended by %v", s)
	}
}

// A process runs until it has ended, whether somebody has waited for it or not.
func TestAlive(t *testing.T) {
	if !Alive(os.Getpid()) {
		t.Error("this process does not run")
	}
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	pid := child.Process.Pid
	if !Alive(pid) {
		t.Error("a child does not run")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for { // until it has ended
		all, err := List()
		if err != nil {
			t.Fatal(err)
		}
		if all[pid].Zombie {
			break
		}
	}
	if Alive(pid) {
		t.Error("a child that has ended runs until somebody waits for it")
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if Alive(pid) {
		t.Error("a child that was waited for runs")
	}
}

// A program can be ended when parley has no file descriptor left to list processes with:
// it and what stayed in its process group gets the signals.
func TestEndWithoutDescriptors(t *testing.T) {
	ends := map[string]func(*Child){
		"kill":      (*Child).Kill,
		"terminate": func(c *Child) { c.Terminate() },
		"signal":    func(c *Child) { c.Signal(syscall.SIGTERM) },
	}
	if end := ends[os.Getenv("END_PROGRAM")]; end != nil { // this is the process without
		endWithoutDescriptors(t, end)
		return
	}
	for name := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := CommandContext(ctx, time.Minute, os.Args[0], "-test.run=^TestEndWithoutDescriptors$")
			cmd.Env = append(os.Environ(), "END_PROGRAM="+name)
			if out, err := cmd.CombinedOutput(); err != nil { // also: something holds the output open
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// endWithoutDescriptors ends a program that has a child, with no file descriptor to spare.
func endWithoutDescriptors(t *testing.T, end func(*Child)) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := New(in)
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo ready >&3; wait")
	cmd.Stdout, cmd.ExtraFiles = os.Stdout, []*os.File{out}
	cmd.Env = append(os.Environ(), c.Mark())
	Detach(cmd)
	if err := c.Start(cmd, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := syscall.Rlimit{Cur: 0, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, listErr := List()
	end(c)
	<-c.Exited()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if listErr == nil {
		t.Error("processes were listed")
	}
	if c.State().Success() {
		t.Error("the program ended by itself")
	}
}

// Of a program that has ended, KillGroup ends the process group and nothing else, and what
// is let live leaves no zombie when it ends.
func TestKillGroupSparesADaemon(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := New(in)
	cmd := exec.Command("sh", "-c", `sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & read _`)
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = hold, out
	cmd.Env = append(os.Environ(), c.Mark())
	Detach(cmd)
	if err := c.Start(cmd, nil); err != nil {
		t.Fatal(err)
	}
	out.Close()
	hold.Close()
	var group, daemon int
	if _, err := fmt.Fscan(in, &group, &daemon); err != nil {
		t.Fatal(err)
	}
	release.Close()
	<-c.Exited()
	c.KillGroup()
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := all[group]; ok {
		t.Errorf("%+v of the group lives, or was not waited for", p)
	}
	if p, ok := all[daemon]; !ok || p.Zombie {
		t.Errorf("the daemon: %+v, %v", p, ok)
	}
	killUntilGone(c.tree.living)
	New(in)
	if all, err := List(); err != nil || all[daemon].PID != 0 || len(released.trees) > 0 {
		t.Errorf("%+v stays, %v", all[daemon], err)
	}
}

// Canceling ends the program with what it started, without a terminal of ours.
func TestCommandContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := CommandContext(ctx, time.Minute, "sh", "-c", `sleep 1000 & echo $! $(ps -o sid= -p $$); wait`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var child, session int
	if _, err := fmt.Fscan(bufio.NewReader(out), &child, &session); err != nil {
		t.Fatal(err)
	}
	if session != cmd.Process.Pid {
		t.Errorf("its session is %d, want its own, %d", session, cmd.Process.Pid)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("it was not ended")
	}
	for range 1000 { // a signal that was sent takes effect later
		if !Alive(child) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d, which it started, lives", child)
}
