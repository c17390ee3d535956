package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"parley/providers/llm"
)

// A body ends an answer that has gone silent. Two clocks run while somebody
// waits for bytes: one for bytes, one for content, for services keep a dead
// stream open with comments and pings for ever. What is content says the pulse
// of the answer, whose beats come from the adapter; without one, and in JSON that
// comes in one piece, it is what is no comment and no white space. A reader who
// takes its time does not run the clocks.
type body struct {
	inner  io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	broken func(error) error
	timer  *time.Timer

	idle    time.Duration // without a byte
	quiet   time.Duration // without content
	left    time.Duration // of quiet
	pulse   *llm.Pulse    // nil for none
	beats   atomic.Uint64 // of the pulse when left was full
	form    form
	lines   lines
	muted   atomic.Bool // the clock that runs is the one for content
	reading atomic.Bool // somebody waits for bytes
	line    *line       // of the log and the tap; nil for none
}

// A form is how a body tells content from other bytes.
type form int

const (
	unknown form = iota // nothing but white space came yet
	events              // lines, of which comments are no content
	whole               // JSON, of which white space is no content
	plain               // everything is content
)

// silence is why a body ended itself.
type silence string

func (s silence) Error() string { return string(s) }

func (b *body) Read(p []byte) (int, error) {
	b.arm()
	start := time.Now()
	n, err := b.inner.Read(p)
	b.reading.Store(false)
	b.timer.Stop()
	b.line.read(p[:n])
	b.left -= time.Since(start)
	if b.content(p[:n]) {
		b.left = b.quiet
	}
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		b.cancel(nil)
		b.line.end(nil)
		return n, err
	}
	var silent silence
	switch cause := context.Cause(b.ctx); {
	case errors.As(cause, &silent):
		err = b.broken(silent)
	case cause != nil:
		err = cause
	default:
		err = b.broken(err)
	}
	b.line.end(err)
	return n, err
}

// content reports whether p holds content by itself. Where a pulse tells that of
// events, it does not.
func (b *body) content(p []byte) bool {
	text := bytes.TrimLeft(p, " \t\r\n\ufeff")
	if b.form == unknown && len(text) > 0 {
		b.form = plain
		switch {
		case text[0] == '{' || text[0] == '[':
			b.form = whole
		case b.pulse != nil: // some servers send events under another media type
			b.form = events
		}
	}
	switch b.form {
	case unknown:
		return false
	case events:
		return b.lines.event(p) && b.pulse == nil
	case whole:
		return len(text) > 0
	}
	return len(p) > 0
}

// arm starts the clock that ends first.
func (b *body) arm() {
	if beats := b.pulse.Beats(); beats != b.beats.Load() {
		b.beats.Store(beats)
		b.left = b.quiet
	}
	d, muted := b.idle, b.left < b.idle
	if muted {
		d = max(b.left, 0)
	}
	b.muted.Store(muted)
	b.reading.Store(true)
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.expire)
		return
	}
	b.timer.Reset(d)
}

func (b *body) expire() {
	switch {
	case !b.reading.Load():
	case !b.muted.Load():
		b.cancel(silence(fmt.Sprintf("nothing came for %s", b.idle)))
	case b.pulse.Beats() != b.beats.Load(): // the user waits on
		b.timer.Reset(min(b.idle, b.quiet))
	default:
		b.cancel(silence(fmt.Sprintf("nothing but keep-alives for %s", b.quiet)))
	}
}

// Close ends the answer at once, wherever it stands.
func (b *body) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.cancel(nil)
	b.line.end(nil)
	return b.inner.Close()
}

// lines follows a stream of events, to tell comments and blank lines from lines
// that say something. The zero value stands at the beginning.
type lines struct {
	inside  bool // the current line has begun
	comment bool // it is a comment
}

// event reports whether p holds any part of a line that is not a comment.
func (l *lines) event(p []byte) bool {
	found := false
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		line := p
		if end >= 0 {
			line = p[:end]
		}
		if len(line) > 0 && !l.inside {
			l.inside, l.comment = true, line[0] == ':'
		}
		found = found || len(line) > 0 && !l.comment
		if end < 0 {
			break
		}
		*l = lines{}
		p = p[end+1:]
	}
	return found
}

// broken is what a connection that failed inside an answer means.
func broken(err error, host string) *llm.Error {
	var silent silence
	if errors.As(err, &silent) {
		return &llm.Error{Fault: llm.Network, Message: fmt.Sprintf("%s fell silent: %s", host, silent)}
	}
	if calming(err) {
		return &llm.Error{Fault: llm.RateLimit, Message: unreached(err, host)}
	}
	return &llm.Error{Fault: llm.Network, Message: "the connection to " + host + " broke off in the middle of the answer: " + reason(err)}
}
