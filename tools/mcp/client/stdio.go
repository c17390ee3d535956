package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/sanitize"
)

// A pipeTransport carries messages to and from a program, one to a line. It is the
// transport of the SDK for a program that may misbehave: lines that are no
// messages are counted and passed over, for many programs greet on stdout; a
// line without end, and a program that reads nothing, end the connection.
type pipeTransport struct {
	program     *tools.Program
	lines       *bufio.Reader
	nonMessages *atomic.Int64
	written     *atomic.Int64 // messages
	pace        rateLimiter

	writing sync.Mutex
	closed  sync.Once
	closing chan struct{}
}

func newPipe(p *tools.Program, noise, written *atomic.Int64) *pipeTransport {
	return &pipeTransport{program: p, lines: bufio.NewReaderSize(p.Stdout, 64<<10), nonMessages: noise, written: written, pace: rateLimiter{burst: burst, rate: rate}, closing: make(chan struct{})}
}

// Connect returns p: a pipe is its own connection.
func (p *pipeTransport) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID returns "": only HTTP has one.
func (p *pipeTransport) SessionID() string { return "" }

// Close lets go of the program's output, so that Read returns. Who started the
// program ends it.
func (p *pipeTransport) Close() error {
	p.closed.Do(func() {
		close(p.closing)
		p.program.Stdout.SetReadDeadline(time.Now())
		p.program.Stdin.Close()
	})
	return nil
}

// Read returns the next message.
func (p *pipeTransport) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, err := readLine(p.lines, maxMessage)
		if err != nil {
			return nil, err
		}
		m, ok := parseMessage(line)
		if !ok {
			if len(line) > 0 && p.nonMessages.Add(1) > maxNonMessages {
				return nil, fmt.Errorf("it wrote more than %d lines to stdout that are no messages", maxNonMessages)
			}
			continue
		}
		if _, answer := m.(*jsonrpc.Response); !answer {
			if err := p.pace.wait(ctx, p.closing); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
}

// parseMessage reads one line; false if it is no message.
func parseMessage(line []byte) (jsonrpc.Message, bool) {
	line = bytes.TrimPrefix(line, []byte("\uFEFF")) // .NET begins its output with one
	if len(line) == 0 || line[0] != '{' {
		return nil, false
	}
	m, err := jsonrpc.DecodeMessage(readable(line))
	return m, err == nil && m != nil
}

var errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)

// readLine returns the next line without the white space around it. What is
// after the last line break is no line. More than limit bytes are an error, and
// are not kept.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var long []byte
	for {
		piece, err := r.ReadSlice('\n')
		if len(long)+len(piece) > limit {
			return nil, errTooLong
		}
		switch {
		case err == nil && long == nil:
			return bytes.TrimSpace(piece), nil
		case err == nil:
			return bytes.TrimSpace(append(long, piece...)), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		long = append(long, piece...)
	}
}

// writeTimeout is how long a program may leave a message unread.
const writeTimeout = 10 * time.Second

// Write sends a message.
func (p *pipeTransport) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	in := p.program.Stdin
	if err := in.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	given := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(given)
		_ = in.SetWriteDeadline(time.Now()) // give up waiting
	})
	n, err := in.Write(append(data, '\n'))
	if !stop() {
		<-given // or it would end the next one
	}
	if err == nil {
		p.written.Add(1)
		return nil
	}
	if n > 0 || ctx.Err() == nil {
		p.Close() // half a message is as good as none from here on
		return fmt.Errorf("it does not read: %w", err)
	}
	return ctx.Err()
}

// A rateLimiter counts messages: burst are free, and rate more each second.
type rateLimiter struct {
	left        float64
	burst, rate float64
	last        time.Time
}

// Of the messages of a peer that asks and notifies without end.
const (
	burst = 10_000
	rate  = 5000 // a second
)

// spend counts a message, and returns how many there were too many.
func (p *rateLimiter) spend(now time.Time) (over float64) {
	if p.last.IsZero() {
		p.left = p.burst
	} else {
		p.left = min(p.burst, p.left+now.Sub(p.last).Seconds()*p.rate)
	}
	p.last = now
	p.left--
	return -p.left
}

// take reports whether there is room for another message now; if not, it does not count.
func (p *rateLimiter) take(now time.Time) bool {
	if p.spend(now) > 0 {
		p.left++
		return false
	}
	return true
}

// wait waits until another message may come.
func (p *rateLimiter) wait(ctx context.Context, gone <-chan struct{}) error {
	over := p.spend(time.Now())
	if over <= 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(over / p.rate * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-gone:
		return io.EOF
	}
}

// A tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
	cut  bool // more was written
	seen int  // bytes of data that newLines returned
}

func (r *tailBuffer) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if n > maxStderr {
		p, r.cut = p[n-maxStderr:], true
	}
	if over := len(r.data) + len(p) - maxStderr; over > 0 {
		r.data, r.cut, r.seen = r.data[:copy(r.data, r.data[over:])], true, max(r.seen-over, 0)
	}
	r.data = append(r.data, p...)
	return n, nil
}

func (r *tailBuffer) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.data, r.cut, r.seen = nil, false, 0
}

// newLines returns the whole lines that it has not returned before.
func (r *tailBuffer) newLines() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := bytes.LastIndexByte(r.data, '\n') + 1
	lines := r.data[r.seen:end]
	if r.seen == 0 && r.cut {
		lines = lines[bytes.IndexByte(lines, '\n')+1:]
	}
	r.seen = end
	return string(lines)
}

// tail returns what is kept, without the end of a secret that it begins with because the rest
// is not kept. It is not fit to be shown, see secretMask.
func (r *tailBuffer) tail(mask secretMask) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		return mask.all.TrimTornStart(sanitize.Plain(string(r.data)))
	}
	return string(r.data)
}
