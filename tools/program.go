package tools

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A Program runs beside parley until it is ended, and dies with it.
type Program struct {
	Stdin  *os.File
	Stdout *os.File // to be read, until its end or that of the program
	Stderr *os.File

	tree   *tree
	letGo  func()
	held   bool
	exited chan struct{}
	state  *os.ProcessState
	ending sync.Once
}

// A Confine makes the command of a program that is held, and what ends it; see
// [parley/tools/sandbox.Command]. A nil command is one that is not held.
type Confine func(argv, env []string) (cmd *exec.Cmd, letGo func(), err error)

// StartProgram starts argv in a folder, in a session of its own. Of parley's own
// environment it gets what commands get, and env besides. Confine may be nil.
func StartProgram(dir string, argv, env []string, confine Confine) (*Program, error) {
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
	p := &Program{
		Stdin: pipes[1], Stdout: pipes[2], Stderr: pipes[4],
		tree: newTree(pipes[2]), letGo: func() {}, exited: make(chan struct{}),
	}
	cmd, err := p.command(dir, argv, append(environment(os.Environ(), nil), env...), confine)
	if err != nil {
		closeAll()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	if err := p.start(cmd); err != nil {
		p.letGo()
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{pipes[0], pipes[3], pipes[5]} {
		f.Close() // they are the program's now
	}
	return p, nil
}

// command is the program's command, not yet started.
func (p *Program) command(dir string, argv, env []string, confine Confine) (*exec.Cmd, error) {
	env = append(slices.Clip(env), p.tree.mark)
	if confine != nil {
		cmd, letGo, err := confine(argv, env)
		if err != nil {
			return nil, err
		}
		if cmd != nil {
			p.letGo, p.held = letGo, true
			cmd.Env = append(cmd.Env, p.tree.mark)
			return cmd, nil
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	prepare(cmd)
	return cmd, nil
}

func (p *Program) start(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		defer close(p.exited)
		// The signal that a child gets at the death of its parent is sent at
		// the death of the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its state says it all
			p.state = cmd.ProcessState
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.tree.process = cmd.Process
	return nil
}

// PID is the number of the program's first process.
func (p *Program) PID() int { return p.tree.process.Pid }

// Exited is closed once the program's first process has ended.
func (p *Program) Exited() <-chan struct{} { return p.exited }

// State says how the program ended, such as "exit status 1"; "" while it runs.
func (p *Program) State() string {
	select {
	case <-p.exited:
		return p.state.String()
	default:
		return ""
	}
}

// leave is how long a program may take to end by itself once it has nothing
// more to read.
const leave = 200 * time.Millisecond

// End ends the program and everything it started, within two seconds: by closing
// its input, politely, and then without asking.
func (p *Program) End() {
	p.ending.Do(func() {
		p.Stdin.Close()
		select {
		case <-p.exited:
		case <-time.After(leave):
		}
		p.letGo()
		if p.held {
			select {
			case <-p.exited:
			case <-time.After(patience):
			}
		}
		p.tree.end()
		p.letGo() // again: its temp folder can be emptied now
		p.Stdout.Close()
		p.Stderr.Close()
	})
}
