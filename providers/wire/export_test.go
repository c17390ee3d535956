package wire

import (
	"net"
	"net/http"
	"time"
)

// Exchange returns the recorded exchange of a program's run.
func (p *ProgramExchange) Exchange() *exchange { return p.x }

// Took calls onBytes, for tests of its cost.
func (x *exchange) Took(p []byte) { x.onBytes(p) }

// Kept returns the memory used by the bodies, in bytes.
func (t *Tap) Kept() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.all {
		n += x.size()[0]
	}
	return n
}

// Wait returns the wait that a response with status 429 asks for.
func Wait(h http.Header, body []byte, now time.Time) time.Duration {
	w := readEvidence(body, false)
	return w.wait(http.StatusTooManyRequests, h, now)
}

// Gathering returns conn as a connection that can gather.
func Gathering(conn net.Conn) net.Conn {
	return &gatheringConn{Conn: conn, wake: make(chan struct{}, 1)}
}

// AddDelay adds a read delay to such a connection until it is removed.
func AddDelay(conn net.Conn, next func() time.Duration) (remove func()) {
	return conn.(*gatheringConn).add(next)
}

// DelayOf returns the current delay of the connection.
func DelayOf(conn net.Conn) time.Duration { return conn.(*gatheringConn).delay() }
