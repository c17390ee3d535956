package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/providers/llm"
)

// sendAuthorized sends a request with a token, and again with a new token if the server rejects it.
func (t *transport) sendAuthorized(req *http.Request) (*http.Response, error) {
	value, err := t.Token.Get(req.Context(), "")
	if err != nil {
		return nil, t.tokenError(req.Context(), err)
	}
	res, err := t.withMask(value).send(t.withToken(req, req.Body, value))
	if err == nil || !isExpired(err) || req.Body != nil && req.GetBody == nil {
		return res, err
	}
	fresh, refused := t.Token.Get(req.Context(), value)
	if refused != nil {
		return nil, t.tokenError(req.Context(), refused)
	}
	body := req.Body
	if body != nil {
		if body, refused = req.GetBody(); refused != nil {
			return nil, err
		}
	}
	if fresh == value { // the only available token is rejected
		return nil, err
	}
	return t.withMask(fresh).send(t.withToken(req, body, fresh))
}

// isOwnHost reports whether a request goes to the host of the base URL, the only one that gets the
// token.
func (t *transport) isOwnHost(req *http.Request) bool {
	base, err := url.Parse(t.URL)
	return err == nil && base.Host == req.URL.Host && base.Scheme == req.URL.Scheme
}

// withToken returns req with a token.
func (t *transport) withToken(req *http.Request, body io.ReadCloser, value string) *http.Request {
	same := req.Clone(req.Context())
	same.Body = body
	if t.TokenHeader == "" || strings.EqualFold(t.TokenHeader, "Authorization") {
		same.Header.Set("Authorization", "Bearer "+value)
	} else {
		same.Header.Set(t.TokenHeader, value)
	}
	return same
}

// withMask returns t for a request with a token, which is masked in errors.
func (t *transport) withMask(value string) *transport {
	same := *t
	if cached := t.tokenMask.Load(); cached != nil && cached.token == value {
		same.mask = cached.mask
		return &same
	}
	same.mask = newMask(append(slices.Clone(t.Secrets), value))
	t.tokenMask.Store(&maskOfToken{value, same.mask})
	return &same
}

// A maskOfToken is the mask for requests with one token.
type maskOfToken struct {
	token string
	mask  mask
}

// isExpired reports whether a server rejected a token as invalid or expired. Amazon does so with
// status 403.
func isExpired(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Status == http.StatusUnauthorized ||
		e.Status == http.StatusForbidden && strings.Contains(strings.ToLower(e.Code+" "+e.Message), "expired")
}

// tokenError returns the error for a request whose token could not be had.
func (t *transport) tokenError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return t.complete(&llm.Error{Fault: llm.Authentication, Login: t.Token.Login, Message: "no token from " + t.Key + ": " + err.Error()})
}
