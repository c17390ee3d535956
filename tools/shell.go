package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"parley/tools/sandbox"
)

// The clocks of a command.
const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second
	coalesce       = 50 * time.Millisecond   // between two pieces of live output
	drain          = 300 * time.Millisecond  // how long output may still come once the shell has ended
	grace          = time.Second             // between the polite signal and the other one
	patience       = 1500 * time.Millisecond // how long the helper may take to end what it keeps
	restoring      = 20 * time.Second        // how long it may then take to put back what is protected
)

// maxLive is how much output, in bytes, waits to be shown live.
const maxLive = 16 << 10

type shellArgs struct {
	Command     string `json:"command" jsonschema:"the command line, for bash or else sh"`
	Timeout     int    `json:"timeout,omitempty" jsonschema:"seconds after which it is ended; 120 unless given"`
	Description string `json:"description,omitempty" jsonschema:"what it is for, in a few words"`
}

func planShell(_ context.Context, w *workspace, args shellArgs) (*Action, error) {
	if strings.TrimSpace(args.Command) == "" {
		return nil, refuse("the command is empty")
	}
	if strings.ContainsRune(args.Command, 0) {
		return nil, refuse("the command holds a NUL byte")
	}
	timeout := defaultTimeout
	if args.Timeout > 0 {
		timeout = time.Duration(args.Timeout) * time.Second
	}
	a := &Action{Access: Runs, Title: headline(args.Command), Command: args.Command}
	a.run = func(ctx context.Context, progress func(string)) Outcome {
		return w.shell(ctx, nil, args.Command, timeout, progress)
	}
	held := func(network bool) func(context.Context, func(string)) Outcome {
		return func(ctx context.Context, progress func(string)) Outcome {
			p := w.held(network)
			return w.shell(ctx, &p, args.Command, timeout, progress)
		}
	}
	switch {
	case w.box.holds():
		a.Sandboxed, a.run, a.online = true, held(false), held(true)
	case w.box.Required:
		return nil, refuse("no command can run: the configuration requires a sandbox, and there is none: %s", w.box.backend.Reason)
	}
	return a, nil
}

// headline is the first line of a command, and how many more there are.
func headline(command string) string {
	lines := strings.Split(strings.TrimSpace(command), "\n")
	if more := len(lines) - 1; more > 0 {
		return fmt.Sprintf("%s (and %s)", lines[0], count(more, "more line"))
	}
	return lines[0]
}

// interpreters are the programs that understand a command, which goes behind
// their arguments. The first on PATH is taken.
var interpreters = [][]string{
	{"bash", "-c"},
	{"sh", "-c"},
	{"powershell.exe", "-NoProfile", "-NonInteractive", "-Command"},
}

func interpreter() ([]string, error) {
	for _, shell := range interpreters {
		if file, err := exec.LookPath(shell[0]); err == nil {
			return append([]string{file}, shell[1:]...), nil
		}
	}
	return nil, errors.New("there is no shell on PATH")
}

