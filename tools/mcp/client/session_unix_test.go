//go:build unix

package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"parley/tools/mcp"
)

// forgetful is a service that forgets its session; gone is what it says of one that it does not know.
type forgetful struct {
	sessions atomic.Int64 // so far
	known    atomic.Int64 // the session that it knows
	gone     string
	always   bool // it forgets each session with the first call
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if m.Method == "tools/call" && f.always {
		f.known.Store(0)
	}
	result := ""
	switch {
	case m.Method == "server/discover":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	case m.Method == "initialize":
		f.known.Store(f.sessions.Add(1))
		w.Header().Set("Mcp-Session-Id", fmt.Sprint(f.known.Load()))
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"0"}}`
	case r.Header.Get("Mcp-Session-Id") != fmt.Sprint(f.known.Load()):
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, f.gone)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "tools/list":
		result = `{"tools":[` + oneTool + `]}`
	default:
		result = `{"content":[{"type":"text","text":"fine"}]}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// A service that no longer knows the session, after it was started again, gets a new one, on which
// the call that it refused is made. MCP, "Session Management".
func TestServiceForgetsSession(t *testing.T) {
	for name, gone := range map[string]string{
		"in words":     "session not found",
		"as an answer": `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`,
	} {
		f := &forgetful{gone: gone}
		h := httptest.NewServer(f)
		t.Cleanup(h.Close)
		b := start(t, mcp.Config{URL: h.URL, Trusted: true}, mcp.Options{})
		if out := b.call("one", ""); out.Text != head+"fine" {
			t.Fatalf("%s: got %+v; %+v", name, out, b.state())
		}
		f.known.Store(0)
		if out := b.call("one", ""); out.Text != head+"fine" {
			t.Errorf("%s: got %+v; %+v", name, out, b.state())
		}
		if n := f.sessions.Load(); n != 2 {
			t.Errorf("%s: got %d sessions", name, n)
		}
	}
}

// A service that forgets every session is given up.
func TestServiceForgetsEverySession(t *testing.T) {
	f := &forgetful{gone: "session not found", always: true}
	h := httptest.NewServer(f)
	t.Cleanup(h.Close)
	b := start(t, mcp.Config{URL: h.URL, Trusted: true}, mcp.Options{})
	s := b.until("failed", func(s mcp.State) bool {
		if s.Status == mcp.StatusReady {
			b.offer()
			b.call("one", "")
		}
		return s.Status == mcp.StatusFailed
	})
	if n := f.sessions.Load(); n != newSessions+1 || s.Reason != "it no longer knows the session" {
		t.Errorf("got %d sessions, %+v", n, s)
	}
}
