package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// aheadTime sets how long a connection that was dialled ahead waits for a request: less than
// servers keep one open on which nothing was asked.
const aheadTime = 5 * time.Second

// A dialer connects to an address, as [http.Transport] wants it.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// An aheadConn is a connection that is dialled before there is a request for it.
type aheadConn struct {
	addr  string // as net/http dials it
	taken atomic.Bool
	ready chan struct{} // closed once the others are set
	conn  net.Conn
	err   error
}

// dialAhead makes a transport, which has carried nothing yet, connect to the host of a base
// URL. The first request to that host gets the connection, or why there is none; before it
// nothing is sent but what TLS needs. Where a proxy is asked nothing is done.
func dialAhead(t *http.Transport, base string) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return
	}
	if proxy, err := t.Proxy(&http.Request{URL: u}); proxy != nil || err != nil {
		return
	}
	a := &aheadConn{ready: make(chan struct{})}
	dial, port := t.DialContext, "80"
	if u.Scheme == "https" {
		dial, port = handshaking(t.DialContext, t.TLSClientConfig.Clone(), t.TLSHandshakeTimeout), "443"
		t.DialTLSContext = a.before(dial)
	} else {
		t.DialContext = a.before(dial)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	a.addr = net.JoinHostPort(u.Hostname(), port)
	go func() {
		a.conn, a.err = dial(context.Background(), "tcp", a.addr)
		close(a.ready)
		time.AfterFunc(aheadTime, a.drop)
	}()
}

// before returns a dialer that hands a out, once, and from then on dials.
func (a *aheadConn) before(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != a.addr || a.taken.Swap(true) {
			return dial(ctx, network, addr)
		}
		select {
		case <-a.ready:
			return a.conn, a.err
		case <-ctx.Done():
			a.taken.Store(false)
			return nil, context.Cause(ctx)
		}
	}
}

// drop closes the connection unless a request has it.
func (a *aheadConn) drop() {
	if !a.taken.Swap(true) && a.err == nil {
		a.conn.Close()
	}
}

// handshaking returns a dialer of TLS connections over those of dial, which shakes hands as
// net/http does.
func handshaking(dial dialer, config *tls.Config, limit time.Duration) dialer {
	if config == nil {
		config = &tls.Config{}
	}
	config.NextProtos = []string{"h2", "http/1.1"}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		named := config.Clone()
		named.ServerName = host
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errHandshakeTime)
		defer cancel()
		secure := tls.Client(conn, named)
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			if errors.Is(context.Cause(ctx), errHandshakeTime) {
				err = errHandshakeTime
			}
			return nil, err
		}
		return secure, nil
	}
}

// errHandshakeTime says what net/http says.
var errHandshakeTime = errors.New("TLS handshake timeout")
