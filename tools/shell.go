package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// Time limits of a command.
const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second
	liveInterval   = 50 * time.Millisecond  // between two updates of live output
	drainTime      = 300 * time.Millisecond // wait for more output after the shell has ended
)

// maxLiveOutput is how many bytes of output may wait for the next live update.
const maxLiveOutput = 16 << 10

type shellArgs struct {
	Command     string `json:"command" jsonschema:"the command line"`
	Timeout     int    `json:"timeout,omitempty" jsonschema:"seconds after which it is ended; 120 unless given, and none in the background"`
	Background  bool   `json:"background,omitempty" jsonschema:"let it go on behind this call, as a server: the tool jobs reads its output and ends it"`
	Description string `json:"description,omitempty" jsonschema:"what it is for, in a few words"`
}

// A shellCommand is a command to run.
type shellCommand struct {
	shellArgs
	userTyped bool // the user typed it: it has no time limit, and moves to the background later
}

func init() {
	register(shellTool, planShell, argumentLimit{"timeout", 1, maxTimeout.Seconds()})
}

func planShell(_ context.Context, w *workspace, args shellArgs) (*act.Action, error) {
	if strings.TrimSpace(args.Command) == "" {
		return nil, refuse("the command is empty")
	}
	if strings.ContainsRune(args.Command, 0) {
		return nil, refuse("the command contains a NUL byte")
	}
	shell, _ := shellOnWindows()
	a := &act.Action{Access: act.AccessRun, Title: firstLine(args.Command), Command: args.Command, ForeignShell: shell.foreign}
	if args.Background {
		a.Title += " (in the background)"
		a.Irreversible = "what it changes in the background cannot be undone"
	}
	a.Do = func(ctx context.Context, progress func(string)) act.Outcome {
		return w.runShell(ctx, nil, shellCommand{shellArgs: args}, progress)
	}
	held := func(network bool) func(context.Context, func(string)) act.Outcome {
		return func(ctx context.Context, progress func(string)) act.Outcome {
			p := w.SandboxPolicy(network)
			p.Denied = w.policy.Load().deniedPrograms()
			return w.runShell(ctx, &p, shellCommand{shellArgs: args}, progress)
		}
	}
	switch {
	case w.cmdSandbox.isActive():
		a.Sandboxed, a.Do, a.DoOnline = true, held(false), held(true)
	case w.cmdSandbox.Required:
		return nil, refuse("no command can run: the configuration requires a sandbox, and there is none: %s", w.cmdSandbox.backend().Reason)
	}
	return a, nil
}

// firstLine returns the first line of a command, and how many more there are.
func firstLine(command string) string {
	lines := strings.Split(strings.TrimSpace(command), "\n")
	if more := len(lines) - 1; more > 0 {
		return fmt.Sprintf("%s (and %s)", lines[0], pluralize(more, "more line"))
	}
	return lines[0]
}

// run runs a program in the workspace until it ends or reaches timeout, 0 for none; it is confined if
// there is a policy. No process of it outlives the call. Notices report new repository files that git
// would run.
func (w *workspace) run(ctx context.Context, r *runningCommand, argv []string, timeout time.Duration) (notices string, err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	start := time.Now()
	if err := r.start(ctx, w, argv); err != nil {
		return "", err
	}
	defer r.cleanUp()
	r.collect(ctx)
	if r.saved != nil {
		w.outputs.add(r.saved)
	}
	if r.streams != nil {
		r.streams.close()
	}
	r.took = time.Since(start)
	return w.noticesOf(r), nil
}

// runForModel runs a program and returns the outcome for the model.
func (w *workspace) runForModel(ctx context.Context, r *runningCommand, argv []string, timeout time.Duration) act.Outcome {
	notices, err := w.run(ctx, r, argv, timeout)
	if err != nil {
		return failedOutcome("the command did not start: %v", err)
	}
	out := r.outcome()
	if notices != "" {
		out.Text, out.Notes = out.Text+"\n"+notices, strings.TrimPrefix(out.Notes+"\n"+notices, "\n")
		r.notes = append(r.notes, notices)
	}
	return out
}

