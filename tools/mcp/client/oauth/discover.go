package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// metadata is the login information published by a server and its authorization
// server.
type metadata struct {
	resource string   // resource indicator of tokens: RFC 8707
	scopes   []string // to request
	*oauthex.AuthServerMeta
}

// probe sends the server a request without a token to get its challenge. The caller holds the
// lock.
func (c *Client) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("it did not answer within %s", requestTimeout))
	defer cancel()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"parley","version":"0"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.String(), strings.NewReader(hello))
	if err != nil {
		return errors.New("its url is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return plainError(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 == 2 {
		return errors.New("it answers without a login")
	}
	wanted := c.challengeScopes
	c.rememberChallenge(res.Header)
	c.challengeScopes = validScopes(append(slices.Clone(wanted), c.challengeScopes...)) // scopes missing in a call, and scopes needed by all calls
	return nil
}

// discover finds the authorization server, the resource and the scopes of a login. The caller
// holds the lock.
func (c *Client) discover(ctx context.Context) (metadata, error) {
	resource, err := c.resource(ctx)
	if err != nil {
		return metadata{}, err
	}
	issuer := resource.AuthorizationServers[0]
	at, err := url.Parse(issuer)
	if err != nil || c.guard.check(at) != nil {
		return metadata{}, fmt.Errorf("its authorization server %s cannot be used: it must be a public https address", c.clean(issuer, 200))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 3*requestTimeout, fmt.Errorf("%s did not answer within %s", at.Host, 3*requestTimeout))
	defer cancel()
	meta, err := auth.GetAuthServerMetadata(ctx, strings.TrimSuffix(issuer, "/"), c.http)
	switch {
	case ctx.Err() != nil:
		return metadata{}, context.Cause(ctx)
	case err != nil:
		return metadata{}, fmt.Errorf("its authorization server cannot be used: %s", c.clean(err.Error(), 300))
	case meta == nil:
		return metadata{}, fmt.Errorf("%s does not say how to log in (no authorization server metadata)", at.Host)
	}
	out := metadata{resource.Resource, c.scopesToAsk(resource, meta), meta}
	return out, c.checkMetadata(meta)
}

// checkMetadata returns why an authorization server cannot be used; nil if it can.
func (c *Client) checkMetadata(meta *oauthex.AuthServerMeta) error {
	if !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return fmt.Errorf("its authorization server %s does not offer PKCE with S256, without which a login is not safe", c.clean(meta.Issuer, 200))
	}
	for name, at := range map[string]string{"authorization": meta.AuthorizationEndpoint, "token": meta.TokenEndpoint} {
		u, err := url.Parse(at)
		if err == nil {
			err = c.guard.check(u)
		}
		if err != nil {
			return fmt.Errorf("the %s endpoint of its authorization server cannot be used: %s", name, c.clean(err.Error(), 300))
		}
	}
	return nil
}

// resource returns the metadata of the server: RFC 9728. Without metadata the server is
// its own authorization server, as in the protocol until 2025-03-26.
func (c *Client) resource(ctx context.Context) (*oauthex.ProtectedResourceMetadata, error) {
	root := url.URL{Scheme: c.server.Scheme, Host: c.server.Host}
	places := []string{c.metadataURL}
	if path := strings.Trim(c.server.Path, "/"); path != "" {
		places = append(places, root.String()+"/.well-known/oauth-protected-resource"+c.server.EscapedPath())
	}
	places = append(places, root.String()+"/.well-known/oauth-protected-resource")
	var last error
	for _, at := range places {
		var meta oauthex.ProtectedResourceMetadata
		if at == "" {
			continue
		}
		if err := c.getJSON(ctx, at, &meta); err != nil {
			last = err
			continue
		}
		switch {
		case !c.covers(meta.Resource):
			last = fmt.Errorf("its metadata is about another server, %s", c.clean(meta.Resource, 200))
			continue
		case len(meta.AuthorizationServers) == 0:
			return nil, errors.New("it names no authorization server")
		}
		return &meta, nil
	}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), last)
	}
	own := *c.server
	own.RawQuery = "" // it may contain a key, and is not part of a resource: RFC 8707, section 2
	return &oauthex.ProtectedResourceMetadata{Resource: own.String(), AuthorizationServers: []string{root.String()}}, nil
}

