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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/retry"
	"parley/providers/wire"
)

// The codes and types of frames that the tests speak (RFC 9113, sections 6 and 7).
const (
	frameHeaders = 1
	frameReset   = 3
	frameSetting = 4
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
	lend := httptest.NewTLSServer(nil) // for its certificate
	defer lend.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lend.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var seen atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go speak(conn, answer, &seen)
		}
	}()
	n := wire.Network(time.Minute)
	n.TLSClientConfig = &tls.Config{RootCAs: lend.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	return n, "https://" + listener.Addr().String(), &seen
}

// speak serves one connection until the client leaves.
func speak(conn net.Conn, answer frame, seen *atomic.Int32) {
	defer conn.Close()
	write := func(kind, flags byte, stream uint32, payload []byte) {
		head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
		conn.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
	}
	r := bufio.NewReader(conn)
	if _, err := r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return
	}
	write(frameSetting, 0, 0, nil)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		if _, err := r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return
		}
		switch {
		case head[3] == frameSetting && head[4] == 0:
			write(frameSetting, 1, 0, nil) // acknowledged
		case head[3] == frameHeaders:
			seen.Add(1)
			kind, on, payload := answer(binary.BigEndian.Uint32(head[5:]))
			write(kind, 0, on, payload)
			if kind == frameGoAway {
				return
			}
		}
	}
}

// A request that an HTTP/2 server gives back unread is a try like any other:
// net/http would send it seven times, unseen.
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

// asking is a model that sends a request and reads the answer.
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

// At most four tries reach a server, whatever it does to them, and only one does
// where another would fail the same way.
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
