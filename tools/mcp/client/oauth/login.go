package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"parley/tools/sanitize"
)

// A Login is a login that waits for the user to agree in a browser. Close ends it.
type Login struct {
	URL  string // page where the user agrees, to be shown completely before it is opened
	Host string // of URL

	client   *Client
	grant    grant
	meta     metadata
	state    string
	verifier string
	redirect string
	reused   bool // the client id is from an earlier login

	server   *http.Server
	callback chan url.Values // receives the parameters of the browser's request, once
	done     chan struct{}   // closed after callback has received
	once     sync.Once
}

// callbackPath is the path of the redirect address.
const callbackPath = "/callback"

func redirectURL(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) + callbackPath }

// maxAddress bounds the address of a login, in bytes.
const maxAddress = 4000

// Begin discovers the authorization server, and listens for the browser on this computer until Close.
func (c *Client) Begin(ctx context.Context) (_ *Login, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded = false // another process may have registered a client
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	if err := c.probe(ctx); err != nil {
		return nil, err
	}
	meta, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := listen(cmp.Or(c.opts.RedirectPort, c.grant.RedirectPort), c.opts.RedirectPort == 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			listener.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	l := &Login{client: c, meta: meta, state: rand.Text(), verifier: oauth2.GenerateVerifier(), redirect: redirectURL(port), callback: make(chan url.Values, 1), done: make(chan struct{})}
	if l.grant, err = c.client(ctx, meta.AuthServerMeta, port); err != nil {
		return nil, err
	}
	l.grant.Resource, l.grant.Scopes = meta.resource, meta.scopes
	l.reused = l.grant.ClientID == c.grant.ClientID
	if err := l.setURL(); err != nil {
		return nil, err
	}
	l.server = &http.Server{Handler: l, ReadHeaderTimeout: requestTimeout, MaxHeaderBytes: 32 << 10}
	go func() { _ = l.server.Serve(listener) }()
	return l, nil
}

// listen listens on a port of this computer, or if other is set on any free one.
func listen(port int, other bool) (net.Listener, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && other && port != 0 {
		return net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("nothing can listen for the browser: %w", err)
	}
	return listener, nil
}

// setURL sets the address of the page where the user agrees.
func (l *Login) setURL() error {
	at, err := url.Parse(l.meta.AuthorizationEndpoint)
	if err != nil {
		return errors.New("the address of its login page is not valid")
	}
	q := at.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.grant.ClientID, "redirect_uri": l.redirect, "state": l.state,
		"code_challenge": oauth2.S256ChallengeFromVerifier(l.verifier), "code_challenge_method": "S256",
		"resource": l.meta.resource, "scope": strings.Join(l.meta.scopes, " "),
	} {
		if q.Del(name); value != "" {
			q.Set(name, value)
		}
	}
	at.RawQuery, at.Fragment = q.Encode(), ""
	l.URL, l.Host = at.String(), at.Host
	if len(l.URL) > maxAddress || sanitize.Line(l.URL) != l.URL || !isHeaderSafe(l.URL) {
		return errors.New("the address of its login page is too long or holds odd characters")
	}
	return nil
}

// ServeHTTP handles the browser's request to the redirect address. It ignores requests with
// another state.
func (l *Login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch {
	case "http://"+r.Host+callbackPath != l.redirect || r.URL.Path != callbackPath || r.Method != http.MethodGet:
		http.Error(w, "There is nothing here.", http.StatusNotFound)
	case l.acceptCallback(r.URL.Query()) != nil:
		http.Error(w, "This is not the login that parley waits for. Begin again there.", http.StatusBadRequest)
	case r.URL.Query().Get("error") != "":
		fmt.Fprintln(w, "You are not logged in. You can close this page and return to parley.")
	default:
		fmt.Fprintln(w, "parley has what it needs. You can close this page and return to it.")
	}
}

// acceptCallback accepts the parameters of the browser's request, if they belong to this login.
func (l *Login) acceptCallback(q url.Values) error {
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.state)) != 1 {
		return errors.New("this address is not of this login: its state differs")
	}
	if q.Get("code") == "" && q.Get("error") == "" {
		return errors.New("this address brings no code")
	}
	l.once.Do(func() {
		l.callback <- q
		close(l.done)
	})
	return nil
}

// Paste accepts the redirect address, for a user whose browser cannot reach this computer.
func (l *Login) Paste(address string) error {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.RawQuery == "" {
		return fmt.Errorf("this is not the address that begins with %s", l.redirect)
	}
	return l.acceptCallback(u.Query())
}

// Returned returns a channel that is closed when the browser was redirected, or an address
// was pasted.
func (l *Login) Returned() <-chan struct{} { return l.done }

// Wait waits for the browser, exchanges the code for a token, and stores the
// token.
func (l *Login) Wait(ctx context.Context) error {
	var err error
	select {
	case q := <-l.callback:
		err = l.finish(ctx, q)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil && l.reused {
		l.client.forgetClient(ctx, l.grant.ClientID) // the server may no longer know it
	}
	return err
}

// finish checks the issuer and exchanges the code for tokens.
func (l *Login) finish(ctx context.Context, q url.Values) error {
	c := l.client
	secrets := append(l.grant.secrets(), q.Get("code"), l.verifier)
	clean := func(text string, limit int) string { return c.clean(text, limit, secrets...) }
	switch iss := q.Get("iss"); { // RFC 9207: reject a code from another server
	case iss == "" && l.meta.AuthorizationResponseIssParameterSupported:
		return fmt.Errorf("the answer does not say that it is from %s: begin again", clean(l.meta.Issuer, 200))
	case iss != "" && iss != l.meta.Issuer:
		return fmt.Errorf("the answer is from %s, not from %s: begin again", clean(iss, 200), clean(l.meta.Issuer, 200))
	}
	if code := q.Get("error"); code != "" {
		return fmt.Errorf("you were not logged in: %s", clean(strings.TrimSuffix(code+": "+q.Get("error_description"), ": "), 300))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*requestTimeout) // a code can be used only once
	defer cancel()
	answer, err := c.requestToken(ctx, l.grant, url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {l.redirect}, "code_verifier": {l.verifier}})
	if err != nil {
		return err
	}
	c.mu.Lock() // before l's lock, as everywhere
	defer c.mu.Unlock()
	unlock, err := c.opts.Store.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c.challengeScopes = nil
	g := answer.addTo(l.grant)
	g.Near = c.guard.isPrivate()
	return c.write(ctx, g)
}

// forgetClient removes a client id after a failed login with it.
func (c *Client) forgetClient(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grant.ClientID == id && c.opts.ClientID == "" {
		g := c.grant
		g.RedirectPort = 0 // so that the next login registers; its tokens remain in use
		_ = c.write(ctx, g)
	}
}

// Close ends the login, done or not.
func (l *Login) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.server.Shutdown(ctx) != nil { // lets the browser get its answer
		l.server.Close()
	}
}
