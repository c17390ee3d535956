package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A half is one direction of a connection in memory, with a buffer like the system's.
type half struct {
	mu     sync.Mutex
	more   sync.Cond
	data   []byte
	closed bool
	reads  int // that returned data
}

func newHalf() *half {
	h := new(half)
	h.more.L = &h.mu
	return h
}

func (h *half) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.data) == 0 && !h.closed {
		h.more.Wait()
	}
	if len(h.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.data)
	h.data = h.data[n:]
	h.reads++
	return n, nil
}

func (h *half) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return 0, net.ErrClosed
	}
	h.data = append(h.data, p...)
	h.more.Broadcast()
	return len(p), nil
}

func (h *half) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.more.Broadcast()
}

// count returns how many reads brought data since the last count.
func (h *half) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.reads
	h.reads = 0
	return n
}

// memoryConn is one end of a connection in memory.
type memoryConn struct{ in, out *half }

func (c memoryConn) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c memoryConn) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c memoryConn) Close() error                     { c.in.close(); c.out.close(); return nil }
func (c memoryConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c memoryConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c memoryConn) SetDeadline(time.Time) error      { return nil }
func (c memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c memoryConn) SetWriteDeadline(time.Time) error { return nil }

// A listener returns one connection.
type listener chan net.Conn

func (l listener) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l listener) Close() error   { return nil }
func (l listener) Addr() net.Addr { return &net.TCPAddr{} }

// tokens sends events at an interval of every.
func tokens(w io.Writer, n int, every time.Duration) {
	for i := range n {
		time.Sleep(every)
		fmt.Fprintf(w, "data: token %d\n\n", i)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// plainly answers requests with HTTP/1.1.
func plainly(conn net.Conn, n int, every time.Duration) {
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		tokens(chunks{conn}, n, every)
		io.WriteString(conn, "0\r\n\r\n")
	}
}

type chunks struct{ io.Writer }

func (c chunks) Write(p []byte) (int, error) {
	return fmt.Fprintf(c.Writer, "%x\r\n%s\r\n", len(p), p)
}

// streaming returns a client of a server in memory, HTTP/2 or 1.1, whose answers have n events at
// an interval of every; also its URL, and the half that counts the reads of the connection.
func streaming(t *testing.T, h2 bool, n int, every time.Duration) (*http.Client, string, *half) {
	toClient, toServer := newHalf(), newHalf()
	ours, theirs := memoryConn{toClient, toServer}, memoryConn{toServer, toClient}
	network := wire.NewNetwork(time.Minute)
	network.DialContext = func(context.Context, string, string) (net.Conn, error) { return wire.Gathering(ours), nil }
	t.Cleanup(func() { time.Sleep(time.Duration(n) * every) }) // until the server has noticed
	t.Cleanup(network.CloseIdleConnections)
	client := wire.Client(wire.Options{Transport: network})
	if !h2 {
		go plainly(theirs, n, every)
		return client, "http://provider.example", toClient
	}
	lend := httptest.NewUnstartedServer(nil)
	lend.EnableHTTP2 = true
	lend.StartTLS()
	defer lend.Close()
	network.TLSClientConfig = lend.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	server := &http.Server{TLSConfig: &tls.Config{Certificates: lend.TLS.Certificates}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		tokens(w, n, every)
	})}
	incoming := make(listener, 1)
	incoming <- theirs
	go server.ServeTLS(incoming, "", "")
	t.Cleanup(func() { close(incoming); server.Close() })
	return client, "https://example.com", toClient
}

// askDelayed sends a request with a read delay; nil for none.
func askDelayed(t *testing.T, client *http.Client, url string, delay func() time.Duration) *http.Response {
	t.Helper()
	ctx := t.Context()
	if delay != nil {
		ctx = llm.WithReadDelay(ctx, delay)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const frameOfScreen = 33 * time.Millisecond

// Tokens sent every 2 ms are read once per frame, over HTTP/1.1 and below TLS and HTTP/2, and
// immediately without a read delay. All data arrives, and the end at most a frame late.
func TestGather(t *testing.T) {
	const n, every = 1000, 2 * time.Millisecond
	for _, h2 := range []bool{false, true} {
		for _, gathers := range []bool{true, false} {
			t.Run(fmt.Sprintf("h2=%v,gathers=%v", h2, gathers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, url, conn := streaming(t, h2, n, every)
					var delay func() time.Duration
					if gathers {
						delay = func() time.Duration { return frameOfScreen }
					}
					began := time.Now()
					res := askDelayed(t, client, url, delay)
					conn.count()
					body, err := io.ReadAll(res.Body)
					if got := strings.Count(string(body), "token"); err != nil || got != n {
						t.Errorf("%d events, %v", got, err)
					}
					frames := int(n * every / frameOfScreen)
					if reads := conn.count(); gathers && reads > 4*frames || !gathers && reads < n*9/10 {
						t.Errorf("%d reads for %d events in %d frames", reads, n, frames)
					}
					if late := time.Since(began) - n*every; late > frameOfScreen {
						t.Errorf("the end came %s late", late)
					}
					res.Body.Close()
				})
			})
		}
	}
}

// The next request over the same connection does not wait for a finished answer, and canceling does
// not wait at all.
func TestGatherEnds(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("h2=%v", h2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, url, _ := streaming(t, h2, 1, 0)
				delay := func() time.Duration { return frameOfScreen }
				for _, d := range []func() time.Duration{delay, nil, nil} {
					began := time.Now()
					res := askDelayed(t, client, url, d)
					if _, err := io.ReadAll(res.Body); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); d == nil && took > 0 {
						t.Errorf("another answer came %s late", took)
					}
					res.Body.Close()
				}
			})
			synctest.Test(t, func(t *testing.T) {
				client, url, _ := streaming(t, h2, 2, 20*time.Second)
				ctx, cancel := context.WithCancelCause(llm.WithReadDelay(t.Context(), func() time.Duration { return 24 * time.Hour }))
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				res, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				enough := errors.New("enough")
				began := time.Now()
				time.AfterFunc(time.Second, func() { cancel(enough) })
				if _, err := io.ReadAll(res.Body); !errors.Is(err, enough) || time.Since(began) > 2*time.Second {
					t.Errorf("%v after %s", err, time.Since(began))
				}
			})
		})
	}
}

// Answers that share a connection gather only while all of them may.
func TestGatherTogether(t *testing.T) {
	conn := wire.Gathering(memoryConn{newHalf(), newHalf()})
	var longer atomic.Bool
	first := wire.AddDelay(conn, func() time.Duration { return frameOfScreen })
	second := wire.AddDelay(conn, func() time.Duration {
		if longer.Load() {
			return time.Hour
		}
		return 0
	})
	for i, step := range []struct {
		do   func()
		want time.Duration
	}{
		{func() {}, 0},
		{func() { longer.Store(true) }, frameOfScreen},
		{first, time.Hour},
		{first, time.Hour},
		{second, 0},
	} {
		step.do()
		if got := wire.DelayOf(conn); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	wire.AddDelay(conn, func() time.Duration { return time.Hour })
	conn.Close()
	if got := wire.DelayOf(conn); got != 0 {
		t.Errorf("%s after the end", got)
	}
}
