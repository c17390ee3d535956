package tools

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"parley/tools/process"
	"parley/tools/sandbox"
)

// A Program runs beside parley until it is ended, and dies with it.
type Program struct {
	Stdin  *os.File
	Stdout *os.File // to be read, until its end or that of the program
	Stderr *os.File

	child         *process.Child
	terminateOnce sync.Once
}

// A ConfineFunc makes the command of a confined program, and a function that ends it and releases
// what it needs; see [parley/tools/sandbox.Command]. A nil cmd means that the program is not
// confined.
type ConfineFunc func(argv, env []string) (cmd *exec.Cmd, letGo func(), err error)

// StartProgram starts argv in dir, in a session of its own. Its environment is what commands get of
// parley's own, and env. Confine may be nil: the program is not confined. The calling program must
// call [parley/tools/sandbox.RunIfHelper] first thing in main: a helper makes sure that nothing
// outlives the program.
func StartProgram(dir string, argv, env []string, confine ConfineFunc) (*Program, error) {
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
func (p *Program) newCommand(dir string, argv, env []string, confine ConfineFunc) (cmd *exec.Cmd, letGo func(), err error) {
	env = append(slices.Clip(env), p.child.Mark())
	if confine != nil {
		cmd, letGo, err = confine(argv, env)
	}
	if err == nil && cmd == nil {
		cmd, letGo, err = unsandboxedCommand(sandbox.Policy{Workspace: dir, Env: env}, argv, true)
	}
	if err == nil && letGo != nil {
		cmd.Env = append(cmd.Env, p.child.Mark()) // the helper's own
	}
	return cmd, letGo, err
}

// PID returns the number of the first process: the program's, or its helper's.
func (p *Program) PID() int { return p.child.PID() }

// Exited returns what is closed once the program's first process has ended.
func (p *Program) Exited() <-chan struct{} { return p.child.Exited() }

// ProcessAlive reports whether a process of this id runs.
func ProcessAlive(pid int) bool { return process.Alive(pid) }

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
