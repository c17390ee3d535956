package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/tools/mcp/oauth"
)

// A LoginStore stores the login of one server, a text that holds tokens.
type LoginStore = oauth.Store

// LoginSecrets returns the secrets in a text of a LoginStore, for masking.
func LoginSecrets(text string) []string {
	return slices.DeleteFunc(oauth.Secrets(text), func(s string) bool { return len(s) < minSecretLength })
}

// loginState is what a server has to do with logins.
type loginState struct {
	known  bool          // what follows
	client *oauth.Client // nil: requests are sent without one
	err    error         // of the configuration

	configured []string   // what must not be shown of what the server is given
	masked     []string   // what mask takes out
	mask       secretMask // see secrets
}

// loginClient returns what logs in to the server; nil if nothing does: it is a program, or
// has a header of its own for that, or cannot be logged in to safely.
func (s *server) loginClient() (*oauth.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.login; !l.known {
		l.known = true
		if s.opts.Logins != nil && s.config.takesLogin() {
			l.client, l.err = s.config.loginClient(s.opts.Logins(s.name))
		}
	}
	return s.login.client, s.login.err
}

// takesLogin reports whether a server can be logged in to.
func (c Config) takesLogin() bool {
	for name := range c.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return false
		}
	}
	return strings.HasPrefix(c.URL, "https://") || c.URL != "" && isLoopback(hostOf(c.URL))
}

// hostOf returns the host of an address; "" if it is not valid.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func (c Config) loginClient(store LoginStore) (*oauth.Client, error) {
	values, err := expandVariables("mcp", map[string]string{"client_id": c.ClientID, "client_secret": c.ClientSecret})
	if err != nil {
		return nil, err
	}
	headers, _ := expandVariables("headers", c.Headers) // one that has no value is no secret
	return oauth.New(oauth.Options{Server: c.URL, Secrets: configSecrets(c, headers), ClientID: values["client_id"], ClientSecret: values["client_secret"], Scopes: c.Scopes, RedirectPort: c.RedirectPort, Store: store})
}

// secrets takes out what must not be shown by now. The lock is held.
func (s *server) secrets() secretMask {
	l := &s.login
	if all := slices.Concat(l.client.Secrets(), l.configured); !slices.Equal(all, l.masked) {
		l.masked, l.mask = all, newMask(all)
	}
	return l.mask
}

// lockedSecrets does as secrets, and takes the lock.
func (s *server) lockedSecrets() secretMask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets()
}

// clientMask takes out what must not be shown of a server, as far as what logs in to it knows.
func clientMask(client *oauth.Client) secretMask { return newMask(client.Secrets()) }

// A Login is a login that waits for the user to agree in a browser. Close ends it.
type Login struct {
	*oauth.Login
	server string
	then   func() error  // what follows a login
	of     *oauth.Client // that it is of
	client *oauth.Client // that ends with it; nil: one that a server goes on with
}

// Question asks whether to open the page where the user agrees, shown whole.
func (l *Login) Question() string {
	return fmt.Sprintf("Log in to MCP server %s at %s:\n\n%s", l.server, l.Host, l.URL)
}

// Close ends the login.
func (l *Login) Close() {
	l.Login.Close()
	l.client.Close()
}

// Wait waits for the browser, stores the tokens, and restarts the server.
func (l *Login) Wait(ctx context.Context) error {
	if err := l.Login.Wait(ctx); err != nil {
		return clientMask(l.of).error(err)
	}
	return l.then()
}

// BeginLogin finds the authorization server and begins a login, which takes some requests.
func (all *Servers) BeginLogin(ctx context.Context, name string) (*Login, error) {
	s, err := all.server(name)
	if err != nil {
		return nil, err
	}
	client, err := s.loginClient()
	return begin(ctx, name, client, err, func() error { return all.Restart(name) })
}

// Logout removes the login of a server, revokes its tokens, and restarts the server.
func (all *Servers) Logout(ctx context.Context, name string) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	client, err := s.loginClient()
	if err := logout(ctx, name, client, err); err != nil {
		return err
	}
	return all.Restart(name)
}

// BeginLogin does as Servers.BeginLogin for a server that does not run.
func BeginLogin(ctx context.Context, name string, c Config, store LoginStore) (*Login, error) {
	client, err := c.clientFor(store)
	l, err := begin(ctx, name, client, err, func() error { return nil })
	if err != nil {
		client.Close()
		return nil, err
	}
	l.client = client
	return l, nil
}

// Logout does as Servers.Logout for a server that does not run.
func Logout(ctx context.Context, name string, c Config, store LoginStore) error {
	client, err := c.clientFor(store)
	if client != nil {
		defer client.Close()
	}
	return logout(ctx, name, client, err)
}

func (c Config) clientFor(store LoginStore) (*oauth.Client, error) {
	if !c.takesLogin() {
		return nil, nil
	}
	return c.loginClient(store)
}

// noLogin says why a server cannot be logged in to.
const noLogin = "MCP server %s takes no login: it is a program, has an Authorization header in the configuration, or is not reached over https"

func begin(ctx context.Context, name string, client *oauth.Client, err error, then func() error) (*Login, error) {
	if err == nil && client == nil {
		return nil, fmt.Errorf(noLogin, name)
	}
	var l *oauth.Login
	if err == nil {
		l, err = client.Begin(ctx)
	}
	if err != nil {
		return nil, clientMask(client).error(fmt.Errorf("MCP server %s: %w", name, err))
	}
	return &Login{Login: l, server: name, then: then, of: client}, nil
}

func logout(ctx context.Context, name string, client *oauth.Client, err error) error {
	if err == nil && client == nil {
		return fmt.Errorf(noLogin, name)
	}
	if err == nil {
		err = client.Logout(ctx)
	}
	if err != nil {
		return clientMask(client).error(fmt.Errorf("MCP server %s: %w", name, err))
	}
	return nil
}
