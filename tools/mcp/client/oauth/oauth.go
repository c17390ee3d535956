// Package oauth logs in to MCP servers that ask for it, as the protocol's section on
// authorization says, and keeps what that gives until it is needed.
//
//	401 ──► Rejected ──► refresh, by one process at a time ──► Token
//	             └ ErrLogin ──► Begin: metadata · client id · address ──► browser ──► Login.Wait
//
// A server and its authorization server are strangers: what they send
// is bounded, their addresses are https and, unless the server is not public itself, public
// ones; a login asks for a code with PKCE and takes the answer to this login alone.
// Sources: https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization,
// RFC 6749, 7009, 7591, 7636, 8252, 8414, 8707, 9207, 9728.
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLogin reports that the user has to log in.
var ErrLogin = errors.New("it needs a login")

// A ScopeError reports that the scopes of a login are insufficient: RFC 6750, section 3.1.
type ScopeError struct{ Scopes []string } // none: the server does not name them

func (e *ScopeError) Error() string {
	if len(e.Scopes) == 0 {
		return "your login does not allow this"
	}
	return "your login does not allow this: it lacks the scope " + strings.Join(e.Scopes, " ")
}

// Options configure a Client. Server and Store are required.
type Options struct {
	Server       string   // the address of the MCP server
	ClientID     string   // issued by the authorization server in advance; "": parley registers itself
	ClientSecret string   // secret for ClientID; "" if there is none
	Scopes       []string // scopes to request; none: those that the server names
	Secrets      []string // other secrets of the server's configuration that must not be shown
	RedirectPort int      // port of the redirect address; 0: any free port
	Store        Store
}

// A Store stores the secret text of one server. Its functions stop when their context ends.
type Store struct {
	Load func(context.Context) (string, error)            // "" if nothing is stored
	Save func(context.Context, string) error              // "" deletes
	Lock func(context.Context) (unlock func(), err error) // prevents other processes from refreshing
}

// A Client holds the login to one server. It is safe for concurrent use.
type Client struct {
	opts   Options
	server *url.URL
	guard  *guard
	http   *http.Client

	secrets  atomic.Pointer[[]string] // all secrets used in this run
	loggedIn atomic.Bool

	mu              sync.Mutex // held while a token is refreshed
	loaded          bool
	grant           grant    // as last read or written
	challengeScopes []string // scopes from a challenge of the server
	metadataURL     string   // metadata address from a challenge; "" if none
}

// New returns a client. It reads nothing yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Server)
	if err != nil || u.Host == "" {
		return nil, errors.New("its url is not valid")
	}
	if addr, bad := netip.ParseAddr(u.Hostname()); u.Scheme != "https" && u.Hostname() != "localhost" && (bad != nil || !addr.IsLoopback()) {
		return nil, errors.New("a login goes over https only")
	}
	u.User, u.Fragment = nil, ""
	g := newGuard(u)
	c := &Client{opts: o, server: u, guard: g, http: &http.Client{Transport: g, CheckRedirect: sameOrigin}}
	c.setGrant(grant{ClientSecret: o.ClientSecret})
	c.loaded = false
	return c, nil
}

// Close closes idle connections. It may be called on a nil Client.
func (c *Client) Close() {
	if c != nil {
		c.guard.close()
	}
}

// Bounds of requests.
const (
	requestTimeout = 15 * time.Second // of one request
	refreshTimeout = 30 * time.Second // of a refresh, including waiting for another process
	earlyRefresh   = 30 * time.Second // before a token expires
	maxResponse    = 1 << 20          // bytes
	maxScopes      = 50
)

// A grant is a stored login. It is valid for the server with this address.
type grant struct {
	Server       string    `json:"server"`
	Issuer       string    `json:"issuer,omitempty"`
	Resource     string    `json:"resource,omitempty"`
	TokenURL     string    `json:"token_url,omitempty"`
	RevokeURL    string    `json:"revoke_url,omitempty"`
	ClientID     string    `json:"client_id,omitempty"`
	ClientSecret string    `json:"client_secret,omitempty"`
	AuthMethod   string    `json:"auth_method,omitempty"`   // how the client authenticates: RFC 7591, token_endpoint_auth_method
	RedirectPort int       `json:"redirect_port,omitempty"` // port for which ClientID was registered; 0: it was not registered
	Access       string    `json:"access_token,omitempty"`
	Refresh      string    `json:"refresh_token,omitempty"`
	Expires      time.Time `json:"expires,omitzero"` // zero: unknown
	Scopes       []string  `json:"scopes,omitempty"`
	Near         bool      `json:"near,omitempty"` // the server had no public address; see guard
}

// fresh reports whether the token can be used for a while.
func (g grant) fresh(now time.Time) bool {
	return g.Access != "" && (g.Expires.IsZero() || now.Add(earlyRefresh).Before(g.Expires))
}

// Token returns the token for the next request; "" if there is none and the server may be
// asked without one. It refreshes a token that is about to expire.
func (c *Client) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(ctx); err != nil {
		return "", err
	}
	if c.grant.fresh(time.Now()) || c.grant.Access == "" || c.grant.Refresh == "" {
		return c.grant.Access, nil
	}
	err := c.refresh(ctx, c.grant.Access)
	if errors.Is(err, ErrLogin) {
		return "", nil // the server's challenge will say what it needs
	}
	return c.grant.Access, err
}

