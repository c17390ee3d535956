// Package canary has a key, a client and a server for tests of what is kept of exchanges.
package canary

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"parley/providers/wire"
)

// Key is a key that every encoding changes.
const Key = `sk-Canary/8f3a+Q7="&<'%41z`

// Send sends body to server through a client with this tap, and reads the answer.
func Send(t testing.TB, tap *wire.Tap, server, body string) (string, error) {
	t.Helper()
	client := wire.Client(wire.Options{
		Provider: "mock", URL: server, Key: "MOCK_KEY", Secrets: []string{Key}, Tap: tap,
		Log: wire.Log{Kind: "openai", Model: "m"},
	})
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/v1/chat/completions?alt=sse&key="+url.QueryEscape(Key), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	req.Header.Set("X-Api-Key", Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return string(got), err
}

// Reply starts a server that answers with pieces, each in a separate write.
func Reply(t testing.TB, status int, header map[string]string, pieces ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		for _, p := range pieces {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Traceless checks that text contains neither half of Key in any encoding.
func Traceless(t *testing.T, where, text string) {
	t.Helper()
	for _, half := range []string{Key[:13], Key[13:]} {
		quoted, _ := json.Marshal(half)
		forms := []string{half, url.QueryEscape(half), url.PathEscape(half), html.EscapeString(half), strings.Trim(string(quoted), `"`)}
		for shift := range 3 {
			b := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:shift] + half))
			forms = append(forms, b[(shift*8+5)/6:len(b)-2])
		}
		for _, form := range forms {
			if at := strings.Index(text, form); at >= 0 {
				t.Fatalf("%s: %q is in %q", where, form, text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
}
