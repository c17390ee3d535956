package token

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// googleScope is what Vertex AI wants of a token.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// Google returns the source of tokens by Google's application default credentials: the file
// that GOOGLE_APPLICATION_CREDENTIALS names, the login of gcloud auth application-default
// login, or the machine's own account on Google Cloud. Nothing is looked for before the
// first token. Transport carries the requests for tokens; http.DefaultTransport if nil.
func Google(transport http.RoundTripper) *Source {
	if transport != nil {
		return NewSource(mintGoogle(transport), nil)
	}
	return shared("google", mintGoogle(nil))
}

// mintGoogle returns what mints one token. The credentials are read each time: whoever logs
// in again does not restart parley.
func mintGoogle(transport http.RoundTripper) func(context.Context) (Token, error) {
	client := &http.Client{Transport: transport, Timeout: mintTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context) (Token, error) {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
		found, err := google.FindDefaultCredentials(ctx, googleScope)
		if err != nil {
			return Token{}, errors.New("none were found or they cannot be read: run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file")
		}
		t, err := found.TokenSource.Token()
		var refused *oauth2.RetrieveError
		switch {
		case errors.As(err, &refused) && (refused.ErrorCode == "invalid_grant" || strings.Contains(string(refused.Body), "invalid_grant")):
			return Token{}, errors.New("Google no longer accepts them (invalid_grant): run gcloud auth application-default login")
		case errors.As(err, &refused) && refused.Response != nil:
			return Token{}, errors.New("Google gave no token for them (" + refused.Response.Status + ")")
		case err != nil && ctx.Err() != nil:
			return Token{}, errors.New("Google gave no token for them within " + mintTimeout.String())
		case err != nil:
			return Token{}, errors.New("Google could not be asked for a token, or its answer could not be read")
		}
		return Token{t.AccessToken, t.Expiry.Round(0).Truncate(time.Second)}, nil
	}
}
