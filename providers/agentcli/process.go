package agentcli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
	proc "parley/tools/process"
	"parley/tools/sanitize"
)

// A process is a running program. One goroutine reads its output, one waits for its exit; end waits
// for both.
type process struct {
	*proc.Child
	out        *os.File
	lines      chan []byte   // lines of stdout without line ends; closed at the end
	activity   chan struct{} // receives a value when the program writes anything
	abandoned  chan struct{} // closed when lines is no longer read
	outputRead chan struct{} // closed when readOutput has returned
	stderr     *stderrBuffer
	retries    chan stderrTry // latest retry reported on stderr
	endSignal  syscall.Signal
	grace      time.Duration
	exchange   *wire.ProgramExchange // recording; nil for none
	readDelay  func() time.Duration  // delay before each read of stdout, to read more at once; nil for none
}

// A stderrTry is a retry reported on stderr: the groups of flavor.stderrRetry; "" for missing
// groups.
type stderrTry struct{ attempt, status, words, wait string }

// An exitInfo is how a program ended.
type exitInfo struct {
	code     int    // exit status; -1 if a signal ended it
	signal   string // signal that ended it; "" for none
	stderr   string // end of stderr
	byItself bool   // it exited without a signal from parley
}

// drainTimeout bounds how long to wait for the output of a program that has exited: a child may hold
// it open.
const drainTimeout = time.Second

// start starts the program in a new session. The caller must end it.
func start(ctx context.Context, argv []string, a *answer, polite syscall.Signal, grace time.Duration) (*process, error) {
	r := a.run
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{
		Child: proc.New(in), out: in,
		lines: make(chan []byte), activity: make(chan struct{}, 1),
		abandoned: make(chan struct{}), outputRead: make(chan struct{}), retries: make(chan stderrTry, 1),
		endSignal: polite, grace: grace, readDelay: llm.ReadDelay(ctx),
	}
	p.stderr = &stderrBuffer{onWrite: p.onStderr(a.flavor), mask: a.mask}
	cmd := exec.Command(argv[0], append(slices.Clip(argv[1:]), r.args...)...)
	cmd.Dir, cmd.Env = r.dir, append(r.env, p.Mark())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(r.stdin), out, p.stderr
	if r.promptFile != "" {
		cmd.Stdin = nil
	}
	cmd.WaitDelay = drainTimeout
	proc.Detach(cmd)
	if err := p.Start(cmd, nil); err != nil {
		in.Close()
		return nil, err
	}
	go p.readOutput()
	return p, nil
}

// onStderr returns the function to call with each write of the program to stderr.
func (p *process) onStderr(f flavor) func([]byte) {
	return func(words []byte) {
		p.onOutput()
		if f.stderrRetry == nil {
			return
		}
		for _, groups := range f.stderrRetry.FindAllSubmatch(words, -1) {
			select {
			case <-p.retries: // dropped for the newer retry
			default:
			}
			p.retries <- stderrTry{string(groups[1]), string(groups[2]), string(groups[3]), string(groups[4])}
		}
	}
}

func (p *process) onOutput() {
	select {
	case p.activity <- struct{}{}:
	default:
	}
}

// readOutput sends lines until stdout ends. Once abandoned is closed it reads and drops them, since
// a program blocked in a write would not exit.
func (p *process) readOutput() {
	defer close(p.outputRead)
	defer close(p.lines)
	r := bufio.NewReaderSize(&activityReader{p.out, p.onOutput, p.readDelay}, 64<<10)
	for {
		line, err := readLine(r, maxLine)
		if len(line) > 0 {
			select {
			case p.lines <- line:
			case <-p.abandoned:
			}
		}
		if err != nil {
			return
		}
	}
}

// end waits up to patience for the program to exit, then sends it endSignal, and after the grace
// period kills it with everything that it started. If its answer is good and it exited by itself
// with status 0, processes in separate groups, such as an updater or a key agent, are not killed.
// It reports whether the program exited by itself.
func (p *process) end(patience time.Duration, goodAnswer bool) bool {
	close(p.abandoned)
	alone := p.WaitExit(patience)
	if !alone {
		p.Signal(p.endSignal)
		p.WaitExit(p.grace)
	}
	if goodAnswer && alone && p.State().Success() {
		p.KillGroup()
	} else {
		p.Kill()
	}
	select {
	case <-p.outputRead:
	case <-time.After(drainTimeout): // a process that was not killed holds stdout open
	}
	p.out.Close()
	<-p.outputRead
	return alone
}

// status returns the exit status of a program that has ended; -1 and the signal's name if a signal
// ended it.
func (p *process) status() (code int, signal string) {
	state := p.State()
	if state == nil {
		return -1, ""
	}
	if code := state.ExitCode(); code >= 0 {
		return code, ""
	}
	return -1, state.String()
}

// maxLine is the longest line that is read, in bytes. Lines of several megabytes are normal, such
// as the output of a tool or an image.
const maxLine = 64 << 20

// readLine returns the next line without its line end. It skips a line longer than limit and returns
// it as empty.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		long = long || len(line)+len(piece) > limit
		switch {
		case long:
			line = nil
		case len(piece) > cap(line)-len(line): // doubled: append grows by a quarter, which copies a long line four times
			line = append(slices.Grow(line, max(len(piece), min(len(line), limit-len(line)))), piece...)
		default:
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

// activityReader calls onRead for reads that returned data, and waits before each read.
type activityReader struct {
	io.Reader
	onRead func()
	delay  func() time.Duration // nil for none
}

func (p *activityReader) Read(b []byte) (int, error) {
	if p.delay != nil {
		time.Sleep(p.delay())
	}
	n, err := p.Reader.Read(b)
	if n > 0 {
		p.onRead()
	}
	return n, err
}

// Kept parts of stderr, in bytes: errors about arguments come first, reasons for the exit last, with
// debug output in between.
const (
	maxStderrHead = 1 << 10
	maxStderrTail = 4 << 10
)

// A stderrBuffer keeps the beginning and the end of its input.
type stderrBuffer struct {
	onWrite func([]byte)
	mask    sanitize.Mask // for text
	mu      sync.Mutex    // guards the fields below
	head    []byte
	last    []byte
	cut     bool // last does not start at the beginning of the input
}

func (t *stderrBuffer) Write(b []byte) (int, error) {
	t.onWrite(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = append(t.head, b[:min(len(b), maxStderrHead-len(t.head))]...)
	t.last = append(t.last, b...)
	if over := len(t.last) - maxStderrTail; over > 0 {
		t.last, t.cut = append(t.last[:0], t.last[over:]...), true
	}
	return len(b), nil
}

// text returns the end on one line with credentials masked, and without the rest of a truncated
// credential.
func (t *stderrBuffer) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, mark := sanitize.Plain(string(t.last)), ""
	if t.cut {
		text, mark = t.mask.TrimTornStart(text), "… "
	}
	return mark + oneLine(t.mask.Text(text), maxStderrTail)
}

// beginning returns the beginning on one line.
func (t *stderrBuffer) beginning() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return oneLine(sanitize.Plain(string(t.head)), maxStderrHead)
}
