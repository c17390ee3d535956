package sandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"parley/tools/sandbox"
)

// role, as the first argument of the test program, makes it a caller of
// Command with the policy in the environment, as another user or to be killed. Without more
// arguments it serves requests.
const (
	role   = "call-sandbox"
	policy = "SANDBOX_POLICY"
	free   = "SANDBOX_FREE" // calls Supervise instead

	holdUntil = "SANDBOX_HOLD_UNTIL" // file without which the command may not run
)

func runAsCaller(argv []string) int {
	if len(argv) == 0 {
		return serve()
	}
	var p sandbox.Policy
	if err := json.Unmarshal([]byte(os.Getenv(policy)), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 200
	}
	return callSandbox(p, argv, os.Stdout, os.Stderr)
}

// callSandbox runs argv in the sandbox. It returns the status.
func callSandbox(p sandbox.Policy, argv []string, stdout, stderr io.Writer) int {
	if file := os.Getenv(holdUntil); file != "" {
		ready := make(chan struct{})
		p.Ready = ready
		go func() {
			defer close(ready)
			for {
				if _, err := os.Stat(file); err == nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	cmd, cleanup, err := sandbox.Command(p, argv...)
	if os.Getenv(free) != "" {
		cmd, cleanup, err = sandbox.Supervise(p, argv...)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 201
	}
	defer cleanup()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 202
	}
	return 0
}

// A request has a caller run a command in the sandbox, and a response is what came of it.
type (
	request struct {
		Policy sandbox.Policy
		Argv   []string
	}
	response struct {
		Output string
		Status int
	}
)

// serve runs the commands of requests on standard input, one after the other.
func serve() int {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r request
		if in.Decode(&r) != nil {
			return 0
		}
		var output bytes.Buffer
		status := callSandbox(r.Policy, r.Argv, &output, &output)
		if out.Encode(response{output.String(), status}) != nil {
			return 203
		}
	}
}

// caller returns a process that runs argv in the sandbox, or serves requests.
func (p *fixture) caller(argv ...string) *exec.Cmd {
	p.t.Helper()
	text, err := json.Marshal(p.policy)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(program(), append([]string{role}, argv...)...)
	cmd.Env = append(slices.Clone(p.env), policy+"="+string(text))
	cmd.Dir = p.at("home")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential()}
	return cmd
}

func (p *fixture) credential() *syscall.Credential {
	if p.uid == os.Getuid() {
		return nil
	}
	return &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
}

// server is a caller that serves requests.
type server struct {
	env []string
	in  *json.Encoder
	out *json.Decoder
}

// startServer starts a server in the environment of the fixture as it is now.
func (p *fixture) startServer() {
	p.t.Helper()
	cmd := p.caller()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	p.server = &server{slices.Clone(p.env), json.NewEncoder(in), json.NewDecoder(out)}
}

// run runs a shell command in the sandbox.
func (p *fixture) run(command string) (output string, status int) {
	p.t.Helper()
	if p.server == nil || !slices.Equal(p.server.env, p.env) {
		p.startServer()
	}
	var r response
	if err := errors.Join(p.server.in.Encode(request{p.policy, []string{"/bin/sh", "-c", command}}), p.server.out.Decode(&r)); err != nil {
		p.t.Fatal(err)
	}
	return r.Output, r.Status
}