// A runningCommand is a command from its start to its end. The goroutine of collect does all
// work except waiting for output and for the end of the shell.
type runningCommand struct {
	*process.Child
	policy    *process.SandboxPolicy // nil: it has parley's own rights
	undone    sandboxNotices         // about this command, unless it is in the background
	streams   *programStreams        // nil: it has no input, and its errors are part of its output
	pipe      *os.File
	chunks    chan []byte   // output; closed at EOF
	abandoned chan struct{} // closed once nobody reads chunks any more
	progress  func(string)
	sink      func(text, rest string) // receives all output, sanitized, and the end that may still change; nil: not used

	stopped    error // why it was ended early: the context's error, or errKilled
	allExited  bool  // all its processes are known to be dead
	terminated int   // number of processes that outlived the shell and were ended
	took       time.Duration

	output sanitize.Screen
	result headTail
	live   unseenText
	saved  *savedOutput // the whole output, after result is full; nil before, or if no file could be opened
	notes  []string     // of outcome: how it ended, and further remarks
}

// start starts the command, with stdout and stderr in one pipe and an empty
// stdin. It waits until ctx allows the start, see WithReady.
func (r *runningCommand) start(ctx context.Context, w *workspace, argv []string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	r.Child = process.New(in)
	cmd, letGo, err := w.newCommand(ctx, r, argv)
	if err != nil {
		in.Close()
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	begun := func(bool) {}
	if r.streams != nil {
		if begun, err = r.streams.open(cmd); err != nil {
			if letGo != nil {
				letGo()
			}
			in.Close()
			return err
		}
	}

	r.pipe, r.chunks, r.abandoned = in, make(chan []byte), make(chan struct{})
	err = r.Start(cmd, letGo)
	begun(err == nil)
	if err != nil {
		in.Close()
		return err
	}
	go r.readOutput()
	return nil
}

// readOutput sends the output to chunks. It alternates between two buffers: one is
// filled while the other is processed.
func (r *runningCommand) readOutput() {
	defer close(r.chunks)
	var bufs [2][]byte
	for i := 0; ; i++ {
		if i < len(bufs) {
			bufs[i] = make([]byte, 32<<10)
		}
		buf := bufs[i%len(bufs)]
		n, err := r.pipe.Read(buf)
		if n > 0 {
			select {
			case r.chunks <- buf[:n]:
			case <-r.abandoned:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// collect processes output until both the shell and the output have ended, or
// until ctx is done and everything was killed.
func (r *runningCommand) collect(ctx context.Context) {
	pieces, exited, canceled := r.chunks, r.Exited(), ctx.Done()
	var flush, drained, hopeless <-chan time.Time
	var killed chan int
	kill := func() {
		drained, canceled = nil, nil
		killed = make(chan int, 1)
		go func(killed chan<- int) { killed <- r.Terminate() }(killed)
	}
	for pieces != nil || exited != nil || killed != nil {
		select {
		case piece, ok := <-pieces:
			if !ok {
				pieces = nil
				break
			}
			if r.streams != nil && r.streams.stdout != nil {
				_, _ = r.streams.stdout.Write(piece)
				break
			}
			r.addOutput(r.output.Write(piece))
			if flush == nil {
				flush = time.After(liveInterval)
			}
		case <-flush:
			flush = nil
			r.sendProgress()
		case <-exited:
			exited = nil
			if killed == nil && hopeless == nil {
				drained = time.After(drainTime)
			}
		case <-drained:
			kill()
		case <-canceled:
			r.stopped = stopReason(ctx)
			kill()
		case n := <-killed:
			killed = nil
			r.terminated += n
			r.pipe.SetReadDeadline(time.Now().Add(drainTime)) // remaining holders of the pipe cannot be killed
			hopeless = time.After(process.GraceTime)
		case <-hopeless:
			r.addOutput(r.output.Close())
			r.sendProgress()
			return
		}
	}
	r.addOutput(r.output.Close())
	r.sendProgress()
	r.terminated += r.Terminate()
	r.allExited = true
}

// addOutput adds output that can no longer change.
func (r *runningCommand) addOutput(text string) {
	r.saveOverflow(text)
	r.result.write(text)
	if r.sink != nil {
		r.sink(text, r.output.Rest())
	}
	r.live.limit = maxLiveOutput
	r.live.write(sanitize.Text(text))
}

// saveOverflow saves output that will be truncated, and the output before it.
func (r *runningCommand) saveOverflow(text string) {
	if r.result.overflows(text) {
		if r.saved = newSavedOutput(); r.saved != nil {
			r.saved.write(r.result.String())
		}
	}
	if r.saved != nil {
		r.saved.write(text)
	}
}

// sendProgress sends new output to the progress function, preceded by a backspace for each character
// that has vanished.
func (r *runningCommand) sendProgress() {
	gone, text := r.live.take(sanitize.Text(r.output.Rest()))
	if text = strings.Repeat("\b", utf8.RuneCountInString(gone)) + text; text != "" {
		r.progress(text)
	}
}

// cleanUp ends remaining processes, also after a panic, and waits for the
// reader.
func (r *runningCommand) cleanUp() {
	close(r.abandoned)
	if !r.allExited {
		r.Terminate()
	}
	r.ReleaseHelper()
	if r.streams != nil {
		r.streams.close()
	}
	r.pipe.Close()
	for range r.chunks {
	}
}

// denialHint suggests how to allow a denied access.
func (r *runningCommand) denialHint() string {
	if r.policy.Network {
		return "if that is so, ask the user to run it outside"
	}
	return "if that is so, ask the user to allow the network, or to run it outside"
}

func (r *runningCommand) outcome() act.Outcome {
	if r.saved != nil {
		r.result.gapNote = r.saved.notice() + "\n"
	}
	text := r.result.String()
	if r.streams != nil && (r.stopped != nil || !r.State().Success()) {
		text = strings.TrimSpace(strings.TrimSuffix(text, "\n") + "\n" + r.streams.lastErrors())
	}
	notes := removalNotes(&r.output.Output)
	if r.terminated > 0 && r.stopped == nil {
		notes = append(notes, note("ended %s still running in the background: nothing outlives its command", pluralize(r.terminated, "process")))
	}
	if !r.HasExited() {
		notes = append(notes, note("it could not be ended"))
	}
	took := r.took.Round(100 * time.Millisecond)
	success := false
	switch {
	case errors.Is(r.stopped, context.DeadlineExceeded):
		notes = append(notes, note("timed out after %s and was ended", took))
	case errors.Is(r.stopped, errKilled):
		notes = append(notes, note("%v after %s", r.stopped, took))
	case r.stopped != nil:
		notes = append(notes, note("canceled after %s", took))
	default:
		success = r.State().Success()
		if r.streams == nil || !success {
			notes = append(notes, note("%s", r.State()))
		}
		if r.policy == nil || success {
			break
		}
		if program := deniedIn(text, r.policy.Denied); program != "" {
			notes = append(notes, note("a rule denies the program %s, also under other names", program))
		} else if what, denied := process.Sandbox.ExplainDenial(text); denied {
			notes = append(notes, note("the sandbox may have denied it %s; %s", what, r.denialHint()))
		}
	}
	r.notes = notes
	return notedOutcome(text, notes, !success)
}

// deniedIn returns the denied program that a command's output says it could not run or open; "" if there is none.
func deniedIn(output string, denied []string) string {
	for line := range strings.Lines(output) {
		for _, program := range denied {
			if strings.Contains(line, filepath.Base(program)) && strings.Contains(line, "ermission denied") {
				return program
			}
		}
	}
	return ""
}

// notedOutcome returns the outcome of a command that wrote text, with notes after it.
func notedOutcome(text string, notes []string, failed bool) act.Outcome {
	if text == "" {
		notes = append([]string{note("no output")}, notes...)
	} else if len(notes) > 0 {
		text = strings.TrimSuffix(text, "\n") + "\n"
	}
	said := strings.Join(notes, "\n")
	return act.Outcome{Text: strings.TrimSuffix(text+said, "\n"), Notes: said, Failed: failed}
}
