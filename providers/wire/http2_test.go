package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/retry"
	"parley/providers/wire"
)

// Codes and types of the frames used by the tests (RFC 9113, sections 6 and 7).
const (
	frameHeaders = 1
	frameReset   = 3
	frameSetting = 4
	framePing    = 6
	frameGoAway  = 7

	codeRefused = 7
	codeCalm    = 11
)

// A frame answers a request on a stream of an HTTP/2 server.
type frame func(stream uint32) (kind byte, on uint32, payload []byte)

func parseReset(code uint32) frame {
	return func(stream uint32) (byte, uint32, []byte) {
		return frameReset, stream, binary.BigEndian.AppendUint32(nil, code)
	}
}

// goAway closes the connection. Last is the last stream that counts as seen.
func goAway(code, last uint32) frame {
	return func(uint32) (byte, uint32, []byte) {
		return frameGoAway, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code)
	}
}

// refusing starts an HTTP/2 server that answers every request with one frame. It
// returns a transport to it, its address, and the number of requests it has seen.
func refusing(t *testing.T, answer frame) (*http.Transport, string, *atomic.Int32) {
	t.Helper()
	var seen atomic.Int32
	base, url := speaking(t, func(conn net.Conn) {
		f := &framer{conn: conn, r: bufio.NewReader(conn)}
		for f.begin(nil); f.await(frameHeaders); {
			seen.Add(1)
			kind, on, payload := answer(f.stream)
			f.write(kind, 0, on, payload)
			if kind == frameGoAway {
				return
			}
		}
	})
	return base, url, &seen
}

// speaking starts an HTTP/2 server that serves each connection with serve. It returns a transport
// to it and its address.
func speaking(t *testing.T, serve func(net.Conn)) (*http.Transport, string) {
	t.Helper()
	lend := httptest.NewTLSServer(nil) // for its certificate
	defer lend.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lend.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { conn.Close() })
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	n := wire.NewNetwork(time.Minute)
	n.TLSClientConfig = &tls.Config{RootCAs: lend.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	return n.Transport, "https://" + listener.Addr().String()
}

// A framer speaks HTTP/2 on the server's side of a connection.
type framer struct {
	conn   net.Conn
	r      *bufio.Reader
	stream uint32 // stream of the last awaited frame
}

func (f *framer) write(kind, flags byte, stream uint32, payload []byte) {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	f.conn.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
}

// begin sends settings after the client's preface.
func (f *framer) begin(settings []byte) {
	if _, err := f.r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err == nil {
		f.write(frameSetting, 0, 0, settings)
	}
}

// await reads up to the next frame of a kind and acknowledges settings before it; false if the
// client leaves.
func (f *framer) await(kind byte) bool {
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(f.r, head); err != nil {
			return false
		}
		if _, err := f.r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return false
		}
		if head[3] == frameSetting && head[4] == 0 {
			f.write(frameSetting, 1, 0, nil) // acknowledged
		}
		if f.stream = binary.BigEndian.Uint32(head[5:]); head[3] == kind {
			return true
		}
	}
}

// A request that an HTTP/2 server rejects unread counts as an attempt: net/http would send it seven
// times, unseen.
func TestRefusedStreamsAreTries(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer frame
		fault  llm.Fault
		words  string
	}{
		{"REFUSED_STREAM", parseReset(codeRefused), llm.Server, "refused the request before reading it"},
		{"GOAWAY before the stream", goAway(0, 0), llm.Server, "refused the request before reading it"},
		{"ENHANCE_YOUR_CALM", parseReset(codeCalm), llm.RateLimit, "ENHANCE_YOUR_CALM"},
		{"GOAWAY with ENHANCE_YOUR_CALM", goAway(codeCalm, 1), llm.RateLimit, "ENHANCE_YOUR_CALM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, url, seen := refusing(t, tt.answer)
			client := wire.Client(wire.Options{Transport: base})
			defer client.CloseIdleConnections()
			_, err := ask(t.Context(), client, url)
			if e := fault(t, err); e.Fault != tt.fault || !strings.Contains(e.Message, tt.words) || seen.Load() != 1 {
				t.Errorf("got %v after %d requests, want one and %s: %s", err, seen.Load(), tt.fault, tt.words)
			}
		})
	}
}

