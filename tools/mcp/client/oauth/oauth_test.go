package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A world is a server that asks for a login, and its authorization server.
type world struct {
	*httptest.Server
	mu       sync.Mutex
	metadata map[string]any // of the authorization server
	resource map[string]any // of the server; nil: it has none
	scope    string         // of its challenge
	lacking  string         // error of its challenge for a good token; "": none
	codes    map[string]url.Values
	access   map[string]bool
	refresh  map[string]bool
	asked    []string // paths
	forms    []url.Values
	clients  int
	tokens   int
	refuse   string // error of the token endpoint
	says     string // description of each such error, in which {} is all that it was sent
}

func newWorld(t *testing.T) *world {
	w := &world{codes: map[string]url.Values{}, access: map[string]bool{}, refresh: map[string]bool{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	w.resource = map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL + "/as"}, "scopes_supported": []string{"read", "write"}}
	w.metadata = map[string]any{
		"issuer": w.URL + "/as", "authorization_endpoint": w.URL + "/authorize?tenant=1", "token_endpoint": w.URL + "/token", "registration_endpoint": w.URL + "/register",
		"revocation_endpoint": w.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"read", "offline_access"},
		"authorization_response_iss_parameter_supported": true,
	}
	return w
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r.URL.Path)
	send := func(status int, value any) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		json.NewEncoder(out).Encode(value)
	}
	switch r.URL.Path {
	case "/mcp":
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !w.access[token] {
			out.Header().Add("WWW-Authenticate", `Basic realm=`)
			out.Header().Add("WWW-Authenticate", strings.TrimSuffix(fmt.Sprintf(`Negotiate, Bearer resource_metadata="%s/hinted", scope="%s"`, w.URL, w.scope), `, scope=""`))
			http.Error(out, "no", http.StatusUnauthorized)
		} else if w.lacking != "" {
			out.Header().Set("WWW-Authenticate", w.lacking)
			http.Error(out, "no", http.StatusForbidden)
		}
	case "/hinted":
		if w.resource == nil {
			http.NotFound(out, r)
			return
		}
		send(200, w.resource)
	case "/.well-known/oauth-authorization-server/as":
		send(200, w.metadata)
	case "/register":
		w.clients++
		var asked map[string]any
		json.NewDecoder(r.Body).Decode(&asked)
		send(201, map[string]any{"client_id": fmt.Sprint("client-", w.clients), "redirect_uris": asked["redirect_uris"], "token_endpoint_auth_method": "none"})
	case "/token", "/revoke":
		r.ParseForm()
		w.forms = append(w.forms, r.PostForm)
		if r.URL.Path == "/token" {
			w.token(r.PostForm, send)
		}
	default:
		http.NotFound(out, r)
	}
}

func (w *world) token(form url.Values, send func(int, any)) {
	fail := func(code string) {
		var sent []string
		for _, values := range form {
			sent = append(sent, values...)
		}
		says := strings.ReplaceAll(cmp.Or(w.says, "de\x1b[2Jtail"), "{}", strings.Join(sent, " "))
		send(400, map[string]any{"error": code, "error_description": says})
	}
	if w.refuse != "" {
		fail(w.refuse)
		return
	}
	if form.Get("grant_type") == "authorization_code" {
		began, ok := w.codes[form.Get("code")]
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if !ok || began.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || began.Get("redirect_uri") != form.Get("redirect_uri") || form.Get("resource") != began.Get("resource") {
			fail("invalid_grant")
			return
		}
	} else if !w.refresh[form.Get("refresh_token")] {
		fail("invalid_grant")
		return
	}
	delete(w.codes, form.Get("code")) // each is good once
	delete(w.refresh, form.Get("refresh_token"))
	clear(w.access)
	w.tokens++
	access, refresh := fmt.Sprint("access-", w.tokens), fmt.Sprint("refresh-", w.tokens)
	w.access[access], w.refresh[refresh] = true, true
	send(200, map[string]any{"access_token": access, "token_type": "Bearer", "refresh_token": refresh, "expires_in": "3600"})
}

