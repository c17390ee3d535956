//go:build unix

package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveAt serves the real server at an address, until stop.
func serveAt(t *testing.T, address, way string) (at string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := realServer()
	get := func(*http.Request) *sdk.Server { return server }
	h := httptest.NewUnstartedServer(sdk.NewStreamableHTTPHandler(get, nil))
	switch way {
	case "sse":
		h.Config.Handler = sdk.NewSSEHandler(get, nil)
	case "stateless":
		h.Config.Handler = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})
	}
	h.Listener.Close()
	h.Listener = l
	h.Start()
	stop = func() {
		h.CloseClientConnections()
		h.Close()
		for session := range server.Sessions() { // as the end of its process does
			_ = session.Close()
		}
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// TestServerRestarts checks that a server that ended and came back answers the next call, that its tools
// and prompts stay on offer meanwhile, and that a call while it is away says so.
func TestServerRestarts(t *testing.T) {
	for _, way := range []string{"http", "stateless", "sse"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel() // it waits
			at, stop := serveAt(t, "127.0.0.1:0", way)
			b := start(t, mcp.Config{URL: "http://" + at, Trusted: true}, mcp.Options{})
			for range 2 {
				if out := b.call("echo", `{"text":"hello"}`); out.Text != head+"you said hello" {
					t.Fatalf("got %+v; %+v", out, b.state())
				}
				stop()
				out := b.call("echo", `{"text":"hello"}`)
				if want := "the server s is not reachable: connection refused; check that it runs at its url; the next call tries again"; out.Text != want || !out.Failed {
					t.Errorf("got %+v, want %q", out, want)
				}
				if s := b.state(); s.Status != mcp.StatusFailed || s.Reason != "not reachable: connection refused" || len(b.Tools()) == 0 || len(b.Prompts()) == 0 {
					t.Errorf("got %+v", s)
				}
				_, stop = serveAt(t, at, way)
			}
			b.Wake() // as the next prompt does
			b.until("ready", func(s mcp.State) bool { return s.Status == mcp.StatusReady })
			if messages, err := b.GetPrompt(t.Context(), "s", "review", map[string]string{"what": "x"}); err != nil || len(messages) == 0 {
				t.Errorf("got %v, %v", messages, err)
			}
		})
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel() // it waits
		b := start(t, self(t, "real"), mcp.Options{})
		for range 2 {
			if err := syscall.Kill(b.state().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			b.until("failed", func(s mcp.State) bool { return s.Status == mcp.StatusFailed })
			if len(b.Tools()) == 0 {
				t.Error("its tools are not on offer")
			}
			if out := b.call("echo", `{"text":"hello"}`); out.Text != head+"you said hello" {
				t.Errorf("got %+v; %+v", out, b.state())
			}
		}
	})
}

// TestServiceComesLater checks that a service that did not run at first is used once it does.
func TestServiceComesLater(t *testing.T) {
	t.Parallel() // it waits
	at, stop := serveAt(t, "127.0.0.1:0", "http")
	stop()
	b := start(t, mcp.Config{URL: "http://" + at, Trusted: true}, mcp.Options{})
	if s := b.state(); s.Status != mcp.StatusFailed || s.Reason != "not reachable: connection refused" {
		t.Errorf("got %+v", s)
	}
	serveAt(t, at, "http")
	b.Wake()
	b.until("ready", func(s mcp.State) bool { return s.Status == mcp.StatusReady })
}

// TestStoppedServerStaysStopped checks that neither a prompt nor a call starts what a user stopped.
func TestStoppedServerStaysStopped(t *testing.T) {
	b := start(t, self(t, "real"), mcp.Options{})
	if err := b.Stop("s"); err != nil {
		t.Fatal(err)
	}
	b.until("stopped", func(s mcp.State) bool { return s.Status == mcp.StatusStopped })
	b.Wake()
	if out := b.call("echo", `{"text":"x"}`); !strings.HasSuffix(out.Text, "the server s is not running: you stopped it") || len(b.Tools()) != 0 {
		t.Errorf("got %+v", out)
	}
}

// TestBackoff checks that a server that cannot start is not started more often than its backoff allows.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		all := open(ctx, map[string]mcp.Config{"s": {URL: "http://127.0.0.1:1", Headers: map[string]string{"X": "${PARLEY_UNSET}"}}}, mcp.Options{})
		all.Wait(ctx)
		begun := time.Now()
		var waits []string
		for range 6 {
			before := time.Now()
			_, err := all.GetPrompt(ctx, "s", "p", nil)
			if err == nil || !strings.Contains(err.Error(), "headers.X: the variable ${PARLEY_UNSET} is not set") {
				t.Errorf("got %v", err)
			}
			waits = append(waits, time.Since(before).String())
		}
		if got := fmt.Sprint(waits); got != "[500ms 1s 2s 4s 8s 8s]" {
			t.Errorf("got %s after %s", got, time.Since(begun))
		}
		time.Sleep(time.Minute)
		before := time.Now()
		if _, err := all.GetPrompt(ctx, "s", "p", nil); err == nil || time.Since(before) != 0 {
			t.Errorf("after a minute: got %v after %s", err, time.Since(before))
		}
		cancel()
		all.Close()
		if _, err := all.GetPrompt(t.Context(), "s", "p", nil); err == nil {
			t.Error("a closed server answers")
		}
	})
}
