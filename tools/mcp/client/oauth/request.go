package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"parley/tools/sanitize"
)

// How a client authenticates at a token endpoint: RFC 7591, section 2.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// A tokenAnswer is the answer of a token endpoint: RFC 6749, section 5.1.
type tokenAnswer struct {
	Access  string      `json:"access_token"`
	Type    string      `json:"token_type"`
	Refresh string      `json:"refresh_token"`
	Seconds json.Number `json:"expires_in"` // a string at some servers
	Scope   string      `json:"scope"`
}

// addTo returns g with the tokens of an answer. A refresh token stays unless it is replaced.
func (a tokenAnswer) addTo(g grant) grant {
	g.Access, g.Expires = a.Access, time.Time{}
	if seconds, err := a.Seconds.Float64(); err == nil && seconds > 0 {
		g.Expires = time.Now().Add(time.Duration(min(seconds, 1e9)) * time.Second)
	}
	if a.Refresh != "" {
		g.Refresh = a.Refresh
	}
	if named := scopes(a.Scope); len(named) > 0 {
		g.Scopes = named
	}
	return g
}

// A tokenError is an error of a token endpoint: RFC 6749, section 5.2.
type tokenError struct {
	Code        string `json:"error"` // unchanged
	Description string `json:"error_description"`
	text        string // safe to show
}

func (e *tokenError) Error() string { return e.text }

// refusal parses the error of a token endpoint. Secrets are those in the request.
func (c *Client) refusal(status string, body []byte, secrets []string) *tokenError {
	e := &tokenError{}
	_ = json.Unmarshal(body, e) // an invalid body has no code
	clean := func(text string, limit int) string { return c.clean(text, limit, secrets...) }
	if e.text = "the authorization server answered " + clean(status, 100); e.Code != "" {
		e.text = strings.TrimSuffix("the authorization server refused it: "+clean(e.Code, 100)+": "+clean(e.Description, 300), ": ")
	}
	return e
}

// isFinal reports whether the same request will never be granted.
func (e *tokenError) isFinal() bool {
	return slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client"}, e.Code)
}

// requestToken asks the token endpoint of g for a token for its resource.
func (c *Client) requestToken(ctx context.Context, g grant, form url.Values) (answer tokenAnswer, err error) {
	if g.Resource != "" {
		form.Set("resource", g.Resource)
	}
	res, err := c.postForm(ctx, g.TokenURL, g, form)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer, err
	}
	if res.StatusCode != http.StatusOK {
		return answer, c.refusal(res.Status, body, append(g.secrets(), form.Get("code"), form.Get("code_verifier")))
	}
	if json.Unmarshal(body, &answer) != nil { // its error would quote a token
		return answer, errors.New("the authorization server's answer is not JSON")
	}
	switch {
	case answer.Access == "" || !isHeaderSafe(answer.Access):
		return answer, errors.New("the authorization server sent no token")
	case answer.Type != "" && !strings.EqualFold(answer.Type, "bearer"):
		return answer, fmt.Errorf("the authorization server sent a token of type %s; only bearer tokens can be used", c.clean(answer.Type, 50, answer.Access, answer.Refresh))
	}
	return answer, nil
}

// postForm sends a form, authenticated as the client of g. The caller closes the body.
func (c *Client) postForm(ctx context.Context, at string, g grant, form url.Values) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("the authorization server did not answer within %s", requestTimeout))
	if g.AuthMethod != methodBasic || g.ClientSecret == "" {
		form.Set("client_id", g.ClientID)
	}
	if g.ClientSecret != "" && g.AuthMethod != methodBasic {
		form.Set("client_secret", g.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		cancel()
		return nil, errors.New("the address of the authorization server is not valid")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if g.ClientSecret != "" && g.AuthMethod == methodBasic {
		req.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(g.ClientSecret)) // RFC 6749, section 2.3.1
	}
	res, err := (&http.Client{Transport: c.guard, CheckRedirect: noRedirect}).Do(req)
	if err != nil {
		err = plainError(ctx, err) // needs ctx to see whether the time is over
		cancel()
		return nil, err
	}
	res.Body = &cancelBody{res.Body, cancel}
	return res, nil
}

// A cancelBody cancels its request when it is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelBody) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// revoke revokes a token: RFC 7009.
func (c *Client) revoke(ctx context.Context, g grant, kind, token string) error {
	res, err := c.postForm(ctx, g.RevokeURL, g, url.Values{"token": {token}, "token_type_hint": {kind}})
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// getJSON reads metadata into value.
func (c *Client) getJSON(ctx context.Context, at string, value any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("no answer within %s", requestTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return errors.New("the address is not valid")
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return plainError(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", res.Status)
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errors.New("answered no JSON")
	}
	return json.NewDecoder(res.Body).Decode(value)
}

// bearer returns the parameters of a bearer challenge; none if there is no valid one.
func bearer(header http.Header) map[string]string {
	for _, line := range header.Values("WWW-Authenticate") {
		all, _ := oauthex.ParseWWWAuthenticate([]string{line}) // another line may be valid
		for _, challenge := range all {
			if challenge.Scheme == "bearer" {
				return challenge.Params
			}
		}
	}
	return nil
}

// scopes splits a list of scopes and leaves out invalid ones: RFC 6749, section 3.3.
func scopes(list string) []string { return validScopes(strings.Fields(list)) }

func validScopes(list []string) []string {
	var out []string
	for _, s := range list {
		odd := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
		if s != "" && len(s) <= 200 && !odd && !slices.Contains(out, s) && len(out) < maxScopes {
			out = append(out, s)
		}
	}
	return out
}

// isHeaderSafe reports whether text may be part of a header.
func isHeaderSafe(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// minSecret is the shortest length of a secret, in bytes.
const minSecret = 6

// mask returns the mask of all secrets, including more.
func (c *Client) mask(more ...string) sanitize.Mask {
	return sanitize.NewMask(slices.Concat(c.Secrets(), more), minSecret)
}

// clean returns an untrusted text on one line, without secrets, including more.
func (c *Client) clean(text string, limit int, more ...string) string {
	return c.mask(more...).Line(text, limit)
}

// plainError returns the error of a request without its address, which may contain a secret,
// and with the reason if its time is over.
func plainError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var of *url.Error
	if errors.As(err, &of) {
		host := ""
		if u, bad := url.Parse(of.URL); bad == nil {
			host = u.Host + ": "
		}
		return fmt.Errorf("%s%w", host, of.Err)
	}
	return err
}
