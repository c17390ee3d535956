package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/tools/proxy"
	"parley/tools/sanitize"
)

// A guard is the transport of logins. Only the server's address comes from the user; all others
// are untrusted, and must be https and public, unless the server itself is not public.
type guard struct {
	server  *url.URL
	direct  *http.Transport
	proxied *http.Transport // for requests whose names a proxy resolves

	mu         sync.Mutex
	allPrivate bool // every connection to the server so far went to a nonpublic address
	anyPublic  bool // at least one went to a public address
}

func newGuard(server *url.URL) *guard {
	g := &guard{server: server}
	base := &http.Transport{TLSHandshakeTimeout: requestTimeout, ResponseHeaderTimeout: requestTimeout, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	g.direct, g.proxied = base.Clone(), base
	g.direct.DialContext = g.dial
	g.proxied.Proxy = proxy.FromEnvironment
	return g
}

func (g *guard) close() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// RoundTrip sends a request if its address is allowed. Reading the response body fails once
// it is too long.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.check(req.URL); err != nil {
		return nil, err
	}
	transport := g.direct
	if found, err := proxy.FromEnvironment(req); err == nil && found != nil {
		transport = g.proxied // the proxy resolves the name
	}
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", "parley")
	res, err := transport.RoundTrip(req)
	if err == nil {
		res.Body = &limitedBody{ReadCloser: res.Body, left: maxResponse}
	}
	return res, err
}

// check returns why an address is not allowed; nil if it is.
func (g *guard) check(u *url.URL) error {
	if isOrigin(u, g.server) {
		return nil
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsLoopback()
	switch {
	case host == "" || u.User != nil:
		return errors.New("its address is not valid")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback):
		return fmt.Errorf("%s://%s is not https", u.Scheme, u.Host)
	case loopback && !g.isPrivate():
		return fmt.Errorf("%s is this computer, and the server is not", u.Host)
	case err == nil && !g.isPrivate() && sanitize.NonPublic(addr) != "":
		return fmt.Errorf("%s is not a public address, and the server's is", u.Host)
	}
	return nil
}

// dial connects to an address. Names are checked by the addresses they resolve to, right
// before the connection.
func (g *guard) dial(ctx context.Context, network, at string) (net.Conn, error) {
	d := net.Dialer{Timeout: requestTimeout}
	if at == hostPort(g.server) {
		conn, err := d.DialContext(ctx, network, at)
		if err == nil {
			g.recordAddr(conn.RemoteAddr())
		}
		return conn, err
	}
	d.Control = func(_, at string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(at)
		if err != nil {
			return err
		}
		ip := addr.Addr().Unmap()
		if ip.IsLinkLocalUnicast() || sanitize.NonPublic(ip) != "" && !g.isPrivate() { // link-local: cloud metadata services offer keys there
			return fmt.Errorf("%s is not a public address, and the server's is", ip)
		}
		return nil
	}
	return d.DialContext(ctx, network, at)
}

// recordAddr records whether the server has a public address.
func (g *guard) recordAddr(addr net.Addr) {
	ap, err := netip.ParseAddrPort(addr.String())
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil || sanitize.NonPublic(ap.Addr().Unmap()) == "" {
		g.anyPublic = true
	} else {
		g.allPrivate = true
	}
}

// setPrivate restores from a stored login whether the server's address is private, because a
// refresh does not connect to the server first.
func (g *guard) setPrivate(near bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allPrivate = g.allPrivate || near
}

// isPrivate reports whether the server has no public address.
func (g *guard) isPrivate() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allPrivate && !g.anyPublic
}

// hostPort returns the host and port of a connection to u.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func isOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && hostPort(a) == hostPort(b) }

// sameOrigin allows redirects within the same origin.
func sameOrigin(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || !isOrigin(req.URL, via[0].URL) {
		return fmt.Errorf("it redirects to another place, %s://%s", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

// noRedirect refuses redirects of requests with secrets.
func noRedirect(req *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects to %s://%s", req.URL.Scheme, req.URL.Host)
}

// A limitedBody fails once a body is too long.
type limitedBody struct {
	io.ReadCloser
	left int
}

func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, fmt.Errorf("its answer is longer than %d MiB", maxResponse>>20)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