// shell runs a command in the workspace, to its end or its deadline, and held if
// there is a policy. Nothing that it started lives on.
func (w *workspace) shell(ctx context.Context, held *sandbox.Policy, command string, timeout time.Duration, progress func(string)) Outcome {
	shell, err := interpreter()
	if err != nil {
		return failed("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	seen := w.box.look()
	start := time.Now()
	r := &running{held: held, out: clipped{limit: maxText - 1000}, progress: progress} // the rest is for notes
	if err := r.start(w, append(shell, command)); err != nil {
		return failed("the command did not start: %v", err)
	}
	defer r.finish()
	r.follow(ctx)
	if r.whole != nil {
		w.keep(r.whole)
	}
	out := r.outcome(time.Since(start))
	if held == nil {
		w.box.accept()
	}
	if seen != "" {
		out.Text += "\n" + seen
	}
	return out
}

// A running command. One goroutine, that of follow, does everything but to wait
// for output and for the end of the shell.
type running struct {
	child
	held     *sandbox.Policy // nil: it can do whatever parley can
	output   *os.File
	pieces   chan []byte   // output; closed at its end
	gone     chan struct{} // closed once nobody takes pieces any more
	progress func(string)

	stopped error // why it was ended before it had, the context's error
	over    bool  // everything it started is known to be dead
	ended   int   // processes that outlived the shell and were ended

	clean cleaner
	out   clipped
	live  clipped
	whole *spill // what out has not all of; nil if it has, or nothing could be opened
}

// start starts the command, with stdout and stderr in one pipe and nothing to
// read.
func (r *running) start(w *workspace, argv []string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	r.child = newChild(in)
	cmd, letGo, err := w.command(r.held, argv, r.tree.mark)
	if err != nil {
		in.Close()
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out

	r.output, r.pieces, r.gone = in, make(chan []byte), make(chan struct{})
	if err := r.child.start(cmd, letGo); err != nil {
		in.Close()
		return err
	}
	go r.read()
	return nil
}

// read hands over the output. Two buffers are enough: while one is worked on,
// the other is filled.
func (r *running) read() {
	defer close(r.pieces)
	var bufs [2][]byte
	for i := 0; ; i++ {
		if i < len(bufs) {
			bufs[i] = make([]byte, 32<<10)
		}
		buf := bufs[i%len(bufs)]
		n, err := r.output.Read(buf)
		if n > 0 {
			select {
			case r.pieces <- buf[:n]:
			case <-r.gone:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// follow takes the output until the shell and the output have ended, or until
// ctx has and everything was killed.
func (r *running) follow(ctx context.Context) {
	pieces, exited, canceled := r.pieces, r.exited, ctx.Done()
	var flush, drained, hopeless <-chan time.Time
	var killed chan int
	kill := func() {
		drained, canceled = nil, nil
		killed = make(chan int, 1)
		go func(killed chan<- int) { killed <- r.end() }(killed)
	}
	for pieces != nil || exited != nil || killed != nil {
		select {
		case piece, ok := <-pieces:
			if !ok {
				pieces = nil
				break
			}
			r.take(r.clean.write(piece))
			if flush == nil {
				flush = time.After(coalesce)
			}
		case <-flush:
			flush = nil
			r.show()
		case <-exited:
			exited = nil
			if killed == nil && hopeless == nil {
				drained = time.After(drain)
			}
		case <-drained:
			kill()
		case <-canceled:
			r.stopped = ctx.Err()
			kill()
		case n := <-killed:
			killed = nil
			r.ended += n
			r.output.SetReadDeadline(time.Now().Add(drain)) // what still holds it is beyond reach
			hopeless = time.After(grace)
		case <-hopeless:
			r.take(r.clean.close())
			r.show()
			return
		}
	}
	r.take(r.clean.close())
	r.show()
	r.ended += r.end()
	r.over = true
}

func (r *running) take(text string) {
	r.spill(text)
	r.out.write(text)
	r.live.limit = maxLive
	r.live.write(text)
}

// spill keeps what will be left out, and what was said before.
func (r *running) spill(text string) {
	if r.out.overflows(text) {
		if r.whole = newSpill(); r.whole != nil {
			r.whole.write(r.out.String())
		}
	}
	if r.whole != nil {
		r.whole.write(text)
	}
}

// show hands the latest output to whoever watches.
func (r *running) show() {
	if r.live.total > 0 {
		r.progress(r.live.String())
		r.live = clipped{}
	}
}

// finish ends what is left, also after a panic, and waits for the reader.
func (r *running) finish() {
	close(r.gone)
	if !r.over {
		r.end()
	}
	r.release()
	r.output.Close()
	for range r.pieces {
	}
}

// way is what can be done about a denied access.
func (r *running) way() string {
	if r.held.Network {
		return "if that is so, ask the person to run it outside"
	}
	return "if that is so, ask the person to allow the network, or to run it outside"
}

func (r *running) outcome(took time.Duration) Outcome {
	if r.whole != nil {
		r.out.cut = r.whole.note() + "\n"
	}
	text := r.out.String()
	if text == "" {
		text = note("no output")
	}
	notes := r.clean.notes()
	if r.ended > 0 && r.stopped == nil {
		notes = append(notes, note("ended %s still running in the background: nothing outlives its call", count(r.ended, "process")))
	}
	if !r.child.ended() {
		notes = append(notes, note("it could not be ended"))
	}
	if r.held != nil && r.unchecked() {
		notes = append(notes, note("CAUTION: the sandbox could not look at what is protected"))
	}
	took = took.Round(100 * time.Millisecond)
	success := false
	switch {
	case errors.Is(r.stopped, context.DeadlineExceeded):
		notes = append(notes, note("timed out after %s and was ended", took))
	case r.stopped != nil:
		notes = append(notes, note("canceled after %s", took))
	default:
		success = r.state.Success()
		notes = append(notes, note("%s", r.state))
		if what, denied := sandbox.ExplainDenial(text); denied && !success && r.held != nil {
			notes = append(notes, note("the sandbox may have denied it %s; %s", what, r.way()))
		}
	}
	return Outcome{Text: strings.TrimSuffix(text, "\n") + "\n" + strings.Join(notes, "\n"), Failed: !success}
}
