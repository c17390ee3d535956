package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/tools/mcp"
	"parley/tools/mcp/client/oauth"
)

// LoginSecrets implements mcp.Client.
func (client) LoginSecrets(text string) []string {
	return slices.DeleteFunc(oauth.Secrets(text), func(s string) bool { return len(s) < mcp.MinSecretLength })
}

// loginState is a server's state about logins.
type loginState struct {
	known  bool          // the following fields are set
	client *oauth.Client // nil: requests are sent without a login
	err    error         // of the configuration

	configured []string   // secrets from the configuration
	masked     []string   // secrets that mask hides
	mask       secretMask // see secrets
}

// loginClient returns what logs in to the server; nil if nothing does: it is a program, or
// has a header of its own for that, or cannot be logged in to safely.
func (s *server) loginClient() (*oauth.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := &s.login; !l.known {
		l.known = true
		if s.opts.Logins != nil && takesLogin(s.config) {
			l.client, l.err = loginClient(s.config, s.opts.Logins(s.name))
		}
	}
	return s.login.client, s.login.err
}

// takesLogin reports whether a server supports a login.
func takesLogin(c mcp.Config) bool {
	for name := range c.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return false
		}
	}
	return strings.HasPrefix(c.URL, "https://") || c.URL != "" && mcp.IsLoopback(hostOf(c.URL))
}

// hostOf returns the host of an address; "" if it is not valid.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func loginClient(c mcp.Config, store mcp.LoginStore) (*oauth.Client, error) {
	values, err := c.Expand("mcp", map[string]string{"client_id": c.ClientID, "client_secret": c.ClientSecret})
	if err != nil {
		return nil, err
	}
	headers, _ := c.Expand("headers", c.Headers) // a header without a value has no secret
	return oauth.New(oauth.Options{Server: c.URL, Secrets: c.Secrets(headers), ClientID: values["client_id"], ClientSecret: values["client_secret"], Scopes: c.Scopes, RedirectPort: c.RedirectPort, Store: oauth.Store(store)})
}

// secrets returns the mask of all current secrets. The caller holds the lock.
func (s *server) secrets() secretMask {
	l := &s.login
	if all := slices.Concat(l.client.Secrets(), l.configured); !slices.Equal(all, l.masked) {
		l.masked, l.mask = all, newMask(all)
	}
	return l.mask
}

// lockedSecrets is secrets with the lock taken.
func (s *server) lockedSecrets() secretMask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets()
}

// clientMask returns the mask of the secrets that a login client knows.
func clientMask(client *oauth.Client) secretMask { return newMask(client.Secrets()) }

// A login waits for the user to agree in a browser.
type login struct {
	*oauth.Login
	server string
	then   func() error  // called after a login
	of     *oauth.Client // the client being logged in
	client *oauth.Client // closed with the login; nil: a server keeps using the client
}

// URL implements mcp.Login.
func (l *login) URL() string { return l.Login.URL }

// Question implements mcp.Login.
func (l *login) Question() string {
	return fmt.Sprintf("Log in to MCP server %s at %s:\n\n%s", l.server, l.Host, l.URL())
}

// Close implements mcp.Login.
func (l *login) Close() {
	l.Login.Close()
	l.client.Close()
}

// Wait implements mcp.Login.
func (l *login) Wait(ctx context.Context) error {
	if err := l.Login.Wait(ctx); err != nil {
		return clientMask(l.of).error(err)
	}
	return l.then()
}

// BeginLogin implements mcp.Servers.
func (all *servers) BeginLogin(ctx context.Context, name string) (mcp.Login, error) {
	s, err := all.server(name)
	if err != nil {
		return nil, err
	}
	client, err := s.loginClient()
	return begin(ctx, name, client, err, func() error { return all.Restart(name) })
}

// Logout implements mcp.Servers.
func (all *servers) Logout(ctx context.Context, name string) error {
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

// BeginLogin implements mcp.Client.
func (client) BeginLogin(ctx context.Context, name string, c mcp.Config, store mcp.LoginStore) (mcp.Login, error) {
	client, err := clientFor(c, store)
	l, err := begin(ctx, name, client, err, func() error { return nil })
	if err != nil {
		client.Close()
		return nil, err
	}
	l.client = client
	return l, nil
}

// Logout implements mcp.Client.
func (client) Logout(ctx context.Context, name string, c mcp.Config, store mcp.LoginStore) error {
	client, err := clientFor(c, store)
	if client != nil {
		defer client.Close()
	}
	return logout(ctx, name, client, err)
}

func clientFor(c mcp.Config, store mcp.LoginStore) (*oauth.Client, error) {
	if !takesLogin(c) {
		return nil, nil
	}
	return loginClient(c, store)
}

// noLogin explains why a server has no login.
const noLogin = "MCP server %s takes no login: it is a program, has an Authorization header in the configuration, or is not reached over https"

func begin(ctx context.Context, name string, client *oauth.Client, err error, then func() error) (*login, error) {
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
	return &login{Login: l, server: name, then: then, of: client}, nil
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
