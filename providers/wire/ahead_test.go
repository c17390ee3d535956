package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/wire"
)

// The first request uses the connection that was made early, with every protocol, even if it comes while the
// connection is being made.
func TestAhead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(*httptest.Server)
		major int
	}{
		{"http", (*httptest.Server).Start, 1},
		{"https", (*httptest.Server).StartTLS, 1},
		{"https, HTTP/2", func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
			opened := make(chan net.Conn, 10)
			server.Config.ConnState = func(c net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened <- c
				}
			}
			tt.start(server)
			defer server.Close()
			var dialed net.Dialer
			transport := wire.NewNetwork(time.Minute)
			transport.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dialed.DialContext(ctx, network, server.Listener.Addr().String())
			}
			base, _, _ := strings.Cut(server.URL, ":")
			base += "://example.com/v1"
			if server.Certificate() != nil {
				transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
			}
			defer transport.CloseIdleConnections()
			transport.Connect(base)
			<-opened // before there is a request
			for range 2 {
				transport.Connect(base) // nothing more
				res, err := (&http.Client{Transport: transport}).Post(base+"/chat", "application/json", strings.NewReader("hi"))
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || string(text) != "hi" || res.ProtoMajor != tt.major {
					t.Errorf("got %q, %v over %s", text, err, res.Proto)
				}
			}
			if len(opened) > 0 {
				t.Errorf("%d more connections", len(opened))
			}
		})
	}
}

// pipes dials pipes instead of connections; sent receives the data sent to their other ends.
type pipes struct {
	addrs []string
	conns []net.Conn
	sent  received
	fails error
	takes time.Duration // to dial
	mu    sync.Mutex
}

// received holds what several connections receive.
type received struct {
	mu sync.Mutex
	strings.Builder
}

func (r *received) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Builder.Write(p)
}

func (p *pipes) network() *wire.Network {
	n := wire.NewNetwork(time.Minute)
	n.Dial, n.Proxy = p.dial, http.ProxyURL(nil)
	return n
}

func (p *pipes) dial(_ context.Context, _, addr string) (net.Conn, error) {
	p.mu.Lock()
	p.addrs = append(p.addrs, addr)
	p.mu.Unlock()
	time.Sleep(p.takes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails != nil {
		return nil, p.fails
	}
	ours, theirs := net.Pipe()
	p.conns = append(p.conns, theirs)
	go io.Copy(&p.sent, theirs)
	return ours, nil
}

// Nothing is sent before there is a request. It uses the connection, unless that has ended, and an error is dropped
// unless the request waits for it.
func TestAheadUnused(t *testing.T) {
	refused := errors.New("connection refused")
	proxied, login := &url.URL{Scheme: "http", Host: "proxy:3128"}, &url.URL{Scheme: "http", Host: "proxy:3128", User: url.UserPassword("me", "secret")}
	tests := []struct {
		name, base string
		proxy      *url.URL
		fails      error
		takes      time.Duration // each dial
		wait       time.Duration // until the request
		dials      int           // before it
		addr, err  string
		more       int // dials for the request
	}{
		{"at once", "http://host/v1", nil, nil, 0, 0, 1, "host:80", "EOF", 0},
		{"a port", "http://host:8080/v1", nil, nil, 0, 0, 1, "host:8080", "EOF", 0},
		{"an IPv6 address", "http://[2001:db8::1]:8080/v1", nil, nil, 0, 0, 1, "[2001:db8::1]:8080", "EOF", 0},
		{"while it is made", "http://host/v1", nil, nil, time.Second, 0, 1, "host:80", "EOF", 0},
		{"a minute later", "http://host/v1", nil, nil, 0, time.Minute, 1, "host:80", "EOF", 0},
		{"too late", "http://host/v1", nil, nil, 0, time.Hour, 1, "host:80", "EOF", 1},
		{"refused", "http://host/v1", nil, refused, 0, 0, 1, "host:80", "connection refused", 1},
		{"refused while the request waits", "http://host/v1", nil, refused, time.Second, 0, 1, "host:80", "connection refused", 0},
		{"a proxy", "http://host/v1", proxied, nil, 0, 0, 1, "proxy:3128", "EOF", 0},
		{"a proxy with a login", "http://host/v1", login, nil, 0, 0, 0, "", "EOF", 1},
		{"this computer", "http://127.0.0.1:8080/v1", nil, nil, 0, 0, 0, "", "EOF", 1},
		{"this computer, IPv6", "http://[::1]:8080/v1", nil, nil, 0, 0, 0, "", "EOF", 1},
		{"this computer by name", "http://localhost:8080/v1", nil, nil, 0, 0, 0, "", "EOF", 1},
		{"no address", "/v1", nil, nil, 0, 0, 0, "", "", 0},
		{"no scheme of the web", "ftp://host/v1", nil, nil, 0, 0, 0, "", "unsupported protocol", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{fails: tt.fails, takes: tt.takes}
				transport := p.network()
				transport.Proxy = http.ProxyURL(tt.proxy)
				transport.Connect(tt.base)
				synctest.Wait()
				if len(p.addrs) != tt.dials || tt.dials > 0 && p.addrs[0] != tt.addr || p.sent.Len() > 0 {
					t.Fatalf("dialled %q and sent %q before there was a request", p.addrs, p.sent.String())
				}
				time.Sleep(tt.wait + 1)
				if tt.err != "" {
					got := make(chan error)
					go func() {
						res, err := (&http.Client{Transport: transport}).Post(tt.base+"/chat", "", nil)
						if err == nil {
							res.Body.Close()
						}
						got <- err
					}()
					time.Sleep(2 * tt.takes)
					synctest.Wait()
					for _, c := range p.conns {
						c.Close() // the server sends nothing
					}
					if err := <-got; err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("got %v, want %s", err, tt.err)
					}
				}
				if len(p.addrs) != tt.dials+tt.more {
					t.Errorf("dialled %q", p.addrs)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// There is one connection at a time, and another one only once it has ended: by the server, or unused for too long.
func TestAheadAgain(t *testing.T) {
	for name, end := range map[string]func(p *pipes){
		"by the server": func(p *pipes) { p.conns[0].Close() },
		"unused":        func(*pipes) { time.Sleep(2 * time.Minute) },
		"refused":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{takes: time.Second}
				if end == nil {
					p.fails = errors.New("connection refused")
				}
				transport := p.network()
				for range 3 {
					transport.Connect("http://host/v1")
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(p.addrs) != 1 {
					t.Fatalf("dialled %q at first", p.addrs)
				}
				if end != nil {
					end(p)
					synctest.Wait()
				}
				transport.Connect("http://host/v1")
				synctest.Wait()
				if len(p.addrs) != 2 || p.sent.Len() > 0 {
					t.Errorf("dialled %q and sent %q", p.addrs, p.sent.String())
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// Requests that are sent at once while the connection is made get one each.
func TestAheadShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{takes: time.Second}
		transport := p.network()
		transport.Connect("http://host/v1")
		synctest.Wait()
		for range 3 {
			go func() {
				if res, err := (&http.Client{Transport: transport}).Post("http://host/v1/chat", "", nil); err == nil {
					res.Body.Close()
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Count(p.sent.String(), "POST /v1/chat"); got != 3 || len(p.addrs) != 3 {
			t.Errorf("%d requests, dialled %q", got, p.addrs)
		}
		for _, c := range p.conns {
			c.Close()
		}
		synctest.Wait()
	})
}