// covers reports whether a resource includes the server.
func (c *Client) covers(resource string) bool {
	u, err := url.Parse(resource)
	if err != nil || !isOrigin(u, c.server) || u.RawQuery != "" {
		return false
	}
	part, whole := strings.TrimSuffix(c.server.Path, "/")+"/", strings.TrimSuffix(u.Path, "/")+"/"
	return strings.HasPrefix(part, whole)
}

// scopesToAsk returns the scopes to request: those of the configuration; else those that a
// challenge named and those already granted; else all that the server lists.
func (c *Client) scopesToAsk(resource *oauthex.ProtectedResourceMetadata, meta *oauthex.AuthServerMeta) []string {
	ask := validScopes(c.opts.Scopes)
	if len(ask) == 0 && len(c.challengeScopes) > 0 {
		ask = slices.Clone(c.challengeScopes)
		if c.grant.Issuer == meta.Issuer {
			ask = validScopes(append(slices.Clone(c.grant.Scopes), ask...))
		}
	}
	if len(ask) == 0 {
		ask = validScopes(resource.ScopesSupported)
	}
	if slices.Contains(meta.ScopesSupported, "offline_access") { // otherwise there is no refresh token
		ask = validScopes(append(ask, "offline_access"))
	}
	return ask
}

// client returns a grant with parley's client id at an authorization server: the configured
// id, the registered one, or a new one. Port is the port of the redirect address.
func (c *Client) client(ctx context.Context, meta *oauthex.AuthServerMeta, port int) (grant, error) {
	g := grant{Server: c.server.String(), Issuer: meta.Issuer, TokenURL: meta.TokenEndpoint, RevokeURL: meta.RevocationEndpoint}
	if c.opts.ClientID != "" {
		g.ClientID, g.ClientSecret = c.opts.ClientID, c.opts.ClientSecret
		g.AuthMethod = tokenMethod(meta, g.ClientSecret != "")
		return g, nil
	}
	if old := c.grant; old.Issuer == meta.Issuer && old.ClientID != "" && old.RedirectPort == port {
		g.ClientID, g.ClientSecret, g.AuthMethod, g.RedirectPort = old.ClientID, old.ClientSecret, old.AuthMethod, port
		return g, nil
	}
	if meta.RegistrationEndpoint == "" {
		return g, fmt.Errorf("its authorization server %s registers no programs: register parley there by hand and set client_id", c.clean(meta.Issuer, 200))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("its authorization server did not answer within %s", requestTimeout))
	defer cancel()
	res, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "parley", RedirectURIs: []string{redirectURL(port)}, ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: tokenMethod(meta, false),
	}, &http.Client{Transport: c.guard, CheckRedirect: noRedirect})
	if err != nil {
		return g, c.registrationError(ctx, err)
	}
	g.ClientID, g.ClientSecret, g.RedirectPort = res.ClientID, res.ClientSecret, port
	if end := res.ClientSecretExpiresAt; !end.IsZero() && time.Until(end) < 24*time.Hour {
		g.RedirectPort = 0 // valid for this login only
	}
	if g.AuthMethod = res.TokenEndpointAuthMethod; g.AuthMethod == "" {
		g.AuthMethod = tokenMethod(meta, g.ClientSecret != "")
	}
	return g, nil
}

// registrationError returns why parley was not registered. An unexpected answer may contain
// a secret and is not quoted.
func (c *Client) registrationError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused *oauthex.ClientRegistrationError
	why := "it cannot be reached, or its answer is not understood"
	if errors.As(err, &refused) {
		why = c.clean(strings.TrimSuffix(refused.ErrorCode+": "+refused.ErrorDescription, ": "), 300)
	} else if _, status, ok := strings.Cut(err.Error(), "registration failed with status "); ok {
		status, _, _ = strings.Cut(status, ":")
		why = "it answered " + c.clean(status, 50)
	}
	return fmt.Errorf("its authorization server did not register parley (%s): register it there by hand and set client_id", why)
}

// tokenMethod returns how a client authenticates at a token endpoint.
func tokenMethod(meta *oauthex.AuthServerMeta, secret bool) string {
	offered := meta.TokenEndpointAuthMethodsSupported
	if len(offered) == 0 { // the default of RFC 8414, section 2; without a secret there is nothing to send
		offered = map[bool][]string{true: {methodBasic}, false: {methodNone}}[secret]
	}
	prefer := []string{methodNone, methodPost, methodBasic}
	if secret {
		prefer = prefer[1:]
	}
	for _, m := range prefer {
		if slices.Contains(offered, m) {
			return m
		}
	}
	return prefer[0]
}
