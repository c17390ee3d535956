package token

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// credentialsFile writes a file of Google's application default credentials, and sets the variable
// that names it.
func credentialsFile(t *testing.T, fields map[string]string) {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
}

// toLoopback carries all requests to one server.
type toLoopback struct{ host string }

func (l toLoopback) RoundTrip(req *http.Request) (*http.Response, error) {
	same := req.Clone(req.Context())
	same.URL.Scheme, same.URL.Host = "http", l.host
	return http.DefaultTransport.RoundTrip(same)
}

// tokenServer answers requests for tokens with numbered ones, and records the forms.
func tokenServer(t *testing.T, asked *[]string) toLoopback {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		*asked = append(*asked, r.Host+r.URL.Path+" "+r.Form.Get("grant_type")+" "+r.Form.Get("refresh_token"))
		w.Header().Set("Content-Type", "application/json")
		if r.Form.Get("refresh_token") == "revoked" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Token revoked: secret-123"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":"ya29.%d","expires_in":3600,"token_type":"Bearer"}`, len(*asked))
	}))
	t.Cleanup(s.Close)
	return toLoopback{strings.TrimPrefix(s.URL, "http://")}
}

// The key file of a service account signs a request for a token to the URL in it, once an hour, and
// again when the token is refused.
func TestServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	credentialsFile(t, map[string]string{"type": "service_account", "client_email": "me@p.iam.gserviceaccount.com", "private_key_id": "1",
		"private_key": string(block), "token_uri": "https://oauth2.googleapis.com/token", "project_id": "p"})
	var asked []string
	s := Google(tokenServer(t, &asked))
	for i, refused := range []string{"", "", "ya29.1", "ya29.1"} {
		want := "ya29.1"
		if i > 1 {
			want = "ya29.2"
		}
		if got, err := s.Get(t.Context(), refused); got != want || err != nil {
			t.Errorf("%d: got %q, %v, want %q", i, got, err, want)
		}
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "/token urn:ietf:params:oauth:grant-type:jwt-bearer") {
		t.Errorf("asked %q", asked)
	}
	if left := time.Until(s.current.Expiry); left < 58*time.Minute || left > time.Hour {
		t.Errorf("the token expires in %s", left)
	}
}

// The login of gcloud is renewed automatically; the error for a revoked one says which command to
// run, without Google's answer.
func TestAuthorizedUser(t *testing.T) {
	user := map[string]string{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "1//r"}
	credentialsFile(t, user)
	var asked []string
	carrier := tokenServer(t, &asked)
	if got, err := Google(carrier).Get(t.Context(), ""); got != "ya29.1" || err != nil || len(asked) != 1 || !strings.HasSuffix(asked[0], "/token refresh_token 1//r") {
		t.Errorf("got %q, %v after %q", got, err, asked)
	}
	user["refresh_token"] = "revoked"
	credentialsFile(t, user)
	_, err := Google(carrier).Get(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "no longer accepts them") || Google(carrier).Login != "gcloud auth application-default login" || strings.Contains(err.Error(), "secret-123") {
		t.Errorf("revoked: %v", err)
	}
	none := filepath.Join(t.TempDir(), "none.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", none)
	if _, err = Google(carrier).Get(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "cannot be read: "+none) {
		t.Errorf("no file: %v", err)
	}
}