// A request that a connection accepted but did not send is sent over another one, uncounted: over
// HTTP/2 while it waits for a stream, over HTTP/1.1 if the connection was dead.
func TestUnsentIsSentAgain(t *testing.T) {
	t.Run("HTTP/2", func(t *testing.T) {
		first, waiting := make(chan struct{}), make(chan struct{})
		var conns atomic.Int32
		base, url := speaking(t, func(conn net.Conn) {
			f := &framer{conn: conn, r: bufio.NewReader(conn)}
			if conns.Add(1) > 1 {
				f.begin(nil)
				f.await(frameHeaders)
				f.write(frameHeaders, 5, f.stream, []byte{0x88}) // status 200, the end
				f.await(frameReset)
				return
			}
			f.begin([]byte{0, 3, 0, 0, 0, 1}) // one stream at a time
			f.await(frameHeaders)
			f.write(framePing, 0, 0, make([]byte, 8))
			f.await(framePing) // so the client has read the settings
			close(first)
			<-waiting
			f.write(frameGoAway, 0, 0, []byte{0, 0, 0, 1, 0, 0, 0, 0})
			f.write(frameHeaders, 5, 1, []byte{0x88})
			f.await(frameReset)
		})
		base.HTTP2.StrictMaxConcurrentRequests = true
		client := wire.Client(wire.Options{Transport: base})
		defer client.CloseIdleConnections()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go ask(ctx, client, url)
		<-first
		trace := sync.OnceFunc(func() { close(waiting) })
		if _, err := ask(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { trace() }}), client, url); err != nil || conns.Load() < 2 {
			t.Errorf("%v, over %d connections", err, conns.Load())
		}
	})
	t.Run("HTTP/1.1", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
		defer server.Close()
		var dead atomic.Bool
		base := wire.NewNetwork(time.Minute)
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if dead.Load() {
				return conn, err
			}
			return deadConn{conn, &dead}, err
		}
		client := wire.Client(wire.Options{Transport: base})
		defer client.CloseIdleConnections()
		for i := range 2 {
			if got, err := ask(t.Context(), client, server.URL); err != nil || got == "" {
				t.Errorf("request %d: %q, %v", i+1, got, err)
			}
			dead.Store(true)
		}
	})
}

// A deadConn writes nothing once it is dead.
type deadConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c deadConn) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(p)
}

// asking is a model that sends a request and reads the response.
type asking struct {
	client *http.Client
	url    string
	asked  int
}

func (m *asking) Stream(ctx context.Context, _ llm.Request) llm.Stream {
	m.asked++
	_, err := ask(ctx, m.client, m.url)
	var e *llm.Error
	if errors.As(err, &e) {
		return failing(e)
	}
	return failing(err)
}

// At most four attempts reach a server, however it fails, and only one if another would fail in the
// same way.
func TestTries(t *testing.T) {
	quiet := httptest.NewUnstartedServer(nil)
	quiet.Config.ErrorLog = silent
	quiet.StartTLS()
	defer quiet.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	refused, url, seen := refusing(t, parseReset(codeRefused))

	instant := retry.Options{MaxRetries: 3, Sleep: func(context.Context, time.Duration) error { return nil }}
	for _, tt := range []struct {
		name, url string
		base      http.RoundTripper
		tries     int
	}{
		{"refused streams", url, refused, 4},
		{"an unknown certificate authority", quiet.URL, nil, 1},
		{"no TLS", strings.Replace(plain.URL, "http", "https", 1), nil, 1},
	} {
		client := wire.Client(wire.Options{Transport: tt.base})
		m := &asking{client: client, url: tt.url}
		for range retry.Wrap(m, instant).Stream(t.Context(), llm.Request{}) {
		}
		client.CloseIdleConnections()
		if m.asked != tt.tries {
			t.Errorf("%s: asked %d times, want %d", tt.name, m.asked, tt.tries)
		}
	}
	if seen.Load() != 4 {
		t.Errorf("the server that refuses saw %d requests, want 4", seen.Load())
	}
}

// failing returns a stream that only reports err.
func failing(err error) llm.Stream {
	return func(yield func(llm.Event, error) bool) { yield(nil, err) }
}
