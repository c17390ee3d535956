package token

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// googleScope is the scope that Vertex AI requires of a token.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// Google returns the source of tokens from Google's application default credentials: the file named
// by GOOGLE_APPLICATION_CREDENTIALS, the login of gcloud auth application-default login, or the
// machine's own account on Google Cloud. It looks for them only when the first token is needed.
// Transport carries the requests for tokens; nil for http.DefaultTransport.
func Google(transport http.RoundTripper) *Source {
	if transport == nil {
		return sharedSource("google", GoogleLogin, mintGoogle(nil))
	}
	s := NewSource(mintGoogle(transport), nil)
	s.Login = GoogleLogin
	return s
}

// GoogleLogin is the command that creates application default credentials.
const GoogleLogin = "gcloud auth application-default login"

// mintGoogle returns a function that mints one token. It reads the credentials each time, so that a
// new login needs no restart.
func mintGoogle(transport http.RoundTripper) func(context.Context) (Token, error) {
	client := &http.Client{Transport: transport, Timeout: mintTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context) (Token, error) {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
		found, err := google.FindDefaultCredentials(ctx, googleScope)
		switch file := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); {
		case err == nil:
		case file != "":
			return Token{}, fmt.Errorf("the file of GOOGLE_APPLICATION_CREDENTIALS cannot be read: %s", file)
		case strings.Contains(err.Error(), "could not find default credentials"):
			return Token{}, errors.New("none were found")
		default:
			return Token{}, errors.New("they cannot be read")
		}
		t, err := found.TokenSource.Token()
		var refused *oauth2.RetrieveError
		switch {
		case errors.As(err, &refused) && (refused.ErrorCode == "invalid_grant" || strings.Contains(string(refused.Body), "invalid_grant")):
			return Token{}, errors.New("Google no longer accepts them (invalid_grant)")
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
