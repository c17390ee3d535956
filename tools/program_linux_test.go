package tools

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/tools/act"
	"parley/tools/process"
)

// family is a program of four processes that do not want to end and that each
// says its number.
const family = `trap '' TERM HUP
setsid sh -c 'trap "" TERM HUP; echo $$; while :; do sleep 1; done' &
(setsid sh -c 'trap "" TERM HUP; echo $$; while :; do sleep 1; done' &)
nohup sh -c 'echo $$; while :; do sleep 1; done' 2>&- &
echo $$; while :; do sleep 1; done`

// asParley starts it, says what it says, and waits to be killed.
func asParley() {
	p, err := StartProgram("/", []string{"/bin/sh", "-c", family}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := bufio.NewReader(p.Stdout)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Print(line)
	}
}

// asParleyWithJob has such a family in the background, in the sandbox if the argument wants that.
func asParleyWithJob() {
	set, err := Open(os.Getenv(jobWorkspace))
	if err == nil {
		set.EnableSandbox(SandboxConfig{Off: os.Getenv(jobSandbox) == "off"})
		set.Sandbox()
		var a *act.Action
		if a, err = set.Plan(context.Background(), "shell", string(args("command", "{ "+family+"; } | tee pids", "background", true))); err == nil {
			fmt.Println(a.Run(context.Background(), nil).Job)
			select {}
		}
	}
	fmt.Println(err)
}

// Variables that say where to work.
const (
	jobWorkspace = "PARLEY_TEST_WORKSPACE"
	jobSandbox   = "PARLEY_TEST_SANDBOX"
)

// dead waits until the processes have ended. Those that were killed may take a moment.
func dead(t *testing.T, pids []int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		all, err := process.List()
		if err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return all[pid].PID == 0 || all[pid].Zombie })
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("alive: %d", left)
			return
		}
	}
}

// Nothing of a command in the background is left after parley was killed.
func TestJobsDieWithParley(t *testing.T) {
	t.Parallel() // it waits
	for _, held := range []string{"on", "off"} {
		t.Run("sandbox "+held, func(t *testing.T) {
			t.Parallel()
			f := open(t, nil)
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), asRole+"=job", jobWorkspace+"="+f.Root(), jobSandbox+"="+held)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, err := readLine(out); err != nil || line != "1" {
				t.Fatalf("parley says %q: %v", line, err)
			}
			f.wait("pids", 4)
			pids := living(t, cmd.Process.Pid)
			if len(pids) < 5 {
				t.Fatalf("only %d run", len(pids))
			}
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait()
			dead(t, pids)
		})
	}
}

// Whether parley ends a program, or is killed itself, nothing of it is left.
func TestProgramsLeaveNothing(t *testing.T) {
	t.Parallel()
	four := func(t *testing.T, read func() (string, error)) (pids []int) {
		for range 4 {
			line, err := read()
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return pids
	}
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), asRole+"=parley")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		pids := four(t, func() (string, error) { return readLine(out) })
		_ = cmd.Process.Signal(syscall.SIGKILL)
		dead(t, pids)
		_ = cmd.Wait()
	})
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		p, err := StartProgram("/", []string{"/bin/sh", "-c", family}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		pids := four(t, func() (string, error) { return readLine(p.Stdout) })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.Terminate()
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("it waits for what does not end")
		}
		dead(t, pids)
	})
}

// readLine reads no byte beyond the line.
func readLine(r interface{ Read([]byte) (int, error) }) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := r.Read(b); err != nil {
			return string(line), err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
}

func init() { roles["parley"], roles["job"] = asParley, asParleyWithJob }
