package process

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTimeout(t *testing.T) {
	for value, want := range map[any]time.Duration{
		int64(1): time.Second, int64(90): 90 * time.Second, "1m30s": 90 * time.Second, "1ns": 1, int64(math.MaxInt64 / int64(time.Second)): math.MaxInt64 / time.Second * time.Second,
		int64(0): 0, int64(-1): 0, int64(math.MaxInt64/int64(time.Second) + 1): 0, "0s": 0, "-1s": 0, "soon": 0, true: 0, 1.5: 0,
	} {
		var got Timeout
		err := got.UnmarshalTOML(value)
		if time.Duration(got) != want || (err == nil) != (want > 0) || err != nil && !strings.Contains(err.Error(), `give seconds, or a time such as "90s"`) {
			t.Errorf("%v: got %v, %v; want %v", value, time.Duration(got), err, want)
		}
	}
}

func TestConfinement(t *testing.T) {
	for c, want := range map[Confinement]string{"": "", Confined: "", Networked: "", Unconfined: "", "none": `sandbox = "none": use one of on, network, off`} {
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", c, got, want)
		}
	}
}

func TestValidateCommand(t *testing.T) {
	for want, commands := range map[string][]CommandLine{
		"":                                {{Words: []string{"a"}}, ShellLine("a b")},
		"command is missing":              {{}, {Words: []string{" \t"}}, {Words: []string{"", "a"}}},
		"the command contains a NUL byte": {{Words: []string{"a", "b\x00"}}},
	} {
		for _, c := range commands {
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%q: got %q, want %q", c.Words, got, want)
			}
		}
	}
}

// TestCommandMark: the program and its helper have the mark in their environments, by which their processes are found.
func TestCommandMark(t *testing.T) {
	c := New(nil)
	env := make([]string, 1, 5)
	env[0] = "A=1"
	for name, helper := range map[string]func(){"no helper": nil, "a helper": func() {}} {
		cmd, stop, err := c.Command(func(p SandboxPolicy, argv ...string) (*exec.Cmd, func(), error) {
			if !slices.Equal(p.Env, []string{"A=1", c.Mark()}) || !slices.Equal(argv, []string{"a", "b"}) {
				t.Errorf("%s: prepared %q in %q", name, argv, p.Env)
			}
			return &exec.Cmd{Env: []string{"HELPER=1"}}, helper, nil
		}, SandboxPolicy{Env: env}, []string{"a", "b"})
		want := []string{"HELPER=1"}
		if helper != nil {
			want = append(want, c.Mark())
		}
		if err != nil || (stop != nil) != (helper != nil) || !slices.Equal(cmd.Env, want) {
			t.Errorf("%s: its environment is %q, %v; want %q", name, cmd.Env, err, want)
		}
	}
	wrong := errors.New("wrong")
	if _, _, err := c.Command(func(SandboxPolicy, ...string) (*exec.Cmd, func(), error) { return nil, func() {}, wrong }, SandboxPolicy{}, nil); err != wrong {
		t.Errorf("got %v", err)
	}
}

// TestWithoutSandbox: without a sandbox, programs run as they are, once they may.
func TestWithoutSandbox(t *testing.T) {
	if b := Sandbox.Probe(); b.Available() || b.Reason == "" {
		t.Errorf("there is %+v", b)
	}
	ready, prepared := make(chan struct{}), make(chan *exec.Cmd)
	dir := t.TempDir()
	go func() {
		cmd, _, _ := Sandbox.Supervise(SandboxPolicy{Workspace: dir, Env: []string{"A=1"}, Ready: ready}, "prog", "b")
		prepared <- cmd
	}()
	select {
	case <-prepared:
		t.Fatal("it does not wait")
	case <-time.After(10 * time.Millisecond):
	}
	close(ready)
	if cmd := <-prepared; cmd.Dir != dir || !slices.Equal(cmd.Env, []string{"A=1"}) || !slices.Equal(cmd.Args, []string{"prog", "b"}) || cmd.SysProcAttr == nil {
		t.Errorf("prepared %+v", cmd)
	}
}

// TestStartFails: the helper of a program that does not start is released.
func TestStartFails(t *testing.T) {
	c, released := New(nil), false
	if err := c.Start(exec.Command(t.TempDir()+"/none"), func() { released = true }); err == nil || !released {
		t.Errorf("started: %v; released: %v", err, released)
	}
}

// TestTerminateByHelper: a helper ends its program, and so nothing is left to end.
func TestTerminateByHelper(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	defer release.Close()
	c, stopped := New(hold), 0
	if err := c.Start(cmd, func() { stopped++ }); err != nil {
		t.Fatal(err)
	}
	<-c.Exited()
	if ended := c.Terminate(); ended != 0 || stopped != 1 || c.HelperFailed() || c.State() == nil {
		t.Errorf("%d are ended, the helper is told %d times, failed: %v, %v", ended, stopped, c.HelperFailed(), c.State())
	}
}
