package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"parley/tools/process"
	"parley/tools/sandbox"
)

// A CommandLine is a program as the configuration names it: a list of words, or one line for a
// shell. The zero value is none.
type CommandLine struct {
	Words []string
	Shell bool // there is one word, which a shell understands
}

// UnmarshalTOML reads a string or a list of strings.
func (c *CommandLine) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*c = CommandLine{Words: []string{v}, Shell: true}
		return nil
	case []any:
		*c = CommandLine{}
		for _, word := range v {
			text, ok := word.(string)
			if !ok {
				break
			}
			c.Words = append(c.Words, text)
		}
		if len(c.Words) == len(v) {
			return nil
		}
	}
	return errors.New(`a command is a line for the shell, or a list of words such as ["make", "test"]`)
}

// Validate reports what is no command.
func (c CommandLine) Validate() error {
	switch {
	case len(c.Words) == 0 || strings.TrimSpace(c.Words[0]) == "":
		return errors.New("command is missing")
	case strings.ContainsRune(strings.Join(c.Words, ""), 0):
		return errors.New("the command contains a NUL byte")
	}
	return nil
}

// String returns the command as a shell would take it.
func (c CommandLine) String() string {
	if c.Shell {
		return c.Words[0]
	}
	var words []string
	for _, word := range c.Words {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'\\$`&|;<>()*?[]#~!{}", r) }) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// argv returns what is started. A relative path with a slash is one in the workspace.
func (c CommandLine) argv() ([]string, error) {
	if !c.Shell {
		return slices.Clone(c.Words), nil
	}
	shell, err := findShell()
	return append(slices.Clip(shell), c.Words...), err
}

// A Timeout is a time as the configuration has it: whole seconds, or a text such as "1m30s".
type Timeout time.Duration

// UnmarshalTOML reads seconds or a duration.
func (t *Timeout) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case int64:
		if v > 0 && v <= math.MaxInt64/int64(time.Second) {
			*t = Timeout(v) * Timeout(time.Second)
			return nil
		}
	case string:
		if d, err := time.ParseDuration(v); err == nil && d > 0 {
			*t = Timeout(d)
			return nil
		}
	}
	return fmt.Errorf(`timeout = %v: give seconds, or a time such as "90s"`, value)
}

// A Confinement is how the sandbox holds a program of the configuration.
type Confinement string

// The confinements.
const (
	Confined   Confinement = "on"      // as commands are, without network; the same as ""
	Networked  Confinement = "network" // as commands are, with network
	Unconfined Confinement = "off"     // it can do what the user can do
)

// Validate reports what is none.
func (c Confinement) Validate() error {
	if c != "" && !slices.Contains([]Confinement{Confined, Networked, Unconfined}, c) {
		return fmt.Errorf("sandbox = %q: use one of %s, %s, %s", string(c), Confined, Networked, Unconfined)
	}
	return nil
}

// A ProgramRun is one run of a program from its start to its end.
type ProgramRun struct {
	Command  CommandLine
	Input    []byte // on standard input
	Timeout  time.Duration
	Sandbox  Confinement
	MustHold bool // it does not run where there is no sandbox
}

// A ProgramResult is what came of it. What the program wrote is as it wrote it.
type ProgramResult struct {
	Stdout []byte // up to MaxProgramOutput
	Stderr string // its end, sanitized
	Exit   int    // its status; -1: it was ended, or did not start
	Err    error  // why it did not start or was ended; nil: it ended by itself
}

// MaxProgramOutput is how many bytes of standard output are kept.
const MaxProgramOutput = 1 << 20

// RunProgram runs a program in the workspace, with the sandbox, environment and process group of
// commands. Nothing that it started lives on; canceling ctx ends it.
func (s *Set) RunProgram(ctx context.Context, run ProgramRun) ProgramResult {
	held, err := holdProgram(s.workspace, run.Sandbox)
	if err == nil && held == nil && run.MustHold {
		err = fmt.Errorf("it runs in a sandbox only, and there is none: %s", s.cmdSandbox.backend().Reason)
	}
	var argv []string
	if err == nil {
		argv, err = run.Command.argv()
	}
	if err != nil {
		return ProgramResult{Exit: -1, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, run.Timeout)
	defer cancel()
	seen := s.cmdSandbox.quarantineNew()
	streams := &programStreams{input: run.Input, stdout: new(limitedBuffer)}
	r := &runningCommand{policy: held, streams: streams, progress: func(string) {}}
	if err := r.start(s.workspace, argv); err != nil {
		return ProgramResult{Exit: -1, Err: fmt.Errorf("%s did not start: %w", quotePath(argv[0]), err)}
	}
	r.collect(ctx)
	r.cleanUp()
	if held == nil {
		s.cmdSandbox.acceptRepositories()
	}
	out := ProgramResult{Stdout: streams.stdout.bytes, Stderr: streams.lastErrors(), Exit: -1, Err: r.stopped}
	if errors.Is(r.stopped, context.DeadlineExceeded) {
		out.Err = fmt.Errorf("timed out after %s", run.Timeout)
	}
	if r.stopped == nil && r.State() != nil {
		out.Exit = r.State().ExitCode()
	}
	if seen != "" {
		out.Stderr = strings.TrimSpace(out.Stderr + "\n" + seen)
	}
	return out
}

// holdProgram returns the policy of a program; nil: nothing holds it.
func holdProgram(w *workspace, how Confinement) (*sandbox.Policy, error) {
	switch {
	case how != Unconfined && w.cmdSandbox.isActive():
		p := w.sandboxPolicy(how == Networked)
		return &p, nil
	case w.cmdSandbox.Required:
		return nil, fmt.Errorf("the configuration requires a sandbox (sandbox.required): %s", unheldReason(how, w.cmdSandbox.backend().Reason))
	}
	return nil, nil
}

// unheldReason says why a program is not held.
func unheldReason(how Confinement, backend string) string {
	if how == Unconfined {
		return "this one says sandbox = \"off\""
	}
	return backend
}

// programStreams are the streams of a program that reads its input and tells errors apart from
// its output.
type programStreams struct {
	input  []byte
	stdout *limitedBuffer // takes its output as it is; nil: that is sanitized, as that of commands is

	stdin, stderr *os.File // our ends
	errors        headTail
	done          chan struct{} // closed once everything was read and written
}

// maxErrors is how many characters of what a program wrote to standard error are kept.
const maxErrors = 4000

// open gives cmd its input and a pipe for its errors. Begun is called once it started, or did not.
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
		_, _ = p.stdin.Write(p.input) // one that does not read it does not want it
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

// close ends the streams of a program that has ended. What it wrote by then is read; what it
// leaves behind cannot hold them.
func (p *programStreams) close() {
	_ = p.stderr.SetReadDeadline(time.Now().Add(process.GraceTime))
	p.stdin.Close()
	<-p.done
	p.stderr.Close()
}

// lastErrors returns the end of what the program wrote to standard error.
func (p *programStreams) lastErrors() string {
	plain, _ := Sanitize(strings.ToValidUTF8(p.errors.String(), "\uFFFD"))
	return strings.TrimSpace(plain)
}

// A limitedBuffer keeps the first MaxProgramOutput bytes.
type limitedBuffer struct{ bytes []byte }

var _ io.Writer = (*limitedBuffer)(nil)

// Write never fails.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p[:min(len(p), MaxProgramOutput-len(b.bytes))]...)
	return len(p), nil
}
