package wire

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/tools/proxy"
)

// A Network is the transport of one provider: limits and connections are not shared. It can connect
// before there is a request.
type Network struct {
	*http.Transport
	Dial func(ctx context.Context, network, addr string) (net.Conn, error) // opens a connection

	mu    sync.Mutex   // held until an early dial begins, so that it cannot reuse an open connection
	open  atomic.Int32 // connections that are open or being opened
	early atomic.Pointer[early]
}

// NewNetwork returns a transport that waits up to idle for a response; 0 means 300 s.
func NewNetwork(idle time.Duration) *Network {
	n := &Network{Dial: (&net.Dialer{Timeout: connectTime}).DialContext}
	n.Transport = &http.Transport{
		Proxy:                  proxy.FromEnvironment,
		OnProxyConnectResponse: proxyError,
		DialContext:            n.dial,
		TLSHandshakeTimeout:    connectTime,
		ResponseHeaderTimeout:  cmp.Or(idle, defaultIdle),
		MaxResponseHeaderBytes: 1 << 20,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		// Pings detect a connection that died with the laptop's sleep or a change of network long
		// before the idle timer does.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	return n
}

// An early is a connection dialed before there is a request. It goes to the transport's pool: net/http keeps the
// connection of a request that is canceled while it dials.
type early struct {
	host   string             // host:port of the requests that it is for
	cancel context.CancelFunc // cancels its request, which is never sent
	free   chan struct{}      // closed once the request has ended
	dialed bool
	over   chan struct{} // closed once a request has the connection, or once there is none
	end    sync.Once
	err    error // error of the dial; set before over is closed
}

func (e *early) finish(err error) {
	e.end.Do(func() {
		e.err = err
		close(e.over)
	})
}

// Keys of values in the contexts of dials.
type (
	earlyKey   struct{} // *early: the dial is for no request
	waitingKey struct{} // *waiting: the request waits for an early connection
)

// A waiting is a request that waits for an early connection.
type waiting struct {
	*early
	got chan struct{} // closed once the request has a connection
}

// Connect connects to the host of a base URL, up to the TLS handshake, unless a connection is open. The next request
// uses the connection, if the server has not closed it; errors are dropped. Connect does nothing for a server on this computer, where
// it would save no time, and for a proxy that requires a login. It returns at once.
func (n *Network) Connect(base string) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" || isLoopback(u.Hostname()) {
		return
	}
	if proxy, err := n.Proxy(&http.Request{URL: u}); err != nil || proxy != nil && proxy.User != nil {
		return
	}
	go n.connect(u)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}

func (n *Network) connect(u *url.URL) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open.CompareAndSwap(0, 1) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &early{host: hostPort(u), cancel: cancel, free: make(chan struct{}), over: make(chan struct{})}
	n.early.Store(e)
	req := (&http.Request{Method: http.MethodHead, URL: u, Header: http.Header{}}).WithContext(context.WithValue(ctx, earlyKey{}, e))
	_, _ = n.Transport.RoundTrip(req) // dial cancels it before it sends anything, and finishes the connection
	if !e.dialed {
		n.open.Add(-1)
		e.finish(nil)
	}
	close(e.free)
}

// RoundTrip implements http.RoundTripper.
func (n *Network) RoundTrip(req *http.Request) (*http.Response, error) {
	e := n.early.Load()
	if e == nil || e.host != hostPort(req.URL) {
		return n.Transport.RoundTrip(req)
	}
	w := &waiting{e, make(chan struct{})}
	got := sync.OnceFunc(func() {
		close(w.got)
		n.early.CompareAndSwap(e, nil)
		e.finish(nil)
	})
	ctx := httptrace.WithClientTrace(context.WithValue(req.Context(), waitingKey{}, w), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got() }})
	return n.Transport.RoundTrip(req.WithContext(ctx))
}

// errUnneeded is the error of a dial for a request that got another connection; nobody sees it.
var errUnneeded = errors.New("the request has another connection")

// wait waits until the early connection is made. It returns nil if the request needs a connection of its own.
func (w *waiting) wait() error {
	select {
	case <-w.over:
		return nil // before the request, or at another attempt
	default:
	}
	timer := time.NewTimer(connectTime)
	defer timer.Stop()
	select {
	case <-w.got:
		return errUnneeded
	case <-timer.C:
		return nil
	case <-w.over:
	}
	select {
	case <-w.got:
		return errUnneeded
	default:
		return w.err
	}
}

// dial opens a connection that can gather, for a request or for none.
func (n *Network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	e, _ := ctx.Value(earlyKey{}).(*early)
	if e != nil {
		e.dialed = true
		e.cancel()
		<-e.free
	} else {
		if w, ok := ctx.Value(waitingKey{}).(*waiting); ok {
			if err := w.wait(); err != nil {
				return nil, err
			}
		}
		n.mu.Lock()
		n.open.Add(1)
		n.mu.Unlock()
	}
	conn, err := n.Dial(ctx, network, addr)
	ended := func() {
		n.open.Add(-1)
		if e != nil {
			e.finish(err)
		}
	}
	if err != nil {
		ended()
		return nil, err
	}
	return &gatheringConn{Conn: conn, wake: make(chan struct{}, 1), onClose: ended}, nil
}
