//go:build unix

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A gate is a server that needs a login, and its authorization server, which agrees at once.
type gate struct {
	*httptest.Server
	mu     sync.Mutex
	tokens int    // the last one counts
	lacks  string // scope that calls lack; "": none

	opened map[net.Conn]bool // connections
	closed chan struct{}     // receives where one ends
}

// idle waits until nobody is connected.
func (g *gate) idle(t *testing.T) {
	t.Helper()
	for {
		g.mu.Lock()
		n := len(g.opened)
		g.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-g.closed:
		case <-time.After(time.Minute):
			t.Fatalf("connections after a minute: %d", n)
		}
	}
}

func newGate(t *testing.T) *gate {
	g := &gate{opened: map[net.Conn]bool{}, closed: make(chan struct{}, 100)}
	server := realServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}) // nobody ends a session without a login
	mux := http.NewServeMux()
	g.Server = httptest.NewUnstartedServer(mux)
	g.Config.ConnState = func(c net.Conn, state http.ConnState) {
		g.mu.Lock()
		defer g.mu.Unlock()
		switch state {
		case http.StateNew:
			g.opened[c] = true
		case http.StateClosed:
			delete(g.opened, c)
			select {
			case g.closed <- struct{}{}:
			default: // nobody waits
			}
		}
	}
	g.Start()
	t.Cleanup(g.Close)
	send := func(w http.ResponseWriter, value map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		g.mu.Lock()
		good, lacks := g.tokens > 0 && r.Header.Get("Authorization") == fmt.Sprint("Bearer sk-canary-", g.tokens), g.lacks
		g.mu.Unlock()
		switch {
		case !good:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case lacks != "" && strings.Contains(string(body), "tools/call"):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+lacks+`"`)
			http.Error(w, "not you", http.StatusForbidden)
		default:
			handler.ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		send(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		send(w, map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token", "registration_endpoint": g.URL + "/register", "code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"client_id":"c"}`)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"x"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tokens++
		send(w, map[string]any{"access_token": fmt.Sprint("sk-canary-", g.tokens), "token_type": "bearer", "refresh_token": "refresh-1", "expires_in": 3600})
	})
	return g
}

// revoke has the server refuse the tokens that it gave.
func (g *gate) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens++
}

// A drawer keeps the login of one server in memory.
type drawer struct {
	mu   sync.Mutex
	text string
}

func (d *drawer) store(string) mcp.LoginStore {
	return mcp.LoginStore{
		Load: func(context.Context) (string, error) { d.mu.Lock(); defer d.mu.Unlock(); return d.text, nil },
		Save: func(_ context.Context, text string) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.text = text
			return nil
		},
		Lock: func(context.Context) (func(), error) { return func() {}, nil },
	}
}

// login logs in as a browser does.
func (b *testServer) login() {
	b.t.Helper()
	l, err := b.BeginLogin(b.t.Context(), "s")
	if err != nil {
		b.t.Fatal(err)
	}
	defer l.Close()
	res, err := http.Get(l.URL())
	if err != nil {
		b.t.Fatal(err)
	}
	res.Body.Close()
	if err := l.Wait(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.until("ready", func(s mcp.State) bool { return s.Status == mcp.StatusReady })
	b.offer()
}

// A server that needs a login says so, and works after one; also one that takes back what it
// gave, and one that wants more.
func TestLogin(t *testing.T) {
	g, d := newGate(t), &drawer{}
	c := mcp.Config{URL: g.URL + "/mcp", Trusted: true}
	b := start(t, c, mcp.Options{Logins: d.store})
	if s := b.state(); s.Status != mcp.StatusLogin || s.Reason != "/mcp login s" || s.LoggedIn {
		t.Fatalf("got %+v", s)
	}
	b.login()
	if s := b.state(); !s.LoggedIn || len(client{}.LoginSecrets(d.text)) != 2 {
		t.Errorf("got %+v, %s", s, d.text)
	}
	echo := func() string { return b.call("echo", `{"text":"sk-canary-1 sk-canary-2"}`).Text }
	if got := echo(); got != head+"you said [redacted] sk-canary-2" {
		t.Errorf("got %s", got)
	}
	again := start(t, c, mcp.Options{Logins: d.store})
	if s := again.state(); s.Status != mcp.StatusReady {
		t.Errorf("another process got %+v", s)
	}
	g.revoke()
	if got := echo(); !strings.Contains(got, "you said") { // with a refreshed one
		t.Errorf("got %s", got)
	}
	g.mu.Lock()
	g.lacks = "admin"
	g.mu.Unlock()
	if got := echo(); !strings.Contains(got, "it lacks the scope admin; the user can log in again with /mcp login s") {
		t.Errorf("got %s", got)
	}
	l, err := b.BeginLogin(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if at, _ := url.Parse(l.URL()); at.Query().Get("scope") != "admin" {
		t.Errorf("got %s", l.URL())
	}
	if err := b.Logout(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	b.until("needs login", func(s mcp.State) bool { return s.Status == mcp.StatusLogin })
	if d.text != "" {
		t.Errorf("kept %s", d.text)
	}
}

// Nothing of a login stays connected when the servers are closed, or the login of a server that
// does not run.
func TestLoginsAreClosed(t *testing.T) {
	g, d := newGate(t), &drawer{}
	c := mcp.Config{URL: g.URL + "/mcp", Trusted: true}
	b := start(t, c, mcp.Options{Logins: d.store})
	b.login()
	http.DefaultClient.CloseIdleConnections() // the browser's
	b.Close()
	g.idle(t)
	l, err := New().BeginLogin(t.Context(), "s", c, d.store("s"))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	g.idle(t)
	if err := New().Logout(t.Context(), "s", c, d.store("s")); err != nil {
		t.Fatal(err)
	}
	g.idle(t)
}

// Servers that cannot be logged in to say so, and an Authorization header of the configuration
// is the only one sent.
func TestNoLogin(t *testing.T) {
	d := &drawer{}
	for name, c := range map[string]mcp.Config{
		"program": self(t, "real"), "header": overHTTP(t), "http": {URL: "http://mcp.example/mcp"},
	} {
		c.Disabled = true
		b := start(t, c, mcp.Options{Logins: d.store})
		if _, err := b.BeginLogin(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "takes no login") {
			t.Errorf("%s: got %v", name, err)
		}
		if err := b.Logout(t.Context(), "s"); err == nil {
			t.Errorf("%s: it logged out", name)
		}
	}
	if s := start(t, overHTTP(t), mcp.Options{Logins: d.store}).state(); s.Status != mcp.StatusReady {
		t.Errorf("got %+v", s)
	}
}

// Errors of logging in and out are what servers and the keyring say: nothing of that shows
// credentials, or moves the cursor.
func TestLoginErrorsAreMasked(t *testing.T) {
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://sk-canary-header.example/", http.StatusFound)
	}))
	defer moved.Close()
	store := func(string) mcp.LoginStore {
		kept := fmt.Sprintf(`{"server":%q,"access_token":"sk-canary-access"}`, moved.URL)
		return mcp.LoginStore{
			Load: func(context.Context) (string, error) { return kept, nil },
			Save: func(context.Context, string) error { return errors.New("keyring\x1b[2J: cannot change " + kept) },
			Lock: func(context.Context) (func(), error) { return func() {}, nil },
		}
	}
	c := mcp.Config{URL: moved.URL, Headers: map[string]string{"X-Key": "sk-canary-header"}, Disabled: true}
	b := start(t, c, mcp.Options{Logins: store})
	_, running := b.BeginLogin(t.Context(), "s")
	_, alone := New().BeginLogin(t.Context(), "s", c, store("s"))
	for what, err := range map[string]error{"login": running, "login alone": alone, "logout": b.Logout(t.Context(), "s"), "logout alone": New().Logout(t.Context(), "s", c, store("s"))} {
		if err == nil || !strings.Contains(err.Error(), "[redacted]") || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
