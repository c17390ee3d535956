package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"parley/tools/lazy"
	"parley/tools/mcp"
)

// A backoff delays the restarts of a server: a server that was ready for a while restarts at once,
// others after increasing delays.
type backoff struct{ delay time.Duration }

// The delays of a backoff.
const (
	firstDelay   = 500 * time.Millisecond
	longestDelay = 8 * time.Second
)

// ended records the end of a run. The zero ready means that the server was not
// ready.
func (b *backoff) ended(ready time.Time) {
	if !ready.IsZero() && time.Since(ready) >= longestDelay {
		b.delay = 0
		return
	}
	b.delay = min(max(firstDelay, 2*b.delay), longestDelay)
}

// connected returns the connection to the server; if the server failed, it starts it again
// once. It does not reuse stale, a link that has failed; nil for none.
func (s *server) connected(ctx context.Context, stale *link) (connection, error) {
	for woken := false; ; {
		s.mu.Lock()
		c, next := s.conn, (<-chan struct{})(s.startDone)
		switch {
		case !isClosed(next): // it is starting, or about to start
		case c.session != nil && c.link != stale && !c.link.isOver():
			s.mu.Unlock()
			return c, nil
		case c.session != nil:
			next = c.life.Done()
		case woken || !s.wake():
			defer s.mu.Unlock()
			return c, s.notRunning()
		default:
			woken, next = true, s.startDone
		}
		s.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
	}
}

// wake restarts the server if it failed, and reports whether it is about to start. The caller holds the lock.
func (s *server) wake() bool {
	if s.over || s.status != mcp.StatusFailed {
		return false
	}
	s.reopenStart()
	select {
	case s.needed <- struct{}{}:
	default:
	}
	return true
}

// notRunning returns the error of a call to a server that is not running. The caller holds the lock.
func (s *server) notRunning() error {
	switch {
	case s.reason == "":
		return fmt.Errorf("the server %s is not running", s.name)
	case s.over || s.status != mcp.StatusFailed:
		return fmt.Errorf("the server %s is not running: %s", s.name, s.reason)
	}
	return s.notReachable(s.reason)
}

// notReachable returns the error of a call that did not reach the server, with advice.
func (s *server) notReachable(reason string) error {
	advice := "/mcp " + s.name + " shows what it wrote, and the next call starts it again"
	if s.config.URL != "" {
		advice = "check that it runs at its url; the next call tries again"
	}
	return fmt.Errorf("the server %s is not reachable: %s; %s", s.name, strings.TrimPrefix(reason, unreachablePrefix), advice)
}

// An unreachableError says in plain words why a service cannot be reached.
type unreachableError struct{ reason string }

const unreachablePrefix = "not reachable: "

func (e *unreachableError) Error() string { return unreachablePrefix + e.reason }

// unreachable returns the unreachableError of a request that failed.
func unreachable(err error) *unreachableError {
	var host *net.DNSError
	switch {
	case errors.As(err, &host):
		return &unreachableError{"no address of " + host.Name + " was found"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &unreachableError{errHungUp.Error()}
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return &unreachableError{err.Error()}
}

// sdkWords match additions of the SDK to errors, which are useless to a user.
var sdkWords = lazy.NewRegexp(`(calling|sending) "[^"]*": |(Post|Get) "[^"]*": |rejected by transport: |failed to connect | ?\(session ID: [^)]*\)`)

// plainText returns the text of an error without the SDK's additions.
func plainText(err error) string { return sdkWords.ReplaceAllString(err.Error(), "") }
