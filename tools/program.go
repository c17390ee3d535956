package tools

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"parley/tools/process"
)

// A Program runs beside parley until it is ended, and dies with it.
type Program struct {
	Stdin  *os.File
	Stdout *os.File // to be read, until its end or that of the program
	Stderr *os.File

	child         *process.Child
	terminateOnce sync.Once
}

// StartProgram starts argv in dir, in a session of its own. Its environment is what commands get of
// parley's own, and env. Confine returns what the program may do with its whole environment; nil,
// as without confine, if it is not confined.
func StartProgram(dir string, argv, env []string, confine func(env []string) (*process.SandboxPolicy, error)) (*Program, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("there is no command")
	}
	var pipes [6]*os.File // reading and writing end of stdin, stdout, stderr
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
		f.Close() // they are the program's now
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

// PID returns the number of the first process: the program's, or its helper's.
func (p *Program) PID() int { return p.child.PID() }

// Exited returns what is closed once the program's first process has ended.
func (p *Program) Exited() <-chan struct{} { return p.child.Exited() }

// ExitState returns how the program ended, such as "exit status 1"; "" while it runs.
func (p *Program) ExitState() string {
	if state := p.child.State(); state != nil {
		return state.String()
	}
	return ""
}

// exitWait is how long a program may take to end by itself once it has nothing
// more to read.
const exitWait = 200 * time.Millisecond

// stderrDrain is how long Stderr can be read once the program has ended. It ends before,
// unless a process that got away still holds it.
const stderrDrain = time.Second

// Terminate ends the program and everything it started, within two seconds: by closing
// its input, politely, and then without asking. What it wrote to Stderr can still be
// read, for a second, and is the reader's to close.
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
