package tools

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"parley/tools/process"
)

// A Program runs alongside parley until it is terminated, and dies with parley.
type Program struct {
	Stdin  *os.File
	Stdout *os.File // readable until EOF or the program's end
	Stderr *os.File

	child         *process.Child
	terminateOnce sync.Once
}

// StartProgram starts argv in dir, in a session of its own. Its environment is that of commands
// plus env. Confine returns the sandbox policy for the whole environment; a nil confine or policy
// means unconfined.
func StartProgram(dir string, argv, env []string, confine func(env []string) (*process.SandboxPolicy, error)) (*Program, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("there is no command")
	}
	var pipes [6]*os.File // read and write ends of stdin, stdout, stderr
	closeAll := func() {
		for _, f := range pipes {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < len(pipes); i += 2 {
		var err error
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll()
			return nil, err
		}
	}
	p := &Program{Stdin: pipes[1], Stdout: pipes[2], Stderr: pipes[4], child: process.New(pipes[2])}
	cmd, letGo, err := p.newCommand(dir, argv, append(commandEnvironment(os.Environ(), nil), env...), confine)
	if err != nil {
		closeAll()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	if err := p.child.Start(cmd, letGo); err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{pipes[0], pipes[3], pipes[5]} {
		f.Close() // the program has its own copies now
	}
	return p, nil
}

// newCommand returns the program's command, not yet started.
func (p *Program) newCommand(dir string, argv, env []string, confine func(env []string) (*process.SandboxPolicy, error)) (cmd *exec.Cmd, letGo func(), err error) {
	var policy *process.SandboxPolicy
	if confine != nil {
		policy, err = confine(env)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case policy == nil:
		return p.child.Command(process.Sandbox.Supervise, process.SandboxPolicy{Workspace: dir, Env: env}, argv)
	}
	return p.child.Command(process.Sandbox.Command, *policy, argv)
}

// PID returns the process ID of the first process: the program's, or its
// sandbox helper's.
func (p *Program) PID() int { return p.child.PID() }

// Exited returns a channel that is closed once the program's first process has
// ended.
func (p *Program) Exited() <-chan struct{} { return p.child.Exited() }

// ExitState returns how the program ended, such as "exit status 1"; "" while it runs.
func (p *Program) ExitState() string {
	if state := p.child.State(); state != nil {
		return state.String()
	}
	return ""
}

// exitWait is how long a program may take to exit after its input is closed.
const exitWait = 200 * time.Millisecond

// stderrDrain is how long Stderr stays readable after the program has ended. It reaches
// EOF earlier unless an escaped process still holds it.
const stderrDrain = time.Second

// Terminate ends the program and its processes within two seconds: it closes the
// input, then sends SIGTERM, then SIGKILL. Stderr stays readable for a second; its
// reader closes it.
func (p *Program) Terminate() {
	p.terminateOnce.Do(func() {
		p.Stdin.Close()
		p.child.WaitExit(exitWait)
		p.child.Terminate()
		p.child.ReleaseHelper()
		p.Stdout.Close()
		_ = p.Stderr.SetReadDeadline(time.Now().Add(stderrDrain))
	})
}
