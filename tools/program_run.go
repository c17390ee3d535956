package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// CommandArgv returns the argument vector to start. A relative path with a slash is relative to the workspace.
func CommandArgv(c process.CommandLine) ([]string, error) {
	if !c.Shell {
		return slices.Clone(c.Words), nil
	}
	return shellArgv(c.Words[0])
}

// maxProgramOutput is how many bytes of standard output are kept.
const maxProgramOutput = 1 << 20

// RunProgram runs a program in the workspace, with the sandbox, environment and process group of
// commands. None of its processes outlive the call; canceling ctx ends it.
func (s *Set) RunProgram(ctx context.Context, run process.Run) process.Result {
	policy, err := confineProgram(s.workspace, run.Sandbox)
	if err == nil && policy == nil && run.RequireSandbox {
		err = fmt.Errorf("it runs in a sandbox only, and there is none: %s", s.cmdSandbox.backend().Reason)
	}
	var argv []string
	if err == nil {
		argv, err = CommandArgv(run.Command)
	}
	if err != nil {
		return process.Result{Exit: -1, Err: err}
	}
	if policy == nil {
		defer process.Sandbox.Trust()()
	}
	streams := &programStreams{input: run.Input, stdout: &process.PrefixBuffer{Limit: maxProgramOutput}}
	r := &runningCommand{policy: policy, streams: streams, progress: func(string) {}}
	notices, err := s.run(ctx, r, argv, run.Timeout)
	if err != nil {
		return process.Result{Exit: -1, Err: startError(argv[0], err)}
	}
	out := process.Result{Stdout: streams.stdout.Bytes(), Stderr: streams.lastErrors(), Exit: -1, Err: r.stopped}
	if errors.Is(r.stopped, context.DeadlineExceeded) {
		out.Err = fmt.Errorf("timed out after %s", run.Timeout)
	}
	if r.stopped == nil && r.State() != nil {
		out.Exit = r.State().ExitCode()
	}
	out.Stderr = strings.TrimSpace(out.Stderr + "\n" + notices)
	return out
}

// RunConfined runs a shell command that the user chose, in the sandbox and without approval; where there is no sandbox,
// only if the policy allows it without asking. It ends after the longest time that the tool shell allows. The error says
// why it did not run.
func (s *Set) RunConfined(ctx context.Context, command string, progress func(string)) (act.Outcome, error) {
	policy, err := confineProgram(s.workspace, process.Confined)
	if err == nil && policy == nil {
		err = s.checkUnconfined(ctx, command)
	}
	if err != nil {
		return act.Outcome{}, err
	}
	argv, err := shellArgv(command)
	if err != nil {
		return act.Outcome{}, err
	}
	if policy == nil {
		defer process.Sandbox.Trust()()
	} else {
		policy.Denied = s.policy.Load().deniedPrograms()
	}
	start := time.Now()
	out := s.runForModel(ctx, &runningCommand{policy: policy, result: headTail{limit: maxText}, progress: progress}, argv, maxTimeout)
	out.Duration = time.Since(start)
	return out, nil
}

// checkUnconfined returns an error unless the policy lets a shell command run without a sandbox and without asking.
func (s *Set) checkUnconfined(ctx context.Context, command string) error {
	a, err := planShell(ctx, s.workspace, shellArgs{Command: command})
	if err != nil {
		return err
	}
	a.Tool = shellTool
	s.addCaution(a)
	decides := cmp.Or(s.policy.Load(), &Policy{})
	switch decides.Decide(a) {
	case act.Allow:
		return nil
	case act.Deny:
		return fmt.Errorf("there is no sandbox, and %s", decides.DenialReason(a))
	}
	return fmt.Errorf("there is no sandbox: %s. Let it run without one by a rule, such as --allow %q", s.cmdSandbox.backend().Reason, exactRule(a))
}

// confineProgram returns the policy of a program; nil if it is not confined.
func confineProgram(w *workspace, how process.Confinement) (*process.SandboxPolicy, error) {
	switch {
	case how != process.Unconfined && w.cmdSandbox.isActive():
		p := w.SandboxPolicy(how == process.Networked)
		return &p, nil
	case w.cmdSandbox.Required:
		return nil, fmt.Errorf("the configuration requires a sandbox (sandbox.required): %s", unconfinedReason(how, w.cmdSandbox.backend().Reason))
	}
	return nil, nil
}

// unconfinedReason returns why a program is not confined.
func unconfinedReason(how process.Confinement, backend string) string {
	if how == process.Unconfined {
		return "this one says sandbox = \"off\""
	}
	return backend
}

// programStreams are the streams of a program that reads input and separates errors from
// output.
type programStreams struct {
	input  []byte
	stdout *process.PrefixBuffer // receives raw output; nil: output is sanitized, as for commands

	stdin, stderr *os.File // parley's ends
	errors        headTail
	done          chan struct{} // closed once everything was read and written
}

// maxErrors is how many characters of standard error are kept.
const maxErrors = 4000

// open gives cmd its input and a pipe for its errors. Call begun after the start, with ok false if it failed.
func (p *programStreams) open(cmd *exec.Cmd) (begun func(ok bool), err error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr, errs, err := os.Pipe()
	if err != nil {
		in.Close()
		stdin.Close()
		return nil, err
	}
	p.stdin, p.stderr, p.done = stdin, stderr, make(chan struct{})
	p.errors.limit = maxErrors
	cmd.Stdin, cmd.Stderr = in, errs
	return func(ok bool) {
		in.Close()
		errs.Close()
		if !ok {
			stdin.Close()
			stderr.Close()
			close(p.done)
			return
		}
		go p.serve()
	}, nil
}

// serve writes the input and reads the errors.
func (p *programStreams) serve() {
	defer close(p.done)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = p.stdin.Write(p.input) // an error means that the program does not read its input
		p.stdin.Close()
	}()
	buf := make([]byte, 4<<10)
	for {
		n, err := p.stderr.Read(buf)
		p.errors.write(string(buf[:n]))
		if err != nil {
			break
		}
	}
	<-written
}

// close ends the streams of a program that has ended. It reads everything written until
// then; processes left running cannot keep the streams open.
func (p *programStreams) close() {
	_ = p.stderr.SetReadDeadline(time.Now().Add(process.GraceTime))
	p.stdin.Close()
	<-p.done
	p.stderr.Close()
}

// lastErrors returns the last text that the program wrote to standard error.
func (p *programStreams) lastErrors() string {
	return strings.TrimSpace(sanitize.Played(p.errors.String()))
}

// startError describes why a program did not start and names it once; os/exec and the system
// would each repeat the name.
func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not on PATH", quotePath(program))
	}
	if reason := syscall.Errno(0); errors.As(err, &reason) {
		err = reason
	}
	return fmt.Errorf("%s did not start: %w", quotePath(program), err)
}
