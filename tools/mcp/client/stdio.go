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

// A pipeTransport is an SDK transport that carries messages to and from a program,
// one per line, and tolerates misbehavior. Lines that are not messages are counted
// and skipped, because many programs print a greeting. An endless line, or a
// program that does not read, ends the connection.
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

// Close closes the program's output, so that Read returns. It does not end the
// program.
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

// parseMessage parses one line; ok is false if it is not a message.
func parseMessage(line []byte) (jsonrpc.Message, bool) {
	line = bytes.TrimPrefix(line, []byte("\uFEFF")) // .NET programs begin their output with it
	if len(line) == 0 || line[0] != '{' {
		return nil, false
	}
	m, err := jsonrpc.DecodeMessage(readable(line))
	return m, err == nil && m != nil
}

var errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)

// readLine returns the next line without surrounding white space. Text after
// the last line break is not a line. More than limit bytes are an error and are
// dropped.
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

// writeTimeout is how long a program may take to read a message.
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
		_ = in.SetWriteDeadline(time.Now()) // stop waiting
	})
	n, err := in.Write(append(data, '\n'))
	if !stop() {
		<-given // otherwise it would end the next write
	}
	if err == nil {
		p.written.Add(1)
		return nil
	}
	if n > 0 || ctx.Err() == nil {
		p.Close() // after a partial message the connection is unusable
		return fmt.Errorf("it does not read: %w", err)
	}
	return ctx.Err()
}

// A rateLimiter counts messages: a burst is free, then rate messages per
// second.
type rateLimiter struct {
	left        float64
	burst, rate float64
	last        time.Time
}

// Limits for a server that sends requests and notifications without end.
const (
	burst = 10_000
	rate  = 5000 // per second
)

// spend counts a message, and returns by how many the limit is exceeded.
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

// take reports whether another message is allowed now; if not, it is not counted.
func (p *rateLimiter) take(now time.Time) bool {
	if p.spend(now) > 0 {
		p.left++
		return false
	}
	return true
}

// wait waits until another message is allowed.
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

// A tailBuffer keeps the last bytes written to it.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
	cut  bool // earlier bytes were dropped
	seen int  // bytes of data already returned by newLines
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

// newLines returns complete lines that it has not returned before.
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

// tail returns the kept text, without a leading part of a secret whose beginning was dropped.
// It must be sanitized before it is shown, see secretMask.
func (r *tailBuffer) tail(mask secretMask) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		return mask.all.TrimTornStart(sanitize.Plain(string(r.data)))
	}
	return string(r.data)
}
