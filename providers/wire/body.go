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

// A timedBody ends an answer that has gone silent. Two timers run while a reader waits: one for
// bytes and one for content, since services keep a dead stream open with comments and pings. The
// adapter beats the answer's pulse for each piece of content. Without a pulse, and in JSON sent in
// one piece, everything but comments and white space counts as content. A reader that waits for its own
// consumer does not start the timers: content that it had restarts them with its next read.
type timedBody struct {
	inner     io.ReadCloser
	ctx       context.Context
	cancel    context.CancelCauseFunc
	wrapError func(error) error
	timer     *time.Timer

	idleTimeout    time.Duration // longest time without a byte
	contentTimeout time.Duration // longest time without content
	pulse          *llm.Pulse    // nil for none
	beats          atomic.Uint64 // beats of the pulse when the content clock was started
	hadContent     bool          // content came since then
	since          time.Time     // start of the content clock; zero before the first read
	form           bodyForm
	lines          eventLines
	contentClock   atomic.Bool // the running timer is for content
	reading        atomic.Bool // a reader is waiting for bytes
	line           *logLine    // entry of the log and the tap; nil for none
	stopGathering  func()      // nil if the connection does not gather packets
}

// A bodyForm is the format of a body; it decides which bytes are content.
type bodyForm int

const (
	formUnknown bodyForm = iota // only white space so far
	formEvents                  // lines; comments are not content
	formJSON                    // JSON; white space is not content
	formOther                   // all bytes are content
)

// timeoutError is the reason why a body ended itself.
type timeoutError string

func (s timeoutError) Error() string { return string(s) }

func (b *timedBody) Read(p []byte) (int, error) {
	if !b.startTimer() { // a flood without content leaves a timer no time to fire
		b.cancel(b.noContent())
		err := b.wrapError(b.noContent())
		b.end(err)
		return 0, err
	}
	n, err := b.inner.Read(p)
	b.reading.Store(false)
	b.timer.Stop()
	b.line.onBytes(p[:n])
	b.hadContent = b.hasContent(p[:n]) || b.hadContent
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		b.cancel(nil)
		b.end(nil)
		return n, err
	}
	var silent timeoutError
	switch cause := context.Cause(b.ctx); {
	case errors.As(cause, &silent):
		err = b.wrapError(silent)
	case cause != nil:
		err = cause
	default:
		err = b.wrapError(err)
	}
	b.end(err)
	return n, err
}

// end records how the answer ended. It may be called again.
func (b *timedBody) end(err error) {
	if b.stopGathering != nil {
		b.stopGathering()
	}
	b.line.end(err)
}

// hasContent reports whether p contains content. It reports false for events if a pulse tells their
// content.
func (b *timedBody) hasContent(p []byte) bool {
	text := bytes.TrimLeft(p, " \t\r\n\ufeff")
	if b.form == formUnknown && len(text) > 0 {
		b.form = formOther
		switch {
		case text[0] == '{' || text[0] == '[':
			b.form = formJSON
		case b.pulse != nil: // some servers send events with another media type
			b.form = formEvents
		}
	}
	switch b.form {
	case formUnknown:
		return false
	case formEvents:
		return b.pulse == nil && b.lines.hasData(p)
	case formJSON:
		return len(text) > 0
	}
	return len(p) > 0
}

// startTimer starts the timer that expires first. It reports whether there is time left.
func (b *timedBody) startTimer() bool {
	now := time.Now()
	if beats := b.pulse.Beats(); beats != b.beats.Load() || b.hadContent || b.since.IsZero() {
		b.beats.Store(beats)
		b.hadContent, b.since = false, now
	}
	left := b.contentTimeout - now.Sub(b.since)
	if left <= 0 {
		return false
	}
	d, muted := min(b.idleTimeout, left), left < b.idleTimeout
	b.contentClock.Store(muted)
	b.reading.Store(true)
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.onTimeout)
	} else {
		b.timer.Reset(d)
	}
	return true
}

func (b *timedBody) noContent() error {
	return timeoutError(fmt.Sprintf("nothing but keep-alives for %s", b.contentTimeout))
}

func (b *timedBody) onTimeout() {
	switch {
	case !b.reading.Load():
	case !b.contentClock.Load():
		b.cancel(timeoutError(fmt.Sprintf("nothing came for %s", b.idleTimeout)))
	case b.pulse.Beats() != b.beats.Load(): // the adapter or a user extending the wait beat the pulse
		b.timer.Reset(min(b.idleTimeout, b.contentTimeout))
	default:
		b.cancel(b.noContent())
	}
}

// Close ends the answer at once, even in the middle.
func (b *timedBody) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.cancel(nil)
	b.end(nil)
	return b.inner.Close()
}

// eventLines distinguishes comments and blank lines from lines with data in a stream of events. The
// zero value is at the start of the stream.
type eventLines struct {
	inside  bool // the current line has begun
	comment bool // it is a comment
}

// hasData reports whether p holds any part of a line that is not a comment.
func (l *eventLines) hasData(p []byte) bool {
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
		*l = eventLines{}
		p = p[end+1:]
	}
	return found
}

// interruptedError returns the error for a connection that failed during an answer.
func interruptedError(err error, host string) *llm.Error {
	var silent timeoutError
	if errors.As(err, &silent) {
		return &llm.Error{Fault: llm.Network, Message: fmt.Sprintf("%s stopped sending: %s", host, silent)}
	}
	if isEnhanceYourCalm(err) {
		return &llm.Error{Fault: llm.RateLimit, Message: dialMessage(err, host)}
	}
	return &llm.Error{Fault: llm.Network, Message: "the connection to " + host + " was lost during the answer: " + dialReason(err)}
}
