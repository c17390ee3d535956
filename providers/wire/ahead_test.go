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
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/wire"
)

// The first request uses the connection that was dialed early, with every protocol.
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
			transport := wire.Network(time.Minute)
			if server.Certificate() != nil {
				transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
			}
			defer transport.CloseIdleConnections()
			wire.DialAhead(transport, server.URL+"/v1")
			<-opened // before there is a request
			for range 2 {
				res, err := (&http.Client{Transport: transport}).Post(server.URL+"/v1/chat", "application/json", strings.NewReader("hi"))
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
	sent  strings.Builder
	fails error
}

func (p *pipes) dial(_ context.Context, _, addr string) (net.Conn, error) {
	p.addrs = append(p.addrs, addr)
	if p.fails != nil {
		return nil, p.fails
	}
	ours, theirs := net.Pipe()
	p.conns = append(p.conns, theirs)
	go io.Copy(&p.sent, theirs)
	return ours, nil
}

// Nothing is sent before there is a request, an unused connection is closed, and a connection error
// is reported once.
func TestAheadUnused(t *testing.T) {
	refused := errors.New("connection refused")
	proxied, _ := url.Parse("http://proxy:3128")
	tests := []struct {
		name, base string
		proxy      *url.URL
		fails      error
		wait       time.Duration // until the request
		dials      int           // before it
		addr, err  string
		more       int // dials for the request
	}{
		{"at once", "http://host/v1", nil, nil, 0, 1, "host:80", "EOF", 0},
		{"a port", "http://host:8080/v1", nil, nil, 0, 1, "host:8080", "EOF", 0},
		{"an IPv6 address", "http://[::1]:8080/v1", nil, nil, 0, 1, "[::1]:8080", "EOF", 0},
		{"too late", "http://host/v1", nil, nil, time.Hour, 1, "host:80", "EOF", 1},
		{"refused", "http://host/v1", nil, refused, 0, 1, "host:80", "connection refused", 0},
		{"refused long ago", "http://host/v1", nil, refused, time.Hour, 1, "host:80", "connection refused", 1},
		{"a proxy", "http://host/v1", proxied, nil, 0, 0, "", "EOF", 1},
		{"no address", "/v1", nil, nil, 0, 0, "", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{fails: tt.fails}
				transport := wire.Network(time.Minute)
				transport.DialContext, transport.Proxy = p.dial, http.ProxyURL(tt.proxy)
				wire.DialAhead(transport, tt.base)
				synctest.Wait()
				if len(p.addrs) != tt.dials || tt.dials > 0 && p.addrs[0] != tt.addr || p.sent.Len() > 0 {
					t.Fatalf("dialled %q and sent %q before there was a request", p.addrs, p.sent.String())
				}
				time.Sleep(tt.wait + 1)
				if tt.err != "" {
					got := make(chan error)
					go func() {
						res, err := (&http.Client{Transport: transport}).Get(tt.base + "/models")
						if err == nil {
							res.Body.Close()
						}
						got <- err
					}()
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

// Without a request no connection stays open.
func TestAheadCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{}
		transport := wire.Network(time.Minute)
		transport.DialContext, transport.Proxy = p.dial, http.ProxyURL(nil)
		wire.DialAhead(transport, "http://host/v1")
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := p.conns[0].Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	})
}
