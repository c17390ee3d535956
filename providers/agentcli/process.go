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

// A process is a program on its way through one run. One goroutine reads its
// output, one waits for its end; end waits for both.
type process struct {
	*proc.Child
	out        *os.File
	lines      chan []byte    // of stdout, without their ends; closed at its end
	activity   chan struct{}  // a pulse for each time that anything is said
	abandoned  chan struct{}  // closed once nobody takes lines any more
	outputRead chan struct{}  // closed once stdout is no longer read
	stderr     *stderrBuffer  // stderr
	retries    chan stderrTry // the last that the program told of
	endSignal  syscall.Signal
	grace      time.Duration
	exchange   *wire.ProgramExchange // keeps what it says; nil for nobody
	readDelay  func() time.Duration  // how long stdout may gather; nil: not at all
}

// A stderrTry is what a program says on stderr when it tries again, "" for what it leaves out: the
// groups of flavor.stderrRetry.
type stderrTry struct{ attempt, status, words, wait string }

// An exitInfo is how a program ended.
type exitInfo struct {
	code     int
	signal   string // that ended it
	stderr   string // the last on stderr
	byItself bool   // it was not asked to
}

// drainTimeout bounds how long the output of a program is waited for that has ended: what
// it started may hold it open.
const drainTimeout = time.Second

// start runs the program, in a session of its own.
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

// onStderr returns what to call with what the program writes to stderr.
func (p *process) onStderr(f flavor) func([]byte) {
	return func(words []byte) {
		p.onOutput()
		if f.stderrRetry == nil {
			return
		}
		for _, groups := range f.stderrRetry().FindAllSubmatch(words, -1) {
			select {
			case <-p.retries: // it was not told, and is over
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

// readOutput hands lines on until stdout ends. Once nobody takes them it reads on,
// for a program that cannot write does not end politely.
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

// end waits for the program to end by itself for as long as patience, asks it to
// after that, and kills it after the grace, with everything that it started. If its
// answer is good and it ended by itself with success, what it has put into a process group
// of its own lives on, such as its update or an agent for keys. It reports whether the
// program ended by itself.
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
	case <-time.After(drainTimeout): // someone beyond reach holds it
	}
	p.out.Close()
	<-p.outputRead
	return alone
}

// status returns the exit status of a program that has ended, or the signal that
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

// maxLine is the longest line that is understood, in bytes. Lines of several
// megabytes occur: a tool's output, or an image, in one piece.
const maxLine = 64 << 20

// readLine returns the next line without its end. A line that is longer than
// limit is skipped, and comes back empty.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		long = long || len(line)+len(piece) > limit
		if long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

// activityReader is a reader that tells when something came, and lets it gather.
type activityReader struct {
	io.Reader
	onRead func()
	delay  func() time.Duration // nil: not at all
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

// How much of stderr is kept, in bytes: complaints about arguments come first,
// reasons to end last, and debug output in between.
const (
	maxStderrHead = 1 << 10
	maxStderrTail = 4 << 10
)

// A stderrBuffer keeps the beginning and the end of what is written to it.
type stderrBuffer struct {
	onWrite func([]byte)
	mask    sanitize.Mask // takes credentials out of it
	mu      sync.Mutex
	head    []byte
	last    []byte
	cut     bool // something between the two is gone
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

// text returns the end of it, in one line and without credentials: also without the end of
// one whose beginning is gone.
func (t *stderrBuffer) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, mark := sanitize.Plain(string(t.last)), ""
	if t.cut {
		text, mark = t.mask.TrimTornStart(text), "… "
	}
	return mark + oneLine(t.mask.Text(text), maxStderrTail)
}

// beginning returns the beginning of it, in one line.
func (t *stderrBuffer) beginning() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return oneLine(sanitize.Plain(string(t.head)), maxStderrHead)
}