// agree does what a browser does where the user agrees: change changes what it brings back.
func (w *world) agree(t *testing.T, at string, change func(url.Values)) (status int) {
	t.Helper()
	u, _ := url.Parse(at)
	began := u.Query()
	w.mu.Lock()
	w.codes["code-1"] = began
	back := url.Values{"code": {"code-1"}, "state": {began.Get("state")}, "iss": {w.metadata["issuer"].(string)}}
	w.mu.Unlock()
	if change != nil {
		change(back)
	}
	res, err := http.Get(began.Get("redirect_uri") + "?" + back.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// A shelf is a store in memory, which several clients share as processes share the disk.
type shelf struct {
	mu   sync.Mutex
	text string
	lock chan struct{}
}

func newShelf() *shelf { return &shelf{lock: make(chan struct{}, 1)} }

func (s *shelf) store() Store {
	return Store{
		Load: func(context.Context) (string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.text, nil
		},
		Save: func(_ context.Context, text string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.text = text
			return nil
		},
		Lock: func(ctx context.Context) (func(), error) {
			select {
			case s.lock <- struct{}{}:
				return func() { <-s.lock }, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

func (s *shelf) change(t *testing.T, f func(*grant)) {
	t.Helper()
	var g grant
	if err := json.Unmarshal([]byte(s.text), &g); err != nil {
		t.Fatal(err)
	}
	f(&g)
	text, _ := json.Marshal(g)
	s.text = string(text)
}

func newClient(t *testing.T, w *world, s *shelf, change func(*Options)) *Client {
	t.Helper()
	o := Options{Server: w.URL + "/mcp", Store: s.store()}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// login logs in, and returns the address where the user agreed.
func login(t *testing.T, w *world, c *Client) string {
	t.Helper()
	l, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if status := w.agree(t, l.URL, nil); status != 200 {
		t.Fatalf("got %d", status)
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l.URL
}

func token(t *testing.T, c *Client) string {
	t.Helper()
	got, err := c.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestLogin(t *testing.T) {
	w, s := newWorld(t), newShelf()
	c := newClient(t, w, s, nil)
	if got := token(t, c); got != "" {
		t.Errorf("got %q before a login", got)
	}
	if err := c.Rejected(t.Context(), "", http.Header{}); !errors.Is(err, ErrLogin) {
		t.Errorf("got %v", err)
	}
	at, _ := url.Parse(login(t, w, c))
	q := at.Query()
	for name, want := range map[string]string{"tenant": "1", "response_type": "code", "client_id": "client-1", "code_challenge_method": "S256", "resource": w.URL + "/mcp", "scope": "read write offline_access"} {
		if q.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, q.Get(name), want)
		}
	}
	if back, _ := url.Parse(q.Get("redirect_uri")); back.Hostname() != "127.0.0.1" || back.Port() == "0" || back.Path != "/callback" {
		t.Errorf("got %s", back)
	}
	if got := token(t, c); got != "access-1" {
		t.Errorf("got %q", got)
	}
	if got := token(t, newClient(t, w, s, nil)); got != "access-1" {
		t.Errorf("another process got %q", got)
	}
	other := newClient(t, w, s, func(o *Options) { o.Server = w.URL + "/other" })
	if got := token(t, other); got != "" {
		t.Errorf("another server of that name got %q", got)
	}
	if secrets := Secrets(s.text); !slices.Equal(secrets, []string{"access-1", "refresh-1"}) || !slices.Equal(c.Secrets(), secrets) {
		t.Errorf("got %q", secrets)
	}
	login(t, w, c)
	if w.clients != 1 {
		t.Errorf("registered %d times", w.clients)
	}
	if err := c.Logout(t.Context()); err != nil || s.text != "" || token(t, c) != "" {
		t.Errorf("got %v, %q", err, s.text)
	}
	if last := w.forms[len(w.forms)-2:]; last[0].Get("token") == last[1].Get("token") || last[0].Get("client_id") != "client-1" {
		t.Errorf("told %v", last)
	}
}

// A request that does not belong to a login changes nothing, or ends it.
func TestLoginAnswers(t *testing.T) {
	cases := []struct {
		name   string
		change func(url.Values)
		status int
		want   string // "": it goes on waiting
	}{
		{"wrong state", func(q url.Values) { q.Set("state", "guess") }, 400, ""},
		{"no state", func(q url.Values) { q.Del("state") }, 400, ""},
		{"no code", func(q url.Values) { q.Del("code") }, 400, ""},
		{"wrong issuer", func(q url.Values) { q.Set("iss", "https://evil.example\x1b[2J") }, 200, "the answer is from https://evil.example"},
		{"no issuer", func(q url.Values) { q.Del("iss") }, 200, "the answer does not say that it is from"},
		{"denied", func(q url.Values) { q.Set("error", "access_denied"); q.Set("error_description", "no\x1b[2J") }, 200, "you were not logged in: access_denied: no"},
		{"wrong code", func(q url.Values) { q.Set("code", "other") }, 200, "the authorization server refused it: invalid_grant: de"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorld(t), newShelf()
			l, err := newClient(t, w, s, nil).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := w.agree(t, l.URL, c.change); got != c.status {
				t.Errorf("got %d", got)
			}
			if c.want == "" {
				select {
				case <-l.Returned():
					t.Fatal("it was taken")
				default:
				}
				w.agree(t, l.URL, nil) // the right one still counts
				if err := l.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			if err := l.Wait(t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %v", err)
			}
			if strings.Contains(s.text, "access") {
				t.Errorf("kept %s", s.text)
			}
		})
	}
}

// An authorization server that repeats what it is sent gives no part of a credential away, wherever
// its words are cut.
func TestNoCredentialInWords(t *testing.T) {
	for before := range 8 { // so many blocks of four stand before the credential
		w, s := newWorld(t), newShelf()
		w.says = strings.Repeat("....", 68+before) + "{} end"
		w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
		c := newClient(t, w, s, func(o *Options) { o.ClientID, o.ClientSecret = "mine", "secret-of-the-client" })
		l, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.refuse = "invalid_request"
		w.agree(t, l.URL, func(q url.Values) { q.Set("code", "grant-of-the-login") })
		err = l.Wait(t.Context())
		l.Close()
		verifier := w.forms[len(w.forms)-1].Get("code_verifier")
		w.refuse = ""
		login(t, w, c)
		w.refuse = "temporarily_unavailable"
		s.change(t, func(g *grant) { g.Refresh = "renewal-of-the-login" })
		refreshErr := newClient(t, w, s, func(o *Options) { o.ClientID, o.ClientSecret = "mine", "secret-of-the-client" }).Rejected(t.Context(), "access-1", http.Header{})
		for _, err := range []error{err, refreshErr} {
			if err == nil || !strings.Contains(err.Error(), "....") {
				t.Fatalf("got %v", err)
			}
			for _, secret := range []string{"secret-of-the-client", "grant-of-the-login", "renewal-of-the-login", verifier} {
				if strings.Contains(err.Error(), secret[:4]) {
					t.Errorf("%d before it: %s is in %v", 4*(68+before), secret, err)
				}
			}
		}
	}
}

func TestPaste(t *testing.T) {
	w := newWorld(t)
	l, err := newClient(t, w, newShelf(), nil).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, _ := url.Parse(l.URL)
	w.codes["code-2"] = u.Query()
	for _, bad := range []string{"", "code-2", "http://127.0.0.1/callback?code=code-2&state=x"} {
		if l.Paste(bad) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	back := url.Values{"code": {"code-2"}, "state": {u.Query().Get("state")}, "iss": {w.URL + "/as"}}
	if err := l.Paste(" " + u.Query().Get("redirect_uri") + "?" + back.Encode() + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// A login does not begin where it would not be safe, or could not end.
func TestBeginRefuses(t *testing.T) {
	cases := []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"no registration", func(w *world) { delete(w.metadata, "registration_endpoint") }, "registers no programs: register parley there by hand and set client_id"},
		{"no PKCE", func(w *world) { delete(w.metadata, "code_challenge_methods_supported") }, "PKCE"},
		{"plain PKCE", func(w *world) { w.metadata["code_challenge_methods_supported"] = []string{"plain"} }, "does not offer PKCE with S256"},
		{"another issuer", func(w *world) { w.metadata["issuer"] = "https://login.example" }, "does not match"},
		{"another server's metadata", func(w *world) { w.resource["resource"] = "https://bank.example/" }, "does not say how to log in"},
		{"no authorization server", func(w *world) { w.resource["authorization_servers"] = []string{} }, "names no authorization server"},
		{"http", func(w *world) { w.resource["authorization_servers"] = []string{"http://login.example"} }, "must be a public https address"},
		{"token over http", func(w *world) { w.metadata["token_endpoint"] = "http://login.example/token" }, "not use HTTPS"},
		{"odd login page", func(w *world) { w.metadata["authorization_endpoint"] = "javascript:alert(1)" }, "disallowed scheme"},
		{"endless login page", func(w *world) { w.metadata["authorization_endpoint"] = w.URL + "/?" + strings.Repeat("x", maxAddress) }, "too long"},
		{"endless metadata", func(w *world) { w.metadata["x"] = strings.Repeat("x", maxResponse) }, "cannot be used"},
		{"needs no login", func(w *world) { w.access[""] = true }, "it answers without a login"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.change(w)
			l, err := newClient(t, w, newShelf(), nil).Begin(t.Context())
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A public server does not have parley ask this computer, its network, or a cloud's metadata.
func TestGuard(t *testing.T) {
	server, _ := url.Parse("https://mcp.example/mcp")
	near, _ := url.Parse("http://127.0.0.1:1234/mcp")
	cases := []struct {
		at            string
		public, local string // why not, from a server that is public, and one that is not
	}{
		{"https://login.example/token", "", ""},
		{"http://login.example/token", "not https", "not https"},
		{"ftp://login.example/", "not https", "not https"},
		{"https://user:word@login.example/", "not valid", "not valid"},
		{"http://127.0.0.1:8080/", "is this computer", ""},
		{"https://localhost/", "is this computer", ""},
		{"https://x.localhost/", "is this computer", ""},
		{"https://[::1]/", "is this computer", ""},
		{"https://[::ffff:127.0.0.1]/", "is this computer", ""},
		{"https://10.0.0.1/", "not a public address", ""},
		{"https://169.254.169.254/latest", "not a public address", ""}, // and dial refuses it to both
	}
	for _, c := range cases {
		u, err := url.Parse(c.at)
		if err != nil {
			t.Fatal(err)
		}
		for at, want := range map[*url.URL]string{server: c.public, near: c.local} {
			g := newGuard(at)
			g.allPrivate = at == near
			if err := g.check(u); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s from %s: got %v, want %q", c.at, at, err, want)
			}
		}
	}
	w := newWorld(t)
	here, _ := url.Parse(w.URL)
	for _, near := range []bool{false, true} { // by name, which only the dialer sees through
		g := newGuard(server)
		g.allPrivate = near
		conn, err := g.dial(t.Context(), "tcp", here.Host)
		if (err == nil) != near {
			t.Errorf("near %v: got %v", near, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	g := newGuard(near)
	g.allPrivate = true
	if _, err := g.dial(t.Context(), "tcp", "169.254.169.254:80"); err == nil || !strings.Contains(err.Error(), "not a public address") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{Server: "http://mcp.example/mcp"}); err == nil {
		t.Error("a login went over http")
	}
}

func TestMetadataPointsInside(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w, newShelf(), nil)
	c.guard.anyPublic = true // as if the server were elsewhere
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer inside.Close()
	w.resource["authorization_servers"] = []string{inside.URL}
	if _, err := c.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "must be a public https address") {
		t.Errorf("got %v", err)
	}
	w.resource["authorization_servers"] = []string{w.URL + "/as"}
	w.metadata["token_endpoint"] = inside.URL + "/token"
	if _, err := c.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "the token endpoint of its authorization server cannot be used") {
		t.Errorf("got %v", err)
	}
}

// A refresh token is good once: of several processes one asks, and the others use what it got.
func TestRefresh(t *testing.T) {
	w, s := newWorld(t), newShelf()
	login(t, w, newClient(t, w, s, nil))
	s.change(t, func(g *grant) { g.Expires = time.Now() })
	var running sync.WaitGroup
	for range 8 {
		c := newClient(t, w, s, nil)
		running.Go(func() {
			if got, err := c.Token(t.Context()); got != "access-2" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
		running.Go(func() { // one whose token the server took back
			if err := c.Rejected(t.Context(), "access-1", http.Header{}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if last := w.forms[len(w.forms)-1]; w.tokens != 2 || last.Get("resource") != w.URL+"/mcp" || last.Get("refresh_token") != "refresh-1" {
		t.Errorf("%d tokens, %v", w.tokens, last)
	}
	if !strings.Contains(s.text, "refresh-2") {
		t.Errorf("kept %s", s.text)
	}
}

// A server of this computer may have its authorization server here too, on another port, also
// when parley was started anew since the login.
func TestRefreshNearby(t *testing.T) {
	w, s := newWorld(t), newShelf()
	login(t, w, newClient(t, w, s, nil))
	other := httptest.NewServer(w)
	t.Cleanup(other.Close)
	s.change(t, func(g *grant) {
		g.Expires, g.TokenURL = time.Now(), strings.Replace(g.TokenURL, w.URL, other.URL, 1)
	})
	if got, err := newClient(t, w, s, nil).Token(t.Context()); got != "access-2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRefreshFails(t *testing.T) {
	for _, c := range []struct {
		code  string
		login bool // the user has to log in
	}{{"invalid_grant", true}, {"invalid_client", true}, {"temporarily_unavailable", false}, {"", false}} {
		w, s := newWorld(t), newShelf()
		login(t, w, newClient(t, w, s, nil))
		client := newClient(t, w, s, nil)
		if w.refuse = c.code; c.code == "" {
			w.Server.Close()
		}
		err := client.Rejected(t.Context(), "access-1", http.Header{})
		if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrLogin) != c.login || strings.Contains(s.text, "refresh-1") == c.login || !strings.Contains(s.text, "client-1") {
			t.Errorf("%s: got %v, kept %s", c.code, err, s.text)
		}
	}
}

// A call that needs a larger scope says so, and the next login asks for it besides what was
// granted.
func TestStepUp(t *testing.T) {
	w, s := newWorld(t), newShelf()
	w.scope = "read"
	c := newClient(t, w, s, nil)
	if at, _ := url.Parse(login(t, w, c)); at.Query().Get("scope") != "read offline_access" {
		t.Errorf("got %s", at)
	}
	if err := c.Forbidden(http.Header{"Www-Authenticate": {`Bearer error="invalid_request"`}}); err != nil {
		t.Errorf("got %v", err)
	}
	err := c.Forbidden(http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="admin"`}})
	var scope *ScopeError
	if !errors.As(err, &scope) || !slices.Equal(scope.Scopes, []string{"admin"}) {
		t.Fatalf("got %v", err)
	}
	if at, _ := url.Parse(login(t, w, c)); at.Query().Get("scope") != "read offline_access admin" {
		t.Errorf("got %s", at)
	}
}

func TestConfiguredClient(t *testing.T) {
	w, s := newWorld(t), newShelf()
	delete(w.metadata, "registration_endpoint")
	c := newClient(t, w, s, func(o *Options) { o.ClientID, o.ClientSecret, o.Scopes = "mine", "secret-1", []string{"own"} })
	if at, _ := url.Parse(login(t, w, c)); at.Query().Get("client_id") != "mine" || at.Query().Get("scope") != "own offline_access" {
		t.Errorf("got %s", at)
	}
	if last := w.forms[len(w.forms)-1]; last.Has("client_secret") || last.Has("client_id") { // basic, where nothing is offered
		t.Errorf("got %v", last)
	}
	w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	login(t, w, c)
	if last := w.forms[len(w.forms)-1]; last.Get("client_secret") != "secret-1" || last.Get("client_id") != "mine" {
		t.Errorf("got %v", last)
	}
}

// A login that fails with a client id of an earlier one has the next one register.
func TestForgottenClient(t *testing.T) {
	w, s := newWorld(t), newShelf()
	c := newClient(t, w, s, nil)
	login(t, w, c)
	l, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	login(t, w, c)
	if w.clients != 2 {
		t.Errorf("registered %d times", w.clients)
	}
}

// TestRegistrationFails: the user reads why parley was not registered, and what to do. An answer of another form may have
// a secret in it and is not quoted.
func TestRegistrationFails(t *testing.T) {
	for _, tt := range []struct {
		status       int
		answer, want string
	}{
		{400, `{"error":"invalid_redirect_uri","error_description":"no\u001b[2J"}`, "(invalid_redirect_uri: no"},
		{400, `{"error":"access_denied"}`, "(access_denied)"},
		{503, `secret-of-the-server`, "(it answered "},
		{201, `secret-of-the-server`, "(it cannot be reached, or its answer is not understood)"},
	} {
		w := newWorld(t)
		at := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(tt.status)
			io.WriteString(out, tt.answer)
		}))
		defer at.Close()
		w.metadata["registration_endpoint"] = at.URL + "/register"
		l, err := newClient(t, w, newShelf(), nil).Begin(t.Context())
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "did not register parley "+tt.want) || !strings.HasSuffix(err.Error(), ": register it there by hand and set client_id") || strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d %s: got %v, want %s", tt.status, tt.answer, err, tt.want)
		}
	}
}

// TestRedirectPage: only the browser's request to the redirect address is answered, and the user reads there how it went.
func TestRedirectPage(t *testing.T) {
	w := newWorld(t)
	l, err := newClient(t, w, newShelf(), nil).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, _ := url.Parse(l.URL)
	back, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
	for _, tt := range []struct{ method, host, path, query, want string }{
		{"GET", "", "/callback", "state=x&code=y", "400 This is not the login that parley waits for. Begin again there.\n"},
		{"GET", "", "/", "state=" + state + "&code=y", "404 There is nothing here.\n"},
		{"POST", "", "/callback", "state=" + state + "&code=y", "404 There is nothing here.\n"},
		{"GET", "evil.example", "/callback", "state=" + state + "&code=y", "404 There is nothing here.\n"},
		{"GET", "", "/callback", "state=" + state + "&error=access_denied", "200 You are not logged in. You can close this page and return to parley.\n"},
		{"GET", "", "/callback", "state=" + state + "&code=y", "200 parley has what it needs. You can close this page and return to it.\n"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, strings.TrimSuffix(back, "/callback")+tt.path+"?"+tt.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if got := fmt.Sprint(res.StatusCode, " ", string(text)); got != tt.want || res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%+v: got %q, %v", tt, got, res.Header)
		}
	}
}

// TestTokenAnswers: what a token endpoint answers becomes a login, or is refused.
func TestTokenAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		want         string // the error; "" for none
		expires      bool
		scopes       []string
	}{
		{"all of it", `{"access_token":"a","token_type":"bearer","expires_in":60,"scope":"x y x"}`, "", true, []string{"x", "y"}},
		{"the least", `{"access_token":"a"}`, "", false, []string{"old"}},
		{"no lifetime", `{"access_token":"a","expires_in":0}`, "", false, []string{"old"}},
		{"scopes that are none", `{"access_token":"a","scope":"\" \u007f é \\"}`, "", false, []string{"old"}},
		{"no token", `{"token_type":"bearer"}`, "sent no token", false, nil},
		{"a token for no header", `{"access_token":"a b"}`, "sent no token", false, nil},
		{"another type", `{"access_token":"secret-1","token_type":"mac of secret-1"}`, "sent a token of type mac of [redacted]; only bearer", false, nil},
		{"no JSON", `secret-1`, "answer is not JSON", false, nil},
	} {
		at := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { io.WriteString(out, tt.answer) }))
		c, err := New(Options{Server: at.URL})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.requestToken(t.Context(), grant{TokenURL: at.URL}, url.Values{})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		g := answer.addTo(grant{Refresh: "r", Scopes: []string{"old"}, Expires: time.Now()})
		if tt.want == "" && (g.Access != "a" || g.Refresh != "r" || g.Expires.IsZero() == tt.expires || !slices.Equal(g.Scopes, tt.scopes)) {
			t.Errorf("%s: got %+v", tt.name, g)
		}
		c.Close()
		at.Close()
	}
}

func TestScopeError(t *testing.T) {
	for want, e := range map[string]ScopeError{"your login does not allow this": {}, "your login does not allow this: it lacks the scope a b": {[]string{"a", "b"}}} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