// Rejected handles a response that refused a request with this token. It returns nil if the request
// can be sent again with a new Token, and ErrLogin if the user has to log in.
func (c *Client) Rejected(ctx context.Context, token string, header http.Header) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rememberChallenge(header)
	if err := c.load(ctx); err != nil {
		return err
	}
	if c.grant.Access != "" && c.grant.Access != token {
		return nil // refreshed meanwhile
	}
	return c.refresh(ctx, token)
}

// Forbidden returns a ScopeError if a 403 response asks for a larger scope, which the next
// login requests; nil otherwise.
func (c *Client) Forbidden(header http.Header) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	challenge := bearer(header)
	if challenge["error"] != "insufficient_scope" {
		return nil
	}
	c.rememberChallenge(header)
	return &ScopeError{scopes(challenge["scope"])}
}

// rememberChallenge records the content of a challenge. The caller holds the
// lock.
func (c *Client) rememberChallenge(header http.Header) {
	challenge := bearer(header)
	if named := scopes(challenge["scope"]); len(named) > 0 {
		c.challengeScopes = named
	}
	if at := challenge["resource_metadata"]; at != "" {
		c.metadataURL = at
	}
}

// Secrets returns the texts that must not be shown: those of the login that this run has used,
// and Options.Secrets. It does not block. A nil Client has none.
func (c *Client) Secrets() []string {
	if c == nil {
		return nil
	}
	if all := c.secrets.Load(); all != nil {
		return *all
	}
	return c.opts.Secrets
}

// LoggedIn reports whether this run has found a token. It does not block. A nil Client has
// none.
func (c *Client) LoggedIn() bool { return c != nil && c.loggedIn.Load() }

// Secrets returns the secrets in a text from a Store.
func Secrets(text string) []string {
	var g grant
	_ = json.Unmarshal([]byte(text), &g) // an invalid grant has none
	return g.secrets()
}

func (g grant) secrets() []string {
	return slices.DeleteFunc([]string{g.Access, g.Refresh, g.ClientSecret}, func(s string) bool { return s == "" })
}

// setGrant makes g the current grant. Earlier tokens may still be valid, and stay secret. The
// caller holds the lock.
func (c *Client) setGrant(g grant) {
	c.grant, c.loaded = g, true
	c.guard.setPrivate(g.Near)
	c.loggedIn.Store(g.Access != "")
	all := slices.Clone(c.Secrets())
	for _, s := range g.secrets() {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	c.secrets.Store(&all)
}

// load reads the stored grant, once. A grant for another address is ignored: a project's
// servers may have the names of others. The caller holds the lock.
func (c *Client) load(ctx context.Context) error {
	if c.loaded {
		return nil
	}
	g, err := c.read(ctx)
	if err != nil {
		return err
	}
	c.setGrant(g)
	return nil
}

func (c *Client) read(ctx context.Context) (grant, error) {
	text, err := c.opts.Store.Load(ctx)
	if err != nil {
		return grant{}, fmt.Errorf("its login could not be read: %w", err)
	}
	var g grant
	if json.Unmarshal([]byte(text), &g) != nil || g.Server != c.server.String() {
		return grant{Server: c.server.String()}, nil
	}
	return g, nil
}

// write stores a grant and uses it even if storing fails. The caller holds the lock.
func (c *Client) write(ctx context.Context, g grant) error {
	c.setGrant(g)
	text, err := json.Marshal(g)
	if err == nil {
		err = c.opts.Store.Save(ctx, string(text))
	}
	if err != nil {
		return fmt.Errorf("its login could not be stored: %w", err)
	}
	return nil
}

// refresh replaces a token that the server rejects, or soon will. Refresh tokens can be used
// only once, so one process at a time refreshes, after checking whether another one has
// stored a new token. The caller holds the lock.
func (c *Client) refresh(ctx context.Context, old string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTimeout, fmt.Errorf("its login could not be refreshed within %s", refreshTimeout))
	defer cancel()
	unlock, err := c.opts.Store.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	g, err := c.read(ctx)
	if err != nil {
		return err
	}
	if c.setGrant(g); g.Access != old && g.fresh(time.Now()) {
		return nil
	}
	if g.Refresh == "" || g.TokenURL == "" {
		return ErrLogin
	}
	answer, err := c.requestToken(ctx, g, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}})
	var refused *tokenError
	if errors.As(err, &refused) && refused.isFinal() {
		g.Access, g.Refresh, g.Expires = "", "", time.Time{}
		return errors.Join(ErrLogin, c.write(ctx, g))
	}
	if err != nil {
		return fmt.Errorf("its login could not be refreshed: %w", err)
	}
	// A cancellation here would lose a refresh token that can be used only
	// once.
	return c.write(context.WithoutCancel(ctx), answer.addTo(g))
}

// Logout deletes the login and revokes it at the authorization server, reachable or not.
func (c *Client) Logout(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded = false
	loadErr := c.load(ctx)
	g := c.grant
	c.setGrant(grant{Server: c.server.String()})
	c.challengeScopes = nil
	err := c.opts.Store.Save(ctx, "")
	if loadErr == nil && g.RevokeURL != "" {
		for kind, token := range map[string]string{"refresh_token": g.Refresh, "access_token": g.Access} {
			if token != "" {
				_ = c.revoke(ctx, g, kind, token)
			}
		}
	}
	return err
}
