package wire

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// Network lets tests put a proxy before the transport that Client makes.
var Network = network

// DialAhead makes such a transport connect before there is a request.
var DialAhead = dialEarly

// Exchange returns what a program's run is kept in.
func (p *ProgramExchange) Exchange() *exchange { return p.x }

// Took is took, for tests of what it costs.
func (x *exchange) Took(p []byte) { x.onBytes(p) }

// Kept returns how many bytes of memory the bodies take.
func (t *Tap) Kept() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.all {
		n += x.size()[0]
	}
	return n
}

// RecordTo records to a writer.
func RecordTo(to io.WriteCloser, trouble func(error)) *Recorder {
	return &Recorder{to: to, OnError: trouble}
}

// ReadReplay reads a recording from memory.
func ReadReplay(text []byte) (*Replay, error) { return readReplay(bytes.NewReader(text)) }

// Wait returns what an answer of status 429 asks us to wait.
func Wait(h http.Header, body []byte, now time.Time) time.Duration {
	w := readEvidence(body, false)
	return w.wait(http.StatusTooManyRequests, h, now)
}

// Gathering returns conn so that what it brings can gather.
func Gathering(conn net.Conn) net.Conn {
	return &gatheringConn{Conn: conn, wake: make(chan struct{}, 1)}
}

// AddDelay lets an answer on such a connection gather until it is removed.
func AddDelay(conn net.Conn, next func() time.Duration) (remove func()) {
	return conn.(*gatheringConn).add(next)
}

// DelayOf returns how long it would gather now.
func DelayOf(conn net.Conn) time.Duration { return conn.(*gatheringConn).delay() }
